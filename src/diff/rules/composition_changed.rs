//! A union, intersection, negation or condition of schemas changed.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair},
    effect::Effect,
    walk::differences,
};

pub(super) const RULE: Rule = Rule {
    id: "composition-changed",
    surfaces: SCHEMA,
    what: "`allOf`, `anyOf`, `oneOf`, `not` or `if` changed.",
    why: "What it means for values cannot be read off the keyword; containment decides, and shows a call or a result where \
          one breaks.",
    instead: "Keep every alternative that was accepted; add new ones beside them.",
    cases: include_str!("composition_changed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let subject = pair.subject();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let (before, after) = pair.both(keyword);
        let list = |v: Option<&Value>| v.and_then(Value::as_array).cloned().unwrap_or_default();
        let (before, after) = (list(before), list(after));
        let (gone, come) = differences(&before, &after);
        let what = match (gone.len(), come.len()) {
            (0, 0) => continue,
            // One branch against one is walked into.
            (1, 1) => continue,
            (_, 0) if after.is_empty() => format!("{subject} has no {keyword} any more"),
            (0, _) if before.is_empty() => format!("{subject} has {keyword} now"),
            (n, 0) => format!("{keyword} of {subject} lost {n} of {} branches", before.len()),
            (0, n) => format!("{keyword} of {subject} gained {n} branches"),
            _ => format!("{keyword} of {subject} changed"),
        };
        let effect = match (keyword, gone.len(), come.len()) {
            ("anyOf", _, 0) if !after.is_empty() => Effect::Narrowed,
            ("anyOf", 0, _) if !before.is_empty() => Effect::Widened,
            ("allOf", _, 0) => Effect::Widened,
            ("allOf", 0, _) => Effect::Narrowed,
            (_, 0, _) if before.is_empty() => Effect::Narrowed,
            (_, _, 0) if after.is_empty() => Effect::Widened,
            _ => Effect::Unknown,
        };
        out.push(pair.change("composition-changed", keyword, effect, what));
    }
    for keyword in ["not", "if", "then", "else"] {
        if pair.same(keyword) {
            continue;
        }
        let effect = match pair.both(keyword) {
            (None, Some(_)) if keyword != "if" => Effect::Narrowed,
            (Some(_), None) if keyword != "if" => Effect::Widened,
            _ => Effect::Unknown,
        };
        out.push(pair.change("composition-changed", keyword, effect, format!("`{keyword}` of {subject} changed")));
    }
}
