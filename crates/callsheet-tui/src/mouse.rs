//! The mouse. A click chooses a row, a tab or a folded section. The wheel scrolls the area under the pointer. The
//! mouse never answers a gate.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::app::{App, Pick, Tab};
use crate::keys::scroll;
use crate::tree;

/// The number of lines for one step of the wheel.
const LINES: isize = 3;

/// The areas of the screen as last drawn.
#[derive(Default)]
pub struct Places {
    /// The tree.
    pub tree: Rect,
    /// Its rows from top to bottom.
    pub rows: Vec<Pick>,
    /// The pane with its title.
    pub pane: Rect,
    /// Its tabs, each with its first column and the column after its last.
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

/// Handles a mouse event. Does nothing while a line is typed or a confirmation is asked for.
pub fn moved(app: &mut App, places: &Places, event: MouseEvent) {
    if app.input.is_some() || app.sure.is_some() {
        return;
    }
    let at = Position { x: event.column, y: event.row };
    // A click must not lose the decisions about hunks.
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
    // A click on the shown folded section unfolds it, like Enter.
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
