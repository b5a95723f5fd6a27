//! A tool is gone.

use super::{Check, Remark, Rule};
use crate::{
    contract::Contract,
    diff::finding::{Level, Surface},
};

pub(super) const RULE: Rule = Rule {
    id: "tool-removed",
    surfaces: &[Surface::Listing],
    what: "A tool is no longer listed.",
    why: "Every call to it fails. A renamed tool is a removed one and an added one.",
    instead: "List the old name beside the new one until nobody calls it.",
    cases: include_str!("tool_removed.yaml"),
    check: Check::Engine,
};

/// The remark; `added` are the tools that only the candidate lists.
pub(in crate::diff) fn remark(gone: &Contract, added: &[&Contract]) -> Remark {
    let like = added.iter().find(|new| new.normal().get("inputSchema") == gone.normal().get("inputSchema"));
    let like = like.or_else(|| added.iter().find(|new| close(&new.name, &gone.name)));
    let message = format!("tool `{}` is no longer listed", gone.name);
    let remark = Remark::new(RULE.id, Level::Breaking, Surface::Listing, "", message);
    match like {
        Some(new) => remark.help(format!(
            "if `{}` is its new name, list both until nobody calls `{}`",
            new.name, gone.name
        )),
        None => remark.help("list it again, or announce its end and raise the major version"),
    }
}

/// Whether two names differ in style, or in a small part only.
fn close(a: &str, b: &str) -> bool {
    let plain = |s: &str| s.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let (a, b) = (plain(a), plain(b));
    let shared = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    a == b || shared * 4 >= a.len().max(b.len()) * 3
}
