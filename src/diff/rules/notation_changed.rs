//! The same contract, written otherwise.

use super::{Check, Remark, Rule};
use crate::diff::finding::{Level, Surface};

/// Its id; a tool that changed in nothing else needs no new version.
pub(in crate::diff) const ID: &str = "notation-changed";

/// Rules that tell more than which values are taken: what they say stands where the values are the same, too.
pub(in crate::diff) const MORE: [&str; 4] = ["property-added", "property-removed", "default-changed", "format-changed"];

pub(super) const RULE: Rule = Rule {
    id: ID,
    surfaces: &[Surface::Input, Surface::Output],
    what: "A schema is written otherwise and takes the same values.",
    why: "It is proved both ways that nothing changed for anyone.",
    instead: "Nothing to do.",
    cases: include_str!("notation_changed.yaml"),
    check: Check::Engine,
};

/// The remark.
pub(in crate::diff) fn remark(surface: Surface) -> Remark {
    let message = "the schema is written otherwise and takes the same values".to_owned();
    Remark::new(RULE.id, Level::Compatible, surface, "", message)
}
