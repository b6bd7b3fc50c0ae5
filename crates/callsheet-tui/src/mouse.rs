//! The mouse: a click chooses a row, a tab or what is unfolded, the wheel scrolls what it is over. It answers nothing.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::app::{App, Pick, Tab};
use crate::keys::scroll;
use crate::tree;

/// Lines that a turn of the wheel scrolls.
const LINES: isize = 3;

/// What stands where on the screen that was drawn last.
#[derive(Default)]
pub struct Places {
    /// The tree.
    pub tree: Rect,
    /// Its rows from above.
    pub rows: Vec<Pick>,
    /// The pane with its title.
    pub pane: Rect,
    /// Its tabs, each with its first column and the one behind its last.
    pub tabs: Vec<(Tab, u16, u16)>,
}

impl Places {
    fn row(&self, at: Position) -> Option<&Pick> {
        self.tree.contains(at).then(|| self.rows.get(usize::from(at.y - self.tree.y)))?
    }

    fn tab(&self, at: Position) -> Option<Tab> {
        let on_title = self.pane.contains(at) && at.y == self.pane.y;
        let tab = self.tabs.iter().find(|(_, from, to)| (*from..*to).contains(&at.x));
        tab.filter(|_| on_title).map(|(tab, ..)| *tab)
    }
}

/// Takes what the mouse did. Nothing while a line is typed or a question is asked.
pub fn moved(app: &mut App, places: &Places, event: MouseEvent) {
    if app.input.is_some() || app.sure.is_some() {
        return;
    }
    let at = Position { x: event.column, y: event.row };
    // Hunks that were decided are not lost by a click.
    let reviews = app.review.is_some() && !places.pane.contains(at);
    match event.kind {
        _ if reviews => return,
        MouseEventKind::Down(MouseButton::Left) => clicked(app, places, at),
        MouseEventKind::ScrollDown => turned(app, places, at, 1),
        MouseEventKind::ScrollUp => turned(app, places, at, -1),
        _ => return,
    }
    app.revision += 1;
}

fn clicked(app: &mut App, places: &Places, at: Position) {
    if let Some(tab) = places.tab(at).filter(|_| app.review.is_none()) {
        return app.turn_to(tab);
    }
    let Some(pick) = places.row(at).cloned() else { return };
    // A click on the folded section that is shown unfolds it, as Enter does.
    if let (Pick::Section(section), true) = (&pick, app.pick() == pick)
        && !app.unfolded.remove(section)
    {
        app.unfolded.insert(*section);
    }
    app.choose(Some(pick));
}

fn turned(app: &mut App, places: &Places, at: Position, by: isize) {
    if places.tree.contains(at) {
        tree::go(app, by);
    } else if places.pane.contains(at) {
        scroll(app, by * LINES);
    }
}
