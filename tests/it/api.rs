//! The HTTP API, asked without sockets. Each noun has its file; refusals stand before what works.

mod bad_input;
mod catalogs;
mod checks;
mod conditions;
mod decisions;
pub(crate) mod description;
mod diffs;
mod drafts;
mod edges;
mod environments;
mod events;
mod gates;
mod hosts;
mod idempotency;
mod pages;
mod reviews;
mod servers;
mod settings;
mod story;
mod webhooks;

use serde_json::Value;
use toolpact::app::App;

use crate::ask::{Answer, Ask, answer};

/// What came back, as its reader sees it: the status, the headers that mean something, the body.
async fn check(app: &App, ask: Ask) -> String {
    shown(&answer(app, ask).await)
}

/// The same, of the body only what these pointers name.
async fn check_parts(app: &App, ask: Ask, pointers: &[&str]) -> String {
    let answer = answer(app, ask).await;
    let json: Value = serde_json::from_str(&answer.body).unwrap_or_else(|e| panic!("{e}: {}", answer.body));
    let part = |p: &&str| format!("{p}: {}", json.pointer(p).unwrap_or(&Value::Null));
    format!("{}\n{}", head(&answer), pointers.iter().map(part).collect::<Vec<_>>().join("\n"))
}

fn shown(answer: &Answer) -> String {
    let head = head(answer);
    match serde_json::from_str::<Value>(&answer.body) {
        Ok(mut json) => {
            // Another one each time; `conforms` has seen that it is that of the header.
            if let (Value::Object(members), true) = (&mut json, answer.status.as_u16() >= 400) {
                members.remove("request_id");
            }
            format!("{head}\n{json:#}")
        }
        Err(_) => format!("{head}\n{}", answer.body),
    }
}

fn head(answer: &Answer) -> String {
    let mut head = answer.status.as_u16().to_string();
    for name in ["content-type", "etag", "location", "allow"] {
        let value = answer.header(name);
        // A tag that is a digest says nothing to readers.
        let value = match value.trim_matches('"').split_once('-') {
            Some((generation, _)) if name == "etag" => format!("\"{generation}-…\""),
            None if name == "etag" && is_digest(value) => String::new(),
            _ => value.to_owned(),
        };
        if !value.is_empty() {
            head += &format!(" {name}={value}");
        }
    }
    head
}

fn is_digest(tag: &str) -> bool {
    tag.len() == 14 && tag.trim_matches('"').bytes().all(|b| b.is_ascii_hexdigit())
}
