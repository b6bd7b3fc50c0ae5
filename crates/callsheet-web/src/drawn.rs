//! Content for a browser, which is always text that passed the door for pages.

use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use callsheet_runtime::shown::Shown;
use maud::Markup;

/// A page, a part of a page, or a text.
pub(crate) struct Drawn {
    text: Shown,
    is_page: bool,
}

impl Drawn {
    /// A page or a part of one.
    pub fn page(page: Markup) -> Self {
        Self { text: Shown::html(&page.into_string()), is_page: true }
    }

    /// A page that was built elsewhere.
    pub fn whole(page: Shown) -> Self {
        Self { text: page, is_page: true }
    }

    /// A text.
    pub fn text(text: Shown) -> Self {
        Self { text, is_page: false }
    }
}

impl IntoResponse for Drawn {
    fn into_response(self) -> Response {
        let text = self.text.into_string();
        if self.is_page {
            return Html(text).into_response();
        }
        ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
    }
}
