//! A change that nobody could decide.

use super::{Check, Remark, Rule};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "undecided-change",
    surfaces: &[Surface::Input, Surface::Output],
    what: "A schema changed, and containment could be neither proved nor refuted.",
    why: "Unknown is never read as compatible: it blocks until a person decides.",
    instead: "Write the schema with fewer nested unions, or accept the finding with a reason.",
    cases: include_str!("undecided_change.yaml"),
    check: Check::Engine,
};

/// The remark.
pub(in crate::diff) fn remark(surface: Surface, reason: &str) -> Remark {
    let message = format!("the schema changed and nothing could be proved: {reason}");
    Remark::new(RULE.id, Level::Undecided, surface, "", message).help("decide it in review")
}
