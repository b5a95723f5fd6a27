//! A hint that lets callers relax is given.

use super::{Check, Rule, hint_weakened::changed};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "hint-strengthened",
    surfaces: &[Surface::Annotations],
    what: "A tool is read-only, destroys nothing, is idempotent, or stays in a closed world, and was not said to before.",
    why: "No call breaks. Hosts may confirm less: whether the hint is true is for a person to judge.",
    instead: "Nothing, where it is true.",
    cases: include_str!("hint_strengthened.yaml"),
    check: Check::Tool(|tools, out| changed(tools, RULE.id, Level::Compatible, out)),
};
