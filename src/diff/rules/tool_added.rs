//! A tool is new.

use super::{Check, Remark, Rule};
use serde_json::json;

use crate::{
    contract::Contract,
    diff::finding::{Level, Surface},
    json::Digest,
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
///
/// It is of this contract and these words, which the model chooses by: whoever decides that the tool may come says nothing
/// of another one that is called so. Notation is left out.
pub(in crate::diff) fn remark(new: &Contract) -> Remark {
    let message = format!("tool `{}` is new", new.name);
    let digests = new.digests();
    Remark::new(RULE.id, Level::Compatible, Surface::Listing, "", message)
        .of_whole(Digest::of(&json!([digests.contract, digests.presentation])))
}
