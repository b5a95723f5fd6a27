//! A break that no rule explains.

use super::{Check, Remark, Rule};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "unexplained-change",
    surfaces: &[Surface::Input, Surface::Output],
    what: "Containment is refuted by a witness, and no rule says which edit did it.",
    why: "The witness is the proof; the explanation is missing.",
    instead: "Read the witness: the place it names is where the schemas part.",
    cases: include_str!("unexplained_change.yaml"),
    check: Check::Engine,
};

/// The remark.
pub(in crate::diff) fn remark(surface: Surface) -> Remark {
    let message = match surface {
        Surface::Output => "the tool may return what the baseline did not admit",
        _ => "the tool rejects calls that the baseline accepts",
    };
    Remark::new(RULE.id, Level::Breaking, surface, "", message.to_owned())
}
