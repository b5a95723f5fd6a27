//! The format of a text changed.

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair, brief},
    effect::Effect,
    finding::Formats,
};

pub(super) const RULE: Rule = Rule {
    id: "format-changed",
    surfaces: SCHEMA,
    what: "The `format` of a text was added, removed or changed.",
    why: "`format` is an annotation by the specification (2020-12 validation, 7.2.1), and many servers check it all the \
          same, so a call may be rejected that no schema rules out. A policy may take it for either.",
    instead: "Say the format in the description as well, and accept what was accepted.",
    cases: include_str!("format_changed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    if pair.same("format") {
        return;
    }
    let subject = pair.subject();
    let (effect, message) = match pair.both("format") {
        (Some(before), None) => (Effect::Same, format!("{subject} has no format {} any more", brief(before))),
        (None, Some(after)) => (Effect::Shifted, format!("{subject} has the format {} now", brief(after))),
        (before, after) => {
            let text = |v: Option<&serde_json::Value>| v.map(brief).unwrap_or_default();
            (Effect::Shifted, format!("the format of {subject} went from {} to {}", text(before), text(after)))
        }
    };
    // Where formats are asserted, containment says what one does; where they are words, nothing does.
    let effect = match (pair.formats, pair.both("format")) {
        (Formats::Risky, _) => effect,
        (Formats::Annotate, _) => Effect::Same,
        (Formats::Assert, (Some(_), None)) => Effect::Widened,
        (Formats::Assert, (None, Some(_))) => Effect::Narrowed,
        (Formats::Assert, _) => Effect::Moved,
    };
    out.push(pair.change("format-changed", "format", effect, message));
}
