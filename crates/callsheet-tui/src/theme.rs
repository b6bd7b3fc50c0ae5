//! Colours and other visual signs. A colour is never the only sign of a meaning.

use callsheet_core::symbols::Token;
use callsheet_core::view::board::Need;
use ratatui::style::{Color, Modifier, Style};

/// The styles, with or without colours.
#[derive(Clone, Copy)]
pub struct Theme {
    colour: bool,
}

impl Theme {
    /// `colour` says whether the person wants colours.
    pub fn new(colour: bool) -> Self {
        Self { colour }
    }

    fn of(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Secondary text.
    pub fn quiet(self) -> Style {
        if self.colour { Style::new().fg(Color::DarkGray) } else { Style::new().add_modifier(Modifier::DIM) }
    }

    /// A heading.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The label of a value.
    pub fn label(self) -> Style {
        self.of(Color::Cyan)
    }

    /// The chosen row.
    pub fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A row of the tree.
    pub fn need(self, need: Need) -> Style {
        match need {
            Need::Person => self.person(),
            Need::Running => self.of(Color::Cyan),
            Need::Problem => self.bad(),
            Need::Next | Need::Waits => Style::new(),
            Need::Over => self.good(),
        }
    }

    /// Something that waits for the person.
    pub fn person(self) -> Style {
        self.of(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// A success, or an added line.
    pub fn good(self) -> Style {
        self.of(Color::Green)
    }

    /// A failure, or a removed line.
    pub fn bad(self) -> Style {
        self.of(Color::Red)
    }

    /// A piece of code in a line with this style.
    pub fn token(self, token: Token, line: Style) -> Style {
        let colour = match token {
            Token::Keyword => Color::Magenta,
            Token::Text => Color::Yellow,
            Token::Comment => Color::DarkGray,
            Token::Number => Color::Blue,
            Token::Type => Color::Cyan,
        };
        if self.colour { line.fg(colour) } else { line }
    }

    /// Changed words of a line.
    pub fn marked(self, line: Style) -> Style {
        line.add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }
}
