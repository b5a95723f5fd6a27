//! A place takes other types of values.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::{
    diff::{
        change::{Change, Pair, type_list, type_names},
        effect::Effect,
    },
    schema::{self, types},
};

pub(super) const RULE: Rule = Rule {
    id: "type-changed",
    surfaces: SCHEMA,
    what: "A place takes other types of values than before.",
    why: "Input: values of a type that went are rejected. Output: consumers meet a type they did not expect, `null` most often.",
    instead: "Accept the old type beside the new one; in results, keep the type and add a second field.",
    cases: include_str!("type_changed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let (before, after) = pair.types;
    if before == after {
        return;
    }
    // A list of values implies its types; that it came or went is told by the rules of `enum`.
    let implied = |side: &serde_json::Map<String, serde_json::Value>| side.contains_key("enum") && !side.contains_key("type");
    if implied(pair.baseline) != implied(pair.candidate) && (before | after) & types::NULL == 0 {
        return;
    }
    let effect = match (before & !after, after & !before) {
        (0, _) => Effect::Widened,
        (_, 0) => Effect::Narrowed,
        _ => Effect::Moved,
    };
    let subject = pair.subject();
    let message = format!("{subject} was {} and is {} now", type_names(before), type_names(after));
    let mut change = pair.change("type-changed", "type", effect, message);
    // A union with `null` is seen through, so that `type` itself may say less than the side takes: both would read alike.
    let silent = pair.same("type");
    change.baseline = said(change.baseline, before, silent);
    change.candidate = said(change.candidate, after, silent);
    out.push(change);
}

/// What a side takes: its `type`, where that says it.
fn said(keyword: Option<Value>, takes: u8, silent: bool) -> Option<Value> {
    let says = keyword.as_ref().map(schema::named_types);
    if says == Some(takes) || (says.is_none() && (!silent || takes == types::ALL)) {
        return keyword;
    }
    Some(type_list(takes).into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        contract::Contract,
        diff::{Options, Side, diff},
        snapshot::RawTool,
    };

    fn side(schema: &Value) -> Side {
        let tool = json!({"name": "f", "inputSchema": {"type": "object", "properties": {"a": schema}}});
        let raw = serde_json::value::to_raw_value(&tool).expect("JSON");
        let contract = Contract::of(&RawTool { index: 0, raw: raw.into() }).expect("a tool");
        Side { label: String::new(), servers: vec![(None, vec![contract])] }
    }

    #[test]
    fn what_was_and_is_never_reads_alike_and_either_way_is_a_change_of_its_own() {
        let nullable = |schema: Value| json!({"anyOf": [schema, {"type": "null"}]});
        let (integer, number) = (json!({"type": "integer"}), json!({"type": "number"}));
        let mut fingerprints = std::collections::HashSet::new();
        for (baseline, candidate, was, now) in [
            (integer.clone(), nullable(integer.clone()), json!("integer"), json!(["integer", "null"])),
            (nullable(integer.clone()), integer.clone(), json!(["integer", "null"]), json!("integer")),
            (integer.clone(), nullable(number.clone()), json!("integer"), json!(["number", "null"])),
            (nullable(number.clone()), nullable(integer.clone()), json!(["number", "null"]), json!(["integer", "null"])),
            (json!({"oneOf": [{"type": "null"}, integer.clone()]}), integer.clone(), json!(["integer", "null"]), json!("integer")),
            (integer.clone(), json!({"type": ["integer", "null"]}), json!("integer"), json!(["integer", "null"])),
            (number, integer, json!("number"), json!("integer")),
        ] {
            let report = diff(&side(&baseline), &side(&candidate), Options::default());
            let found = report.findings().map(|(_, f)| f).find(|f| f.rule == "type-changed");
            let found = found.unwrap_or_else(|| panic!("{baseline} {candidate}: {report:?}"));
            assert_eq!((found.baseline.as_ref(), found.candidate.as_ref()), (Some(&was), Some(&now)));
            fingerprints.insert(found.fingerprint.clone());
        }
        assert_eq!(fingerprints.len(), 5, "one change in two notations is one");
    }
}
