//! How a listing ends, whatever the server does. Each row of a table is one server.

pub(crate) mod changes;
mod credential;
mod demo;
pub(crate) mod http;
mod reach;
mod source;
mod stdio;

use std::time::Duration;

use toolpact::{
    mcp::Limits,
    snapshot::{Listing, Outcome},
};

/// Limits that no server here meets by being slow.
fn patient() -> Limits {
    let long = Duration::from_secs(60);
    Limits { start: long, probe: long, request: long, total: long, ..Limits::default() }
}

/// Limits for servers that never answer.
fn hasty() -> Limits {
    let short = Duration::from_millis(300);
    Limits { start: short, probe: Duration::from_millis(50), request: short, ..patient() }
}

/// What a row expects.
struct Expected {
    outcome: Outcome,
    /// In the message; for `ok`, in a warning. Empty: no warning.
    words: &'static str,
    /// Tools in the listing.
    tools: usize,
}

const fn ok(tools: usize) -> Expected {
    Expected { outcome: Outcome::Ok, words: "", tools }
}

const fn ok_with(tools: usize, words: &'static str) -> Expected {
    Expected { outcome: Outcome::Ok, words, tools }
}

const fn fails(outcome: Outcome, words: &'static str) -> Expected {
    Expected { outcome, words, tools: 0 }
}

/// What differs from the expectation, if anything.
fn complaint(name: &str, listing: &Listing, expected: &Expected) -> Option<String> {
    let evidence = &listing.evidence;
    let words = if expected.outcome == Outcome::Ok && expected.words.is_empty() {
        evidence.warnings.is_empty() && evidence.message.is_empty()
    } else if expected.outcome == Outcome::Ok {
        evidence.message.is_empty() && evidence.warnings.iter().any(|w| w.contains(expected.words))
    } else {
        let named = evidence.message.contains('`');
        named && evidence.message.contains(expected.words) && !evidence.help.is_empty()
    };
    let as_expected = listing.outcome == expected.outcome && listing.tools.len() == expected.tools && words;
    (!as_expected).then(|| {
        format!(
            "{name}: expected {} with {} tools and `{}`\n  got {} with {} tools: {evidence:?}",
            expected.outcome,
            expected.tools,
            expected.words,
            listing.outcome,
            listing.tools.len()
        )
    })
}
