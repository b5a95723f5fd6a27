//! A tool is gone.

use super::{Check, Remark, Rule};
use crate::{
    contract::Contract,
    diff::{
        finding::{Level, Surface},
        succession::Successor,
    },
};

pub(super) const RULE: Rule = Rule {
    id: "tool-removed",
    surfaces: &[Surface::Listing],
    what: "A tool is no longer listed.",
    why: "Every call to it fails. A renamed tool is a removed one and an added one; so is one that was split into several, or \
          merged with others into one that is told what to do. Names and parameters give a hint of that, no more.",
    instead: "List the old name beside the new one until nobody calls it.",
    cases: include_str!("tool_removed.yaml"),
    check: Check::Engine,
};

/// The remark, with what the tool looks like it became.
///
/// It is of this contract: whoever accepts that it goes says nothing of another tool that is called so later. Words and
/// notation are left out, since whoever calls it loses the same however it is written.
pub(in crate::diff) fn remark(gone: &Contract, successor: Option<&Successor>) -> Remark {
    let name = &gone.name;
    let message = format!("tool `{name}` is no longer listed");
    let remark = Remark::new(RULE.id, Level::Breaking, Surface::Listing, "", message.clone())
        .of_whole(gone.digests().contract.clone());
    match successor {
        None => remark.help("list it again, or announce its end and raise the major version"),
        Some(Successor::Renamed(new)) => {
            remark.help(format!("if `{new}` is its new name, list both until nobody calls `{name}`"))
        }
        Some(Successor::Split(parts)) => remark
            .saying(&format!("{message}; it looks split into {}", several(parts)))
            .help(format!("list it beside them until nobody calls `{name}`")),
        Some(Successor::Merged(one)) => remark
            .saying(&format!("{message}; it looks merged into `{one}`"))
            .help(format!("list both until nobody calls `{name}`")),
    }
}

/// Up to five names for a sentence.
fn several(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().take(5).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(quoted.len()) {
        0 => quoted.join(", "),
        more => format!("{} and {more} more", quoted.join(", ")),
    }
}
