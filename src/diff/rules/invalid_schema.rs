//! A schema that is none.

use super::{Check, Remark, Rule};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "invalid-schema",
    surfaces: SCHEMA,
    what: "A schema of the candidate is no valid JSON Schema in its dialect.",
    why: "Clients drop the tool, or every tool of the server. Never waived, where the baseline's schema was valid.",
    instead: "Validate schemas against their meta-schema before publishing.",
    cases: include_str!("invalid_schema.yaml"),
    check: Check::Engine,
};

use super::SCHEMA;

/// The remark. Where the baseline's schema was none either, nothing can be decided.
pub(crate) fn remark(surface: Surface, cause: &str, was_valid: bool) -> Remark {
    let name = if surface == Surface::Output { "outputSchema" } else { "inputSchema" };
    let (level, message) = if was_valid {
        (Level::Breaking, format!("`{name}` {cause}"))
    } else {
        (Level::Undecided, format!("`{name}` of the baseline {cause}, so nothing can be proved"))
    };
    Remark { absolute: was_valid, ..Remark::new(RULE.id, level, surface, "", message).help("mend the schema and list again") }
}
