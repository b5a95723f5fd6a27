//! Something beside contract and words changed.

use serde_json::Value;

use super::{Check, Remark, Rule, Tools};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "metadata-changed",
    surfaces: &[Surface::Presentation],
    what: "A member of the tool that is neither contract nor words changed: `_meta`, `execution`, or one we do not know.",
    why: "No call breaks by its schema; a host that reads the member may do something else.",
    instead: "Nothing to do.",
    cases: include_str!("metadata_changed.yaml"),
    check: Check::Tool(check),
};

const ELSEWHERE: [&str; 7] = ["name", "title", "description", "icons", "inputSchema", "outputSchema", "annotations"];

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    let (Value::Object(before), Value::Object(after)) = (tools.baseline.tool(), tools.candidate.tool()) else { return };
    let mut keys: Vec<&String> = before.keys().chain(after.keys().filter(|k| !before.contains_key(*k))).collect();
    keys.retain(|k| !ELSEWHERE.contains(&k.as_str()) && before.get(*k) != after.get(*k));
    for key in keys {
        out.push(
            Remark::new(
                RULE.id,
                Level::Compatible,
                Surface::Presentation,
                &crate::json::Pointer::root().join(key).to_string(),
                format!("`{key}` changed"),
            )
            .values(before.get(key).cloned(), after.get(key).cloned()),
        );
    }
}
