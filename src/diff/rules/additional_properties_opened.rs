//! Undeclared properties are allowed from now on.

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "additional-properties-opened",
    surfaces: SCHEMA,
    what: "Undeclared properties are allowed from now on.",
    why: "Input: no call breaks. Output: consumers that read only what was declared do not notice; under `strict`, one that \
          rejects unknown fields does.",
    instead: "Declare new result fields.",
    cases: include_str!("additional_properties_opened.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    if Pair::is_closed(pair.candidate) || !Pair::is_closed(pair.baseline) {
        return;
    }
    let message = format!("{} may hold undeclared properties now", pair.subject());
    out.push(Change {
        declared: Effect::Same,
        ..pair.change("additional-properties-opened", "additionalProperties", Effect::Widened, message)
    });
}
