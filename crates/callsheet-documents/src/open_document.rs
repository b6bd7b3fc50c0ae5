//! Text of OpenDocument files: documents, workbooks and slides. All three have their text in `content.xml`.

use std::io::{Cursor, Read};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use zip::ZipArchive;

/// Most bytes of the content of a document.
const CONTENT: u64 = 64 << 20;
/// Most bytes of Markdown before the document counts as too long.
const MARKDOWN: usize = 16 << 20;
/// How often a cell or a row is written that the document says once and repeats.
const REPEATS: usize = 100;

/// Elements that no reader of the document sees as its text.
const HIDDEN: [&str; 6] = [
    "office:annotation",
    "office:forms",
    "table:tracked-changes",
    "text:note-citation",
    "text:sequence-decls",
    "text:tracked-changes",
];

/// A document as Markdown.
///
/// # Errors
/// It is no OpenDocument file, or is damaged, encrypted or too large.
pub(crate) fn markdown(bytes: &[u8]) -> Result<String, String> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let content = archive.by_name("content.xml").map_err(|error| error.to_string())?;
    let mut xml = String::new();
    content.take(CONTENT).read_to_string(&mut xml).map_err(|error| error.to_string())?;
    let mut reader = Reader::from_str(&xml);
    let mut page = Page::default();
    let mut hidden = 0_usize;
    loop {
        let event = reader.read_event().map_err(|error| error.to_string())?;
        match &event {
            Event::Eof => break,
            Event::Start(start) if hidden > 0 || HIDDEN.contains(&start.name().as_ref()) => hidden += 1,
            Event::End(_) if hidden > 0 => hidden -= 1,
            _ if hidden > 0 => {}
            Event::Start(start) => page.begin(start),
            Event::Empty(start) if !HIDDEN.contains(&start.name().as_ref()) => {
                page.begin(start);
                page.end(start.name().as_ref());
            }
            Event::End(end) => page.end(end.name().as_ref()),
            Event::Text(text) => page.say(text),
            Event::CData(text) => page.say(text),
            Event::GeneralRef(reference) => match (reference.resolve_char_ref(), reference.as_ref()) {
                (Ok(Some(character)), _) => page.say(character.encode_utf8(&mut [0; 4])),
                (_, "lt") => page.say("<"),
                (_, "gt") => page.say(">"),
                (_, "amp") => page.say("&"),
                (_, "quot") => page.say("\""),
                (_, "apos") => page.say("'"),
                _ => {}
            },
            _ => {}
        }
        if page.text.len() > MARKDOWN {
            return Err("it has too much text".to_owned());
        }
    }
    Ok(page.text.trim().to_owned())
}

/// The Markdown so far.
#[derive(Default)]
struct Page {
    text: String,
    /// How many paragraphs are open: a frame inside one holds others.
    paragraphs: usize,
    /// The text of the outermost one.
    line: String,
    /// Its level, if it is a heading.
    level: usize,
    lists: usize,
    tables: Vec<Table>,
    is_workbook: bool,
}

#[derive(Default)]
struct Table {
    rows: Vec<Vec<String>>,
    row: Vec<String>,
    cell: String,
    repeats_row: usize,
    repeats_cell: usize,
}

impl Page {
    fn begin(&mut self, start: &BytesStart<'_>) {
        let name = start.name();
        let value = |key: &str| {
            Some(start.try_get_attribute(key).ok()??.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned())
        };
        let count = |key: &str| value(key).and_then(|text| text.parse::<usize>().ok()).unwrap_or(1).clamp(1, REPEATS);
        match name.as_ref() {
            "office:spreadsheet" => self.is_workbook = true,
            "text:h" | "text:p" => {
                if self.paragraphs == 0 {
                    self.line.clear();
                    self.level = if name.as_ref() == "text:h" { count("text:outline-level").min(6) } else { 0 };
                } else {
                    self.say(" ");
                }
                self.paragraphs += 1;
            }
            "text:list" => self.lists += 1,
            "text:tab" => self.say("\t"),
            "text:line-break" => self.say("\n"),
            "text:s" => self.say(&" ".repeat(count("text:c"))),
            "draw:page" => self.block(&format!("## {}", value("draw:name").unwrap_or_default())),
            "table:table" => {
                if self.is_workbook {
                    self.block(&format!("## {}", value("table:name").unwrap_or_default()));
                }
                self.tables.push(Table::default());
            }
            "table:table-row" => {
                let repeats = count("table:number-rows-repeated");
                if let Some(table) = self.tables.last_mut() {
                    table.repeats_row = repeats;
                }
            }
            "table:table-cell" | "table:covered-table-cell" => {
                let repeats = count("table:number-columns-repeated");
                if let Some(table) = self.tables.last_mut() {
                    table.repeats_cell = repeats;
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "text:h" | "text:p" => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                if self.paragraphs == 0 {
                    self.paragraph();
                }
            }
            "text:list" => self.lists = self.lists.saturating_sub(1),
            "table:table-cell" | "table:covered-table-cell" => {
                if let Some(table) = self.tables.last_mut() {
                    let cell = std::mem::take(&mut table.cell);
                    table.row.extend(std::iter::repeat_n(cell, table.repeats_cell));
                }
            }
            "table:table-row" => {
                if let Some(table) = self.tables.last_mut() {
                    table.end_row();
                }
            }
            "table:table" => match self.tables.pop() {
                Some(table) if self.tables.is_empty() => self.block(&table.markdown()),
                // A table in a cell is written into the cell.
                Some(table) => table.rows.iter().flatten().for_each(|cell| self.cell(cell)),
                None => {}
            },
            _ => {}
        }
    }

    fn say(&mut self, text: &str) {
        if self.paragraphs > 0 {
            self.line.push_str(text);
        }
    }

    fn paragraph(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim();
        if !self.tables.is_empty() {
            self.cell(line);
        } else if line.is_empty() {
        } else if self.level > 0 {
            self.block(&format!("{} {line}", "#".repeat(self.level)));
        } else if self.lists > 0 {
            let item = format!("{}- {}", "  ".repeat(self.lists.min(8) - 1), line.replace('\n', " "));
            self.block(&item);
        } else {
            self.block(line);
        }
    }

    /// Adds a text to the cell that is open.
    fn cell(&mut self, text: &str) {
        if let Some(table) = self.tables.last_mut().filter(|_| !text.is_empty()) {
            if !table.cell.is_empty() {
                table.cell.push(' ');
            }
            table.cell.push_str(text);
        }
    }

    /// Items of a list follow each other; an empty line separates everything else.
    fn block(&mut self, text: &str) {
        let is_item = |line: &str| line.trim_start().starts_with("- ");
        let follows = is_item(text) && self.text.lines().last().is_some_and(is_item);
        self.text.push_str(if follows { "\n" } else { "\n\n" });
        self.text.push_str(text.trim_end());
    }
}

impl Table {
    /// Empty cells at the end of a row and empty rows are left out: a sheet has millions of them.
    fn end_row(&mut self) {
        let mut row = std::mem::take(&mut self.row);
        while row.last().is_some_and(String::is_empty) {
            row.pop();
        }
        if !row.is_empty() {
            self.rows.extend(std::iter::repeat_n(row, self.repeats_row));
        }
    }

    fn markdown(&self) -> String {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let escaped = |cell: &String| cell.replace('|', "\\|").replace(['\n', '\t'], " ");
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = row.iter().map(escaped).chain(std::iter::repeat_n(String::new(), width - row.len()));
            text.push_str(&format!("| {} |\n", cells.collect::<Vec<_>>().join(" | ")));
            if number == 0 {
                text.push_str(&format!("|{}\n", "---|".repeat(width)));
            }
        }
        text
    }
}
