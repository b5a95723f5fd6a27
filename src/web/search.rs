//! `/search`: servers, tools and parameters by a part of their name.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Frame, Query, page},
};
use crate::{app::search::Found, guard::Acting};

#[derive(Template)]
#[template(path = "search.html")]
struct Search {
    frame: Frame,
    text: String,
    found: Option<Found>,
    notice: Option<(String, String)>,
}

#[derive(Deserialize)]
pub(super) struct SearchQuery {
    #[serde(default)]
    q: String,
}

/// What was found of a text.
pub(super) async fn show_search(
    Acting { app, .. }: Acting,
    Query(query): Query<SearchQuery>,
) -> Result<Response, Error> {
    let text = query.q.trim().to_owned();
    let frame = Frame::new(&app, "/search");
    let (found, failure) = if text.is_empty() {
        (None, None)
    } else {
        match app.search(&text).await {
            Ok(found) => (Some(found), None),
            Err(e) => (None, Some(e)),
        }
    };
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    Ok(page(status, &Search { frame, text, found, notice: failure.map(error::told) }))
}
