//! A tool no longer promises what it returns.

use super::{Check, Remark, Rule, Tools};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "output-schema-removed",
    surfaces: &[Surface::Output],
    what: "A tool has no `outputSchema` any more.",
    why: "Nothing is promised: consumers that read `structuredContent` may find anything, or nothing.",
    instead: "Keep the schema; add fields to it.",
    cases: include_str!("output_schema_removed.yaml"),
    check: Check::Tool(check),
};

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    if let (Some(before), None) = (tools.baseline.output_schema(), tools.candidate.output_schema()) {
        out.push(
            Remark::new(
                RULE.id,
                Level::Breaking,
                Surface::Output,
                "",
                "the tool no longer promises its result (`outputSchema` was removed); no witness is needed, since any \
                 result is possible"
                    .to_owned(),
            )
            .values(Some(before.clone()), None)
            .help("publish the schema again"),
        );
    }
}
