//! Title or icons changed.

use super::{Check, Remark, Rule, Tools};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "presentation-changed",
    surfaces: &[Surface::Presentation],
    what: "The title or the icons changed.",
    why: "People see something else in their host; no call breaks.",
    instead: "Nothing to do.",
    cases: include_str!("presentation_changed.yaml"),
    check: Check::Tool(check),
};

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    for at in ["/title", "/annotations/title", "/icons"] {
        let (before, after) = (tools.baseline.tool().pointer(at), tools.candidate.tool().pointer(at));
        if before != after {
            let message = format!("`{}` changed", at.trim_start_matches('/').replace('/', "."));
            out.push(
                Remark::new(RULE.id, Level::Compatible, Surface::Presentation, at, message)
                    .values(before.cloned(), after.cloned()),
            );
        }
    }
}
