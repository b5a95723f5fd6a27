//! SARIF 2.1.0, as code scanning reads it: a result a finding, at the tool's block of the lockfile.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Degree, Told, degree, failed_server};
use crate::{
    app::AppError,
    cli::render::{json, safe},
    diff::{Finding, ToolReport, rules},
    gate::Standing,
};

/// GitHub takes no more results than this from a run.
const MAX_RESULTS: usize = 25_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    invocations: [Invocation; 1],
    results: Vec<Found>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: String,
    short_description: Message,
    full_description: Message,
    help: Message,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    exit_code: u8,
    exit_code_description: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Message,
    descriptor: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    rule_id: String,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: [Location; 1],
    partial_fingerprints: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppression>,
    properties: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Value,
    logical_locations: [Logical; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Logical {
    name: String,
    fully_qualified_name: String,
    kind: &'static str,
}

#[derive(Serialize)]
struct Suppression {
    kind: &'static str,
    status: &'static str,
    justification: String,
}

pub(super) fn report(told: &Told) -> Result<String, AppError> {
    let mut ids: Vec<&str> = Vec::new();
    let mut results = Vec::new();
    for (tool, finding, standing) in told.judgement.iter().flat_map(|j| j.findings()).take(MAX_RESULTS) {
        let rule_index = ids.iter().position(|id| *id == finding.rule).unwrap_or_else(|| {
            ids.push(&finding.rule);
            ids.len() - 1
        });
        results.push(result(told, tool, finding, standing, rule_index));
    }
    let notifications = told.failed.iter().map(|failed| Notification {
        level: "error",
        message: Message {
            text: match failed_server(failed) {
                "" => failed.error.message.clone(),
                server => format!("{server}: {}", failed.error.message),
            },
        },
        descriptor: json!({ "id": failed.error.code }),
    });
    json::document(&Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run {
            invocations: [Invocation {
                execution_successful: told.failed.is_empty(),
                exit_code: told.exit(),
                exit_code_description: told.decision().trim_end().to_owned(),
                tool_execution_notifications: notifications.collect(),
            }],
            tool: Tool {
                driver: Driver {
                    name: "toolpact",
                    version: env!("CARGO_PKG_VERSION"),
                    rules: ids.iter().map(|id| descriptor(id)).collect(),
                },
            },
            results,
        }],
    })
}

fn descriptor(id: &str) -> Descriptor {
    let (what, why, instead) =
        rules::find(id).map_or(("", "", ""), |rule| (rule.what, rule.why, rule.instead));
    let text = |text: &str| Message { text: if text.is_empty() { id.to_owned() } else { text.to_owned() } };
    Descriptor {
        id: id.to_owned(),
        short_description: text(what),
        full_description: text(why),
        help: text(instead),
    }
}

fn result(
    told: &Told,
    tool: &ToolReport,
    finding: &Finding,
    standing: &Standing,
    rule_index: usize,
) -> Found {
    let mut message = format!("tool `{}`: {}", tool.tool, finding.message);
    if let Some(witness) = &finding.witness {
        message.push_str(&format!("; {} shows it", safe::value(&witness.value)));
    }
    let suppressed = match standing {
        Standing::Waived { waiver } => Some(format!("waived until {}: {}", waiver.expires, waiver.reason)),
        Standing::Announced { since } => Some(format!("announced since {since}")),
        Standing::Versioned { version } => Some(format!("the declared version {version} says it")),
        Standing::Accepted { by, reason } => Some(format!("accepted by {by}: {reason}")),
        Standing::Passes
        | Standing::Blocks
        | Standing::Expired { .. }
        | Standing::TooSoon { .. }
        | Standing::Rejected { .. } => None,
    };
    let path = [tool.server.as_str(), tool.tool.as_str(), finding.surface.as_str()].join("/");
    Found {
        rule_id: finding.rule.clone(),
        rule_index,
        level: match degree(finding, standing) {
            Degree::Error => "error",
            Degree::Warning => "warning",
            Degree::Note => "note",
        },
        message: Message { text: safe::line(&message, 1_000) },
        locations: [Location {
            physical_location: json!({
                "artifactLocation": { "uri": told.at.path() },
                "region": { "startLine": told.at.line(&tool.server, &tool.tool) },
            }),
            logical_locations: [Logical {
                name: tool.tool.clone(),
                fully_qualified_name: format!("{path}{}", finding.pointer),
                kind: "member",
            }],
        }],
        partial_fingerprints: json!({ "toolpact/v1": finding.fingerprint }),
        suppressions: suppressed
            .map(|justification| Suppression { kind: "external", status: "accepted", justification })
            .into_iter()
            .collect(),
        properties: json!({ "level": finding.level, "surface": finding.surface, "pointer": finding.pointer }),
    }
}
