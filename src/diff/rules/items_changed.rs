//! A list's items have to be of a certain kind, or need not be any more.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "items-changed",
    surfaces: SCHEMA,
    what: "A list's items have to be of a certain kind that was not said before, or need not be any more.",
    why: "Input: lists with items of another kind are rejected. Output: consumers meet items of another kind.",
    instead: "Accept what was accepted, and convert inside the tool.",
    cases: include_str!("items_changed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let anything = |v: Option<&Value>| match v {
        None | Some(Value::Bool(true)) => true,
        Some(Value::Object(map)) => map.is_empty(),
        _ => false,
    };
    let (before, after) = pair.both("items");
    let effect = match (anything(before), anything(after)) {
        (true, false) => Effect::Narrowed,
        (false, true) => Effect::Widened,
        (false, false) if before.is_some_and(Value::is_array) || after.is_some_and(Value::is_array) => {
            if pair.same("items") { return } else { Effect::Unknown }
        }
        // Two schemas are walked into.
        _ => return,
    };
    let subject = pair.subject();
    let message = match effect {
        Effect::Narrowed => format!("the items of {subject} have to be of a certain kind now"),
        Effect::Widened => format!("the items of {subject} may be of any kind now"),
        _ => format!("the items of {subject} are described otherwise"),
    };
    out.push(pair.change("items-changed", "items", effect, message));
}
