//! `/rules` and `/rules/{rule}`: what each rule sees, why it matters, and what to do instead. Written by the rules
//! themselves, so it cannot differ from what is judged.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    error::Error,
    filters,
    page::{Frame, Path, page},
};
use crate::{
    app::{AppError, Kind},
    diff::{rule::Rule, rules},
    guard::Acting,
};

#[derive(Template)]
#[template(path = "rules.html")]
struct Rules {
    frame: Frame,
    rules: &'static [&'static Rule],
}

/// Every rule.
pub(super) async fn show_rules(Acting { app, .. }: Acting) -> Response {
    page(StatusCode::OK, &Rules { frame: Frame::new(&app, "/rules"), rules: rules::all() })
}

#[derive(Template)]
#[template(path = "rule.html")]
struct RulePage {
    frame: Frame,
    rule: &'static Rule,
}

/// One rule.
pub(super) async fn show_rule(Acting { app, .. }: Acting, Path(id): Path<String>) -> Result<Response, Error> {
    let Some(rule) = rules::find(&id) else {
        let error = AppError::new(Kind::NotFound, "unknown-rule", format!("no rule is called `{id}`"));
        return Err(error.help("the page `/rules` lists all of them").into());
    };
    Ok(page(StatusCode::OK, &RulePage { frame: Frame::new(&app, "/rules"), rule }))
}
