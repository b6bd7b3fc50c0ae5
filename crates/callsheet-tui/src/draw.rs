//! Draws the screen: the run above, the tree on the left or on top, the chosen task beside or below it, the keys at
//! the bottom.

use callsheet_core::view::{amount, dollars, limit_unit, thousands};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::app::{App, Page, Pick, Tab};
use crate::foot;
use crate::mouse;
use crate::pane::{Content, content};
use crate::text::{cut, one_line, padded, width};
use crate::theme::Theme;
use crate::tree::{self, Item};
use crate::viewer::Viewer;

/// Narrower screens have one column.
const TWO_COLUMNS: u16 = 100;
/// The width of the bar in cells.
const BAR: usize = 10;

/// Draws the screen and keeps what is expensive to build.
pub struct Painter {
    theme: Theme,
    made: Option<(u64, usize, Content)>,
    /// Where elements are on the screen, for the mouse.
    pub places: mouse::Places,
}

/// The areas of the screen.
struct Places {
    tree: Rect,
    pane: Rect,
    /// The line between the tree and the pane.
    between: Rect,
    above: Rect,
    below: Rect,
}

impl Painter {
    /// `colour` says whether the person wants colours.
    pub fn new(colour: bool) -> Self {
        Self { theme: Theme::new(colour), made: None, places: mouse::Places::default() }
    }

    /// Draws the whole screen.
    pub fn draw(&mut self, frame: &mut Frame<'_>, app: &mut App, viewer: &Viewer) {
        let area = frame.area();
        if area.width < 20 || area.height < 8 {
            frame.render_widget(Paragraph::new("too small"), area);
            return;
        }
        let items = tree::items(app);
        let places = places(area, app, items.len());
        self.places = mouse::Places { tree: places.tree, pane: places.pane, ..mouse::Places::default() };
        self.header(frame, app, Rect { height: 2, ..area });
        if places.tree.height > 0 {
            self.tree(frame, app, &items, places.tree);
        }
        self.rules(frame, app, &places);
        self.pane(frame, app, viewer, places.pane);
        foot::draw(frame, app, self.theme, Rect { y: area.y + area.height - 1, height: 1, ..area });
    }

    fn header(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let header = &app.board.header;
        let cells = usize::from(area.width).saturating_sub(2);
        let model = header.model.as_deref().map(one_line).unwrap_or_default();
        let parts = [header.run.clone(), format!("{} slots", header.slots), model];
        let right = fitting(parts.iter().rev().filter(|part| !part.is_empty()), " · ", cells / 2);
        let left = cells.saturating_sub(width(&right) + 2);
        let request = padded(&one_line(&header.request), left);
        let first = Line::from(vec![
            Span::styled(format!(" {request}  "), self.theme.strong()),
            Span::styled(right, self.theme.quiet()),
        ]);
        frame.render_widget(Paragraph::new(first), Rect { height: 1, ..area });
        let full = (header.done * BAR).checked_div(header.total).unwrap_or(0);
        let bar = format!("{}{}", "▰".repeat(full), "▱".repeat(BAR.saturating_sub(full)));
        let mut spans = vec![Span::styled(format!(" {bar} "), self.theme.good())];
        let mut used = BAR + 2;
        for (text, style) in figures(app, self.theme) {
            let wide = width(&text) + 3;
            if used + wide > cells {
                break;
            }
            used += wide;
            spans.push(Span::styled(format!("{text}   "), style));
        }
        frame.render_widget(Paragraph::new(Line::from(spans)), Rect { y: area.y + 1, height: 1, ..area });
    }

    fn tree(&mut self, frame: &mut Frame<'_>, app: &App, items: &[Item], area: Rect) {
        let cells = usize::from(area.width);
        let height = usize::from(area.height);
        let pick = app.pick();
        let at = items.iter().position(|item| item.pick == pick);
        let above = at.unwrap_or(0).saturating_sub(height / 2).min(items.len().saturating_sub(height));
        self.places.rows = items.iter().skip(above).take(height).map(|item| item.pick.clone()).collect();
        let longest = items.iter().map(|item| width(&item.title) + 2 * item.depth).max().unwrap_or(0);
        let titles = longest.clamp(8, (cells * 9 / 20).max(8));
        let lines: Vec<Line<'_>> = items
            .iter()
            .skip(above)
            .take(height)
            .map(|item| {
                let chosen = item.pick == pick;
                let indent = 2 * item.depth;
                let title = padded(&item.title, titles.saturating_sub(indent));
                let sign = if chosen { "›" } else { " " };
                let head = format!("{sign}{}{} {title}  ", " ".repeat(indent), item.mark);
                let rest = padded(&item.line, cells.saturating_sub(width(&head)));
                let style = self.theme.need(item.need);
                if chosen {
                    return Line::styled(cut(&format!("{head}{rest}"), cells), self.theme.chosen());
                }
                Line::from(vec![Span::styled(cut(&head, cells), style), Span::styled(rest, Style::new())])
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn rules(&self, frame: &mut Frame<'_>, app: &App, places: &Places) {
        let style = self.theme.quiet();
        let beside = places.between.width == 1;
        let rule = |area: Rect, knot: char| {
            let at = places.between.x;
            let line: String =
                (area.x..area.x + area.width).map(|x| if beside && x == at { knot } else { '─' }).collect();
            Paragraph::new(Line::styled(line, style))
        };
        frame.render_widget(rule(places.above, '┬'), places.above);
        frame.render_widget(rule(places.below, '┴'), places.below);
        let between = places.between;
        if beside {
            let lines: Vec<Line<'_>> = (0..between.height).map(|_| Line::styled("│", style)).collect();
            frame.render_widget(Paragraph::new(lines), between);
        } else if between.height == 1 {
            frame.render_widget(Paragraph::new(Line::styled("─".repeat(usize::from(between.width)), style)), between);
        }
        if !app.notice.is_empty() {
            let cells = usize::from(places.below.width).saturating_sub(6);
            let notice = format!("── {} ", cut(&app.notice, cells));
            let wide = u16::try_from(width(&notice)).unwrap_or(places.below.width).min(places.below.width);
            let area = Rect { width: wide, ..places.below };
            frame.render_widget(Paragraph::new(Line::styled(notice, self.theme.person())), area);
        }
    }

    fn pane(&mut self, frame: &mut Frame<'_>, app: &mut App, viewer: &Viewer, area: Rect) {
        let cells = usize::from(area.width);
        let (title, tabs) = title(app);
        let room = cells.saturating_sub(width(&tabs) + 2);
        let line = Line::from(vec![
            Span::styled(padded(&title, room), self.theme.strong()),
            Span::styled(format!("  {tabs}"), self.theme.quiet()),
        ]);
        frame.render_widget(Paragraph::new(line), Rect { height: 1, ..area });
        if !tabs.is_empty() {
            self.places.tabs = places_of_tabs(area.x + area.width.saturating_sub(cells_of(&tabs)), app.tab);
        }
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        if !matches!(&self.made, Some((revision, wide, _)) if (*revision, *wide) == (app.revision, cells)) {
            self.made = Some((app.revision, cells, content(app, viewer, self.theme, cells)));
        }
        let Some((.., made)) = &self.made else { return };
        // If lines do not fit, the last line says how many more there are.
        let fits = made.lines.len() <= usize::from(body.height);
        let height = usize::from(body.height).saturating_sub(usize::from(!fits));
        let last = made.lines.len().saturating_sub(height);
        let by_itself = if made.at >= made.lines.len() { last } else { made.at.saturating_sub(1) };
        app.offset = app.scroll.unwrap_or(by_itself).min(last);
        app.scroll = app.scroll.map(|_| app.offset);
        let shown: Vec<Line<'_>> = made.lines.iter().skip(app.offset).take(height).cloned().collect();
        frame.render_widget(Paragraph::new(shown), body);
        let more = made.lines.len().saturating_sub(app.offset + height);
        if more > 0 {
            let told = format!(" ↓ {more} more ");
            let wide = u16::try_from(width(&told)).unwrap_or(0).min(body.width);
            let spot = Rect { x: body.x + body.width - wide, y: body.y + body.height - 1, width: wide, height: 1 };
            frame.render_widget(Paragraph::new(Line::styled(told, self.theme.chosen())), spot);
        }
        if let Some(place) = foot::cursor(app, frame.area()) {
            frame.set_cursor_position(Position::new(place.0, place.1));
        }
    }
}

/// The title of the pane and its tabs.
fn title(app: &App) -> (String, String) {
    let page = app.page.map(|page| match page {
        Page::Timeline => "Timeline",
        Page::Sheet => "Sheet",
        Page::Log => "Log",
        Page::Keys => "Keys (↑ ↓ scroll, others go back)",
    });
    if let Some(page) = page {
        return (page.to_owned(), String::new());
    }
    let name = match app.pick() {
        Pick::Run => "The run".to_owned(),
        Pick::Section(at) => app.board.sections.get(at).map(|section| section.title.clone()).unwrap_or_default(),
        Pick::Task(slug) => app.board.row(&slug).map(|row| one_line(&row.title)).unwrap_or_default(),
    };
    let tabs: Vec<String> = Tab::ALL
        .iter()
        .map(|tab| if *tab == app.tab { format!("[{}]", tab.name()) } else { tab.name().to_owned() })
        .collect();
    (name, tabs.join(" "))
}

/// The position of each tab in a line that ends with all tabs, from a column on.
fn places_of_tabs(mut from: u16, tab: Tab) -> Vec<(Tab, u16, u16)> {
    Tab::ALL
        .into_iter()
        .map(|one| {
            let to = from + cells_of(one.name()) + if one == tab { 2 } else { 0 };
            let place = (one, from, to);
            from = to + 1;
            place
        })
        .collect()
}

fn cells_of(text: &str) -> u16 {
    u16::try_from(width(text)).unwrap_or(u16::MAX)
}

/// The figures of the header, the most important last.
fn figures(app: &App, theme: Theme) -> Vec<(String, Style)> {
    let header = &app.board.header;
    let mut figures = vec![(format!("{} of {}", header.done, header.total), Style::new())];
    if let Some(outcome) = header.outcome {
        let finished = outcome.is_finished() && header.problems == 0;
        let words =
            serde_json::to_value(outcome).ok().and_then(|value| value.as_str().map(|word| word.replace('_', " ")));
        figures.push((words.unwrap_or_default(), if finished { theme.good() } else { theme.bad() }));
    } else if app.rests() {
        figures.push(("not running".to_owned(), theme.bad()));
    }
    if header.running > 0 && !app.rests() {
        figures.push((format!("{} running", header.running), theme.label()));
    }
    if header.waiting > 0 {
        let verb = if header.waiting == 1 { "waits" } else { "wait" };
        figures.push((format!("{} {verb} for you", header.waiting), theme.person()));
    }
    if header.problems > 0 {
        figures.push((format!("{} failed", header.problems), theme.bad()));
    }
    if let Some(one) = app.run.pressing_limit() {
        let (used, max) = (amount(one.used), amount(one.max));
        let words = format!("{used} of {max} {}", limit_unit(one.limit.name()));
        figures.push((words, theme.bad()));
    }
    figures.push((clock(app), Style::new()));
    figures.push((format!("{} tokens", thousands(header.tokens)), Style::new()));
    if let Some(usd) = header.cost_usd {
        figures.push((dollars(usd), Style::new()));
    }
    figures
        .push((if header.calls == 1 { "1 call".to_owned() } else { format!("{} calls", header.calls) }, theme.quiet()));
    figures
}

/// How long the run has worked, including the time since its last entry if something is in flight, and the estimated
/// time left.
fn clock(app: &App) -> String {
    let header = &app.board.header;
    let works = app.driven && header.running > 0 && header.outcome.is_none();
    let since = if works { app.now_ms.saturating_sub(app.run.about().now_ms) } else { 0 };
    let spent = minutes(header.busy_ms.saturating_add(since));
    let left = header.left_ms.filter(|_| works).map(|left| left.saturating_sub(since)).filter(|left| *left >= 1_000);
    left.map_or_else(|| spent.clone(), |left| format!("{spent}, about {} left", minutes(left)))
}

fn minutes(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds / 3_600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

/// The last parts that fit, in order.
fn fitting<'a>(parts: impl Iterator<Item = &'a String>, between: &str, cells: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let longer = if text.is_empty() { part.clone() } else { format!("{part}{between}{text}") };
        if width(&longer) > cells {
            break;
        }
        text = longer;
    }
    text
}

fn places(area: Rect, app: &App, items: usize) -> Places {
    let above = Rect { y: area.y + 2, height: 1, ..area };
    let below = Rect { y: area.y + area.height - 2, height: 1, ..area };
    let body = Rect { y: area.y + 3, height: area.height.saturating_sub(5), ..area };
    let none = Rect { width: 0, height: 0, ..body };
    if app.zoomed {
        return Places { tree: none, pane: body, between: none, above, below };
    }
    if area.width >= TWO_COLUMNS {
        let tree = Rect { width: area.width * 2 / 5, ..body };
        let between = Rect { x: body.x + tree.width, width: 1, ..body };
        let pane = Rect { x: between.x + 2, width: body.width.saturating_sub(tree.width + 2), ..body };
        return Places { tree, pane, between, above, below };
    }
    let most = (body.height * 2 / 5).max(2);
    let height = u16::try_from(items).unwrap_or(most).clamp(2, most);
    let tree = Rect { height, ..body };
    let between = Rect { y: body.y + height, height: 1, ..body };
    let pane = Rect { y: between.y + 1, height: body.height.saturating_sub(height + 1), ..body };
    Places { tree, pane, between, above, below }
}
