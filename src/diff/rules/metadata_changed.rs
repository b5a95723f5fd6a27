//! Something beside contract and words changed.

use serde_json::{Map, Value};

use super::{Check, Remark, Rule, Tools, task_support_changed::TaskSupport};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "metadata-changed",
    surfaces: &[Surface::Presentation],
    what: "A member of the tool that is neither contract nor words changed: `_meta`, `execution` beside its `taskSupport`, or one \
           we do not know.",
    why: "No call breaks by its schema; a host that reads the member may do something else.",
    instead: "Nothing to do.",
    cases: include_str!("metadata_changed.yaml"),
    check: Check::Tool(check),
};

const ELSEWHERE: [&str; 7] = ["name", "title", "description", "icons", "inputSchema", "outputSchema", "annotations"];

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    let (Value::Object(before), Value::Object(after)) = (tools.baseline.tool(), tools.candidate.tool()) else { return };
    let mut keys: Vec<&String> = before.keys().chain(after.keys().filter(|k| !before.contains_key(*k))).collect();
    let task_support = TaskSupport::of(tools.baseline) != TaskSupport::of(tools.candidate);
    keys.retain(|k| match k.as_str() {
        key if ELSEWHERE.contains(&key) => false,
        // What callers may do is told by its own rule, the rest here.
        "execution" if task_support => rest_of(before.get(*k)) != rest_of(after.get(*k)),
        key => before.get(key) != after.get(key),
    });
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

/// `execution` without what it says of tasks.
fn rest_of(execution: Option<&Value>) -> Map<String, Value> {
    let mut members = execution.and_then(Value::as_object).cloned().unwrap_or_default();
    members.shift_remove("taskSupport");
    members
}
