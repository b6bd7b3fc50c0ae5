//! The last line: the typed text, the action to confirm, or the keys that are useful now.

use callsheet_app::{Standing, standing};
use callsheet_core::record::{EffectKey, GateKind};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::app::{App, Purpose, Sure};
use crate::limits;
use crate::text::{cut, width};
use crate::theme::Theme;

/// Draws the last line.
pub fn draw(frame: &mut Frame<'_>, app: &App, theme: Theme, area: Rect) {
    let cells = usize::from(area.width);
    if let Some((purpose, input)) = &app.input {
        let label = label(purpose, cells);
        let (seen, _) = input.window(cells.saturating_sub(width(&label)));
        let line = Line::from(vec![Span::styled(label, theme.person()), Span::raw(seen)]);
        frame.render_widget(Paragraph::new(line), area);
        return;
    }
    if let Some(sure) = &app.sure {
        let question = match sure {
            Sure::Cancel => {
                " Stop the run? It can be resumed.   y stop   Ctrl-C leave it running   any other key: continue"
                    .to_owned()
            }
            Sure::Undo(files, _) => format!(" Revert {}?   y revert   any other key: keep", named(files)),
            Sure::Retry(task) => {
                format!(" Run {task} and the tasks that read its result again?   y retry   any other key: keep")
            }
            Sure::Drop(task) => format!(" Remove {task} from the list?   y drop   any other key: keep"),
        };
        frame.render_widget(Paragraph::new(Line::styled(cut(&question, cells), theme.person())), area);
        return;
    }
    let waiting = app.board.queue.len();
    let right = if waiting == 0 { String::new() } else { format!("{waiting} waiting ") };
    let mut spans = Vec::new();
    let mut used = width(&right) + 1;
    for (key, what) in keys(app) {
        let wide = width(key) + width(what) + 4;
        if used + wide > cells {
            break;
        }
        used += wide;
        spans.push(Span::styled(format!(" {key}"), theme.strong()));
        spans.push(Span::styled(format!(" {what}  "), theme.quiet()));
    }
    let blank = " ".repeat((cells + 1).saturating_sub(used));
    spans.push(Span::raw(blank));
    spans.push(Span::styled(right, theme.person()));
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

/// The position of the cursor while a line is typed.
pub fn cursor(app: &App, area: Rect) -> Option<(u16, u16)> {
    let (purpose, input) = app.input.as_ref()?;
    let cells = usize::from(area.width);
    let label = width(&label(purpose, cells));
    let (_, place) = input.window(cells.saturating_sub(label));
    let x = u16::try_from(label + place).ok()?.min(area.width.saturating_sub(1));
    Some((area.x + x, area.y + area.height - 1))
}

/// The names of as many files as fit in a line.
fn named(files: &[String]) -> String {
    const NAMED: usize = 3;
    let names = files.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => names,
        more => format!("{names} and {more} more files"),
    }
}

fn label(purpose: &Purpose, cells: usize) -> String {
    let label = match purpose {
        Purpose::Raise(one) => return cut(&limits::question(one), cells * 4 / 5),
        Purpose::Refuse(..) => " Why not? (⏎ no reason) ",
        Purpose::RefuseHunks(_) => " Why not all of it? (⏎ no reason) ",
        Purpose::Reply(_) => " Your answer (Ctrl-J: new line): ",
        Purpose::Search => " Search: ",
        Purpose::FollowUp => " What next? ",
    };
    cut(label, cells / 2)
}

/// The keys that are useful now.
fn keys(app: &App) -> Vec<(&'static str, &'static str)> {
    let mut keys = Vec::new();
    let mut now = None;
    match app.shown_ask() {
        Some(ask) if app.sent.contains(&ask.key) => {
            keys.push(("…", if app.rests() { "your answer is saved" } else { "your answer is on its way" }));
        }
        Some(ask) if app.armed.as_ref() != Some(&ask.key) => keys.push(("…", "")),
        Some(_) if app.review.is_some() => {
            let all = [("y", "keep"), ("n", "reject"), ("e", "edit"), ("↑↓", "hunk"), ("⏎", "send"), ("Esc", "back")];
            return all.to_vec();
        }
        Some(ask) => match &ask.key {
            EffectKey::Gate(gate) => {
                let several = matches!(&gate.kind, GateKind::BeforeRun(tasks) if tasks.len() > 1);
                let one = app.picked_of(gate).is_some();
                keys.push(("y", if several { "approve these" } else { "approve" }));
                keys.push(("n", if one { "deny this" } else { "deny" }));
                match &gate.kind {
                    GateKind::BeforeRun(_) => {
                        if one {
                            keys.push(("o", "only this"));
                        }
                        keys.push(("a", "all tasks"));
                    }
                    GateKind::BeforeApply { .. } => keys.push(("h", "hunks")),
                    GateKind::BeforeCall { .. } => {}
                }
                now = app.shown_gate().and_then(standing);
                if let Some(Standing::Command(_) | Standing::Script) = now {
                    keys.push(("a", "always allow"));
                }
            }
            _ => keys.push(("r", "answer")),
        },
        None if !app.board.queue.is_empty() => keys.push(("g", "go to what waits")),
        None => {}
    }
    if app.run.pressing_limit().is_some() {
        keys.push(("+", "raise the limit"));
    }
    if app.rests() {
        // A run that a limit or a person stopped has something left to do.
        let has_more = !app.board.header.outcome.is_some_and(|outcome| app.is_over() && outcome.is_finished());
        keys.extend(has_more.then_some(("r", "resume")));
        keys.extend(app.is_over().then_some(("f", "follow up")));
    }
    keys.extend([("?", "keys"), ("q", if app.driven { "detach" } else { "leave" }), ("↑↓", "task")]);
    keys.extend((now == Some(Standing::Changes)).then_some(("a", "later changes, too")));
    if app.run.about().has_list && !app.is_over() {
        keys.push(("e", "edit sheet"));
    }
    keys.extend([("⏎", "open"), ("Tab", "view"), ("t", "timeline"), ("s", "sheet"), ("/", "search")]);
    keys
}
