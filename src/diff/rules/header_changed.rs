//! A parameter is mirrored into another HTTP header, into one for the first time, or no longer.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Check, Remark, Rule, Tools};
use crate::{
    contract::header::Mirrored,
    diff::finding::{Assumption, Level, Surface},
    schema::{named_types, types},
};

pub(super) const RULE: Rule = Rule {
    id: "header-changed",
    surfaces: &[Surface::Input],
    what: "A parameter's `x-mcp-header` was added, removed, renamed or moved to another parameter.",
    why: "Over Streamable HTTP a client mirrors the parameter into `Mcp-Param-{name}`, and a server must refuse (-32020) a call \
          whose header is missing or says something else: callers that keep to the baseline's list send no such header. A \
          client that lists again can mend it, and over stdio nothing changes. A parameter that is new brings no break along, \
          for nobody sends it yet: but under `strict`, and where a recorded call did, somebody sends it undeclared, and without \
          the header. Where a header goes, calls are accepted as before, but gateways that route or limit by it see it no more. \
          Names that differ in case are one.",
    instead: "Mirror a new parameter, or publish the tool that wants the header beside this one.",
    cases: include_str!("header_changed.yaml"),
    check: Check::Tool(check),
};

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    let (was, is) = (tools.baseline.input_schema(), tools.candidate.input_schema());
    let (before, after) = (tools.baseline.headers(), tools.candidate.headers());
    let at = |schema: &Value, place: &crate::json::Pointer| schema.pointer(place.as_str()).cloned();
    match before.violations.first() {
        // HTTP clients do not list the candidate: that is told by its own rule, or was so before.
        _ if !after.violations.is_empty() => {}
        Some(mended) => {
            let message = "HTTP clients list the tool now; they left it out for its `x-mcp-header`".to_owned();
            let remark = Remark::new(RULE.id, Level::Compatible, Surface::Input, mended.at.as_str(), message);
            out.push(remark.values(at(was, &mended.at), at(is, &mended.at)));
        }
        None => changed(&before.mirrored, &after.mirrored, (was, is), out),
    }
}

/// Compares what two valid schemas mirror. A parameter that goes as a whole is told by its own rule: nobody reads it any
/// more. One that comes is, but for those who send it undeclared.
fn changed(before: &[Mirrored], after: &[Mirrored], (was, is): (&Value, &Value), out: &mut Vec<Remark>) {
    let by_place = |all: &'_ [Mirrored]| -> HashMap<String, String> {
        all.iter().map(|m| (m.at.to_string(), m.header.clone())).collect()
    };
    let by_header: HashMap<String, &Mirrored> = before.iter().map(|m| (m.header.to_ascii_lowercase(), m)).collect();
    let (old, new) = (by_place(before), by_place(after));
    let stays = |m: &Mirrored| !lacks(was, m) && !lacks(is, m);
    let mut moved = Vec::new();
    for now in after.iter().filter(|m| stays(m)) {
        let (parameter, header) = (&now.parameter, &now.header);
        let message = match old.get(now.at.as_str()) {
            Some(same) if same.eq_ignore_ascii_case(header) => continue,
            Some(other) => format!(
                "parameter `{parameter}` is mirrored into the header `Mcp-Param-{header}` now, it was `Mcp-Param-{other}`"
            ),
            None => match by_header.get(&header.to_ascii_lowercase()).filter(|m| stays(m)) {
                Some(from) => {
                    moved.push(from.at.clone());
                    format!("the header `Mcp-Param-{header}` mirrors parameter `{parameter}` now, it was `{}`", from.parameter)
                }
                None => format!("parameter `{parameter}` is mirrored into the header `Mcp-Param-{header}` now"),
            },
        };
        let message = format!(
            "{message}; over HTTP a call without that header has to be refused (-32020), and no witness is needed, since the \
             arguments stay the same"
        );
        out.push(needed(now, message, old.get(now.at.as_str())));
    }
    for now in after.iter().filter(|m| lacks(was, m) && may_be_sent(was, m)) {
        let (parameter, header) = (&now.parameter, &now.header);
        let message = format!(
            "parameter `{parameter}` is new and mirrored into the header `Mcp-Param-{header}`; who sent it undeclared sends no \
             such header, and over HTTP that call has to be refused (-32020)"
        );
        out.push(needed(now, message, None).only_under(Assumption::Strict));
    }
    for gone in before.iter().filter(|m| stays(m) && !new.contains_key(m.at.as_str()) && !moved.contains(&m.at)) {
        let message =
            format!("parameter `{}` is no longer mirrored into the header `Mcp-Param-{}`", gone.parameter, gone.header);
        out.push(
            remark(Level::Risky, gone, message, (Some(&gone.header), None))
                .help("make sure that nothing on the way routes, limits or admits calls by that header"),
        );
    }
}

/// Calls that send this parameter break over HTTP.
fn needed(now: &Mirrored, message: String, before: Option<&String>) -> Remark {
    let reason = format!("over HTTP a call that sends it is refused without the header `Mcp-Param-{}`", now.header);
    remark(Level::Breaking, now, message, (before, Some(&now.header)))
        .help(RULE.instead)
        .refusing(now.in_arguments(), reason)
}

/// Whether a call may send a parameter that a schema does not declare: where an object may stand, and holds what it likes.
/// Where what it may hold is said otherwise, nothing is claimed.
fn may_be_sent(schema: &Value, parameter: &Mirrored) -> bool {
    const ELSEWHERE: [&str; 3] = ["patternProperties", "propertyNames", "maxProperties"];
    let mut here = schema;
    for name in parameter.at.steps().skip(1).step_by(2) {
        let is_object = here.get("type").is_none_or(|named| types::OBJECT & named_types(named) != 0);
        match here.get("properties").and_then(|p| p.get(&name)) {
            Some(inner) if is_object => here = inner,
            Some(_) => return false,
            None => {
                let open = |keyword| here.get(keyword).is_none_or(|s: &Value| s == true || s == &json!({}));
                return is_object
                    && here != false
                    && open("additionalProperties")
                    && open("unevaluatedProperties")
                    && !ELSEWHERE.iter().any(|k| here.get(*k).is_some());
            }
        }
    }
    false
}

/// Whether a schema has no such parameter. Where it may be declared behind a reference or in a composition, it has.
fn lacks(schema: &Value, parameter: &Mirrored) -> bool {
    let mut here = schema;
    for name in parameter.at.steps().skip(1).step_by(2) {
        match here.get("properties").and_then(|p| p.get(&name)) {
            Some(inner) => here = inner,
            None => return !["$ref", "allOf", "anyOf", "oneOf"].iter().any(|k| here.get(k).is_some()),
        }
    }
    false
}

fn remark(level: Level, at: &Mirrored, message: String, values: (Option<&String>, Option<&String>)) -> Remark {
    let value = |name: Option<&String>| name.map(|n| Value::String(n.clone()));
    Remark::new(RULE.id, level, Surface::Input, at.at.join("x-mcp-header").as_str(), message)
        .values(value(values.0), value(values.1))
}
