//! Undeclared properties meet another schema.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "additional-properties-changed",
    surfaces: SCHEMA,
    what: "Undeclared properties have to be of a certain kind, or need not be any more.",
    why: "Input: maps whose values are of another kind are rejected. Output: consumers meet values of another kind.",
    instead: "Keep the values' kind, or accept both.",
    cases: include_str!("additional_properties_changed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let schema = |v: Option<&Value>| v.is_some_and(Value::is_object);
    let (before, after) = pair.both("additionalProperties");
    let effect = match (schema(before), schema(after)) {
        (false, true) if !Pair::is_closed(pair.baseline) => Effect::Narrowed,
        (false, true) => Effect::Widened,
        (true, false) if !Pair::is_closed(pair.candidate) => Effect::Widened,
        // Closing a map is told by its own rule; two schemas are walked into.
        _ => return,
    };
    let declared = if Pair::declares(pair.baseline) && !schema(before) { Effect::Same } else { effect };
    let message = match effect {
        Effect::Narrowed => format!("undeclared properties of {} have to be of a certain kind now", pair.subject()),
        _ => format!("undeclared properties of {} may be of any kind now", pair.subject()),
    };
    out.push(Change { declared, ..pair.change("additional-properties-changed", "additionalProperties", effect, message) });
}
