//! The rows of the left side.

use callsheet_app::Stage;
use callsheet_core::view::board::{Need, Row};
use callsheet_core::view::{counted, state_mark};

use crate::app::{App, Pick};
use crate::text;

/// A row of the tree.
pub struct Item {
    /// What it represents.
    pub pick: Pick,
    /// Its level of indentation.
    pub depth: usize,
    /// Its sign.
    pub mark: &'static str,
    /// Its name.
    pub title: String,
    /// What it does, its result, or what it waits for.
    pub line: String,
    /// How much it needs the person.
    pub need: Need,
}

/// All rows: the run, what needs the person, what is running, what is next, and then the done tasks, folded by
/// section.
pub fn items(app: &App) -> Vec<Item> {
    let mut items = vec![of_run(app)];
    let board = &app.board;
    if !app.filter.is_empty() {
        let found = |row: &&Row| {
            let words = format!("{} {} {}", row.title, row.slug, row.line).to_lowercase();
            words.contains(&app.filter)
        };
        items.extend(board.rows().filter(found).map(|row| of_row(app, row, 0)));
        return items;
    }
    for row in board.open() {
        items.push(of_row(app, row, 0));
        items.extend(row.below.iter().filter(|below| below.need != Need::Over).map(|below| of_row(app, below, 1)));
    }
    for (at, section) in board.sections.iter().enumerate().filter(|(_, section)| !section.done_line.is_empty()) {
        let unfolded = app.unfolded.contains(&at);
        items.push(Item {
            pick: Pick::Section(at),
            depth: 0,
            mark: "✓",
            title: section.title.clone(),
            line: format!("{}{}", section.done_line, if unfolded { "" } else { "  ⏎" }),
            need: Need::Over,
        });
        let done = section.tasks.iter().filter(|row| row.need == Need::Over);
        let last: Vec<&Row> = done.collect();
        // The newest result of a folded section stays visible.
        let shown =
            if unfolded { last.as_slice() } else { last.get(last.len().saturating_sub(1)..).unwrap_or_default() };
        for row in shown {
            items.push(of_row(app, row, 1));
            items.extend(row.below.iter().filter(|_| unfolded).map(|below| of_row(app, below, 2)));
        }
    }
    items
}

/// During a search, chooses only rows that are shown, because keys must not act on hidden rows.
pub fn stay_in_sight(app: &mut App) {
    if app.filter.is_empty() {
        return;
    }
    let items = items(app);
    let pick = app.pick();
    if items.iter().all(|item| item.pick != pick) {
        let found = items.get(1).or_else(|| items.first()).map(|item| item.pick.clone());
        app.choose(found);
    }
}

fn of_run(app: &App) -> Item {
    let header = &app.board.header;
    let (mark, title, need) = match app.run.about().stage {
        Stage::Concluded(outcome) if outcome.is_finished() => ("✓", "Answer", Need::Over),
        Stage::Concluded(_) => ("✗", "Run", Need::Problem),
        Stage::Pass | Stage::Operate => ("≡", "Plan", Need::Next),
        _ => ("▶", "Plan", Need::Running),
    };
    let stream = app.streams.iter().find(|(key, _)| key.task.is_none()).map(|(_, stream)| stream.count);
    let line = match (header.outcome, stream) {
        (Some(_), _) => {
            let answer = app.run.answer();
            let shown = Some(answer).filter(|answer| !answer.trim().is_empty()).or_else(|| header.message.clone());
            shown.unwrap_or_else(|| counted(header.total, "task"))
        }
        (None, Some(count)) => format!("{}, {count} characters", header.doing),
        (None, None) if app.rests() => "interrupted: r resumes it".to_owned(),
        (None, None) => header.doing.to_owned(),
    };
    Item { pick: Pick::Run, depth: 0, mark, title: title.to_owned(), line: text::one_line(&line), need }
}

fn of_row(app: &App, row: &Row, depth: usize) -> Item {
    let mut line = text::one_line(&row.line);
    let asked = app.board.queue.iter().find(|ask| ask.tasks.contains(&row.slug));
    if asked.is_some_and(|ask| app.sent.contains(&ask.key)) {
        line = "your answer is on its way".to_owned();
    }
    if row.need == Need::Running {
        let stream = app.streams.iter().filter(|(key, _)| key.task.as_ref() == Some(&row.slug));
        let count: u64 = stream.map(|(_, stream)| stream.count).sum();
        if count > 0 {
            line.push_str(&format!(", {count} characters"));
        }
    }
    let mark = if row.need == Need::Over { state_mark(row.state).0 } else { row.mark };
    let title = text::one_line(&row.title);
    Item { pick: Pick::Task(row.slug.clone()), depth, mark, title, line, need: row.need }
}

/// Chooses the row that is `by` rows below the shown one.
pub fn go(app: &mut App, by: isize) {
    let items = items(app);
    let pick = app.pick();
    let at = items.iter().position(|item| item.pick == pick).unwrap_or(0);
    let to = at.saturating_add_signed(by).min(items.len().saturating_sub(1));
    let pick = items.into_iter().nth(to).map(|item| item.pick);
    app.choose(pick);
}

/// Chooses the next task that waits for the person.
pub fn next_asking(app: &mut App) {
    let asking: Vec<&callsheet_core::nouns::Slug> = app.board.queue.iter().flat_map(|ask| &ask.tasks).collect();
    let at = asking.iter().position(|slug| Some(*slug) == app.picked_task());
    let next = asking.get(at.map_or(0, |at| (at + 1) % asking.len().max(1))).copied().cloned();
    match next {
        Some(slug) => {
            app.tab = crate::app::Tab::Task;
            app.choose(Some(Pick::Task(slug)));
        }
        None => app.say("nothing waits for you"),
    }
}
