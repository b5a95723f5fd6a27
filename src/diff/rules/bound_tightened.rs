//! A bound on numbers, lengths or counts allows less.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::{
    diff::{
        change::{Change, Pair, brief},
        effect::Effect,
    },
    schema::compare,
};

pub(super) const RULE: Rule = Rule {
    id: "bound-tightened",
    surfaces: SCHEMA,
    what: "A bound was added or moved so that it allows less: minimum, maximum, lengths, counts.",
    why: "Input: values beyond the new bound are rejected. Output: consumers lose nothing.",
    instead: "Keep the bound, and cap the value inside the tool.",
    cases: include_str!("bound_tightened.yaml"),
    check: Check::Schema(check),
};

/// Every bound, and whether it bounds from below.
pub(super) const BOUNDS: [(&str, bool); 10] = [
    ("minimum", true),
    ("exclusiveMinimum", true),
    ("maximum", false),
    ("exclusiveMaximum", false),
    ("minLength", true),
    ("maxLength", false),
    ("minItems", true),
    ("maxItems", false),
    ("minProperties", true),
    ("maxProperties", false),
];

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    for (keyword, low) in BOUNDS {
        let Some(after) = pair.candidate.get(keyword) else { continue };
        let before = pair.baseline.get(keyword);
        let tighter = match (before, after) {
            (None, after) => !(keyword.starts_with("min") && keyword != "minimum" && after.as_u64() == Some(0)),
            (Some(Value::Number(before)), Value::Number(after)) => {
                let order = compare(after, before);
                if low { order.is_gt() } else { order.is_lt() }
            }
            _ => false,
        };
        if tighter {
            let message = match before {
                None => format!("{} has {keyword} {} now", pair.subject(), brief(after)),
                Some(before) => {
                    format!("{keyword} of {} went from {} to {}", pair.subject(), brief(before), brief(after))
                }
            };
            out.push(pair.change("bound-tightened", keyword, Effect::Narrowed, message));
        }
    }
}
