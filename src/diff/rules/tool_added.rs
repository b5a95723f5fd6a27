//! A tool is new.

use super::{Check, Remark, Rule};
use crate::{
    contract::Contract,
    diff::finding::{Level, Surface},
};

pub(super) const RULE: Rule = Rule {
    id: "tool-added",
    surfaces: &[Surface::Listing],
    what: "A tool is listed that was not before.",
    why: "No call breaks. The model has one more tool to choose from.",
    instead: "Nothing: publishing `x_v2` beside `x` is the compatible way.",
    cases: include_str!("tool_added.yaml"),
    check: Check::Engine,
};

/// The remark.
pub(in crate::diff) fn remark(new: &Contract) -> Remark {
    Remark::new(RULE.id, Level::Compatible, Surface::Listing, "", format!("tool `{}` is new", new.name))
}
