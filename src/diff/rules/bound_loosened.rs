//! A bound on numbers, lengths or counts allows more.

use serde_json::Value;

use super::{Check, Rule, SCHEMA, bound_tightened::BOUNDS};
use crate::{
    diff::{
        change::{Change, Pair, brief},
        effect::Effect,
    },
    schema::compare,
};

pub(super) const RULE: Rule = Rule {
    id: "bound-loosened",
    surfaces: SCHEMA,
    what: "A bound was removed or moved so that it allows more: minimum, maximum, lengths, counts.",
    why: "Input: no call breaks. Output: consumers meet values beyond the old bound.",
    instead: "Keep results within the bound that was promised.",
    cases: include_str!("bound_loosened.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    for (keyword, low) in BOUNDS {
        let Some(before) = pair.baseline.get(keyword) else { continue };
        let after = pair.candidate.get(keyword);
        let looser = match (before, after) {
            (before, None) => !(keyword.starts_with("min") && keyword != "minimum" && before.as_u64() == Some(0)),
            (Value::Number(before), Some(Value::Number(after))) => {
                let order = compare(after, before);
                if low { order.is_lt() } else { order.is_gt() }
            }
            _ => false,
        };
        if looser {
            let message = match after {
                None => format!("{} has no {keyword} any more (it was {})", pair.subject(), brief(before)),
                Some(after) => {
                    format!("{keyword} of {} went from {} to {}", pair.subject(), brief(before), brief(after))
                }
            };
            out.push(pair.change("bound-loosened", keyword, Effect::Widened, message));
        }
    }
}
