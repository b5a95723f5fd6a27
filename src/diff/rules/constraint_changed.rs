//! One of the rarer constraints changed.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair, brief},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "constraint-changed",
    surfaces: SCHEMA,
    what: "One of the rarer constraints was added, removed or changed: multipleOf, uniqueItems, contains, propertyNames, \
           patternProperties, prefixItems, dependent requirements, unevaluated properties or items, or the dialect.",
    why: "Input: values that do not meet it are rejected. Output: consumers meet values it ruled out.",
    instead: "Accept what was accepted, and check inside the tool.",
    cases: include_str!("constraint_changed.yaml"),
    check: Check::Schema(check),
};

const KEYWORDS: [&str; 16] = [
    "multipleOf",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "propertyNames",
    "patternProperties",
    "prefixItems",
    "additionalItems",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedItems",
    "$dynamicRef",
    "$ref",
    "$schema",
];

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    for keyword in KEYWORDS {
        if pair.same(keyword) {
            continue;
        }
        let (before, after) = pair.both(keyword);
        let off = |v: Option<&Value>| v.is_none_or(|v| v == &Value::Bool(false) || v == &Value::Bool(true) && keyword != "uniqueItems");
        let effect = match (off(before), off(after)) {
            // Where unevaluated or additional properties are closed, a new pattern takes more.
            _ if matches!(keyword, "patternProperties" | "$ref" | "minContains" | "maxContains") => Effect::Unknown,
            // By the specification it says nothing there, and some validators assert it all the same.
            _ if !pair.asserts(keyword) => Effect::Shifted,
            // Where another dialect alone breaks a call, containment says so.
            _ if keyword == "$schema" => Effect::Same,
            (true, true) => continue,
            (true, false) => Effect::Narrowed,
            (false, true) => Effect::Widened,
            (false, false) => Effect::Unknown,
        };
        let subject = pair.subject();
        let message = match (before, after) {
            (None, Some(after)) => format!("{subject} has `{keyword}` {} now", brief(after)),
            (Some(before), None) => format!("{subject} has no `{keyword}` any more (it was {})", brief(before)),
            _ => format!("`{keyword}` of {subject} changed"),
        };
        out.push(pair.change("constraint-changed", keyword, effect, message));
    }
}
