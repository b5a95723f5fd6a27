//! A tool promises what it returns.

use super::{Check, Remark, Rule, Tools};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "output-schema-added",
    surfaces: &[Surface::Output],
    what: "A tool has an `outputSchema` that had none.",
    why: "Nothing was promised before, so no consumer breaks.",
    instead: "Nothing; once published it is a promise.",
    cases: include_str!("output_schema_added.yaml"),
    check: Check::Tool(check),
};

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    if tools.baseline.output_schema().is_none() && tools.candidate.output_schema().is_some() {
        out.push(Remark::new(
            RULE.id,
            Level::Compatible,
            Surface::Output,
            "",
            "the tool promises its result now (`outputSchema` was added)".to_owned(),
        ));
    }
}
