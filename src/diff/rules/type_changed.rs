//! A place takes other types of values.

use super::{Check, Rule, SCHEMA};
use crate::{
    diff::{
        change::{Change, Pair, type_names},
        effect::Effect,
    },
    schema::types,
};

pub(super) const RULE: Rule = Rule {
    id: "type-changed",
    surfaces: SCHEMA,
    what: "A place takes other types of values than before.",
    why: "Input: values of a type that went are rejected. Output: consumers meet a type they did not expect, `null` most often.",
    instead: "Accept the old type beside the new one; in results, keep the type and add a second field.",
    cases: include_str!("type_changed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let (before, after) = pair.types;
    if before == after {
        return;
    }
    // A list of values implies its types; that it came or went is told by the rules of `enum`.
    let implied = |side: &serde_json::Map<String, serde_json::Value>| side.contains_key("enum") && !side.contains_key("type");
    if implied(pair.baseline) != implied(pair.candidate) && (before | after) & types::NULL == 0 {
        return;
    }
    let effect = match (before & !after, after & !before) {
        (0, _) => Effect::Widened,
        (_, 0) => Effect::Narrowed,
        _ => Effect::Moved,
    };
    let subject = pair.subject();
    let message = format!("{subject} was {} and is {} now", type_names(before), type_names(after));
    out.push(pair.change("type-changed", "type", effect, message));
}
