//! A property may be left out that had to be present before.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "required-removed",
    surfaces: SCHEMA,
    what: "A property may be left out that had to be present before.",
    why: "Input: no call breaks. Output: consumers that rely on it may find it missing.",
    instead: "Keep returning the property, and keep it in `required`.",
    cases: include_str!("required_removed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let Some(Value::Array(names)) = pair.baseline.get("required") else { return };
    for name in names.iter().filter_map(Value::as_str).filter(|n| !Pair::requires(pair.candidate, n)) {
        // A property that is gone altogether is `property-removed`.
        let declared = |side| Pair::properties(side).is_some_and(|p| p.contains_key(name));
        if declared(pair.baseline) && !declared(pair.candidate) {
            continue;
        }
        let message = format!("{} may be left out now", pair.subject_of(name));
        out.push(Change {
            name: Some(name.to_owned()),
            baseline: Some(name.into()),
            candidate: None,
            ..pair.change("required-removed", "required", Effect::Widened, message)
        });
    }
}
