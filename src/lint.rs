//! Judges one tool list by itself, without a baseline: what breaks clients whatever they relied on before.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::HashMap;

use serde::Serialize;

use crate::{
    contract::Contract,
    diff::{
        Finding, Level, RULE_SET, Side, Surface,
        rule::Remark,
        rules::{duplicate_tool_name, invalid_header, invalid_schema},
    },
    schema::Schema,
};

/// What is wrong with a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Linted {
    /// The fold of the findings.
    pub verdict: Level,
    /// How a reader knows the list.
    pub source: String,
    /// [`RULE_SET`].
    pub rule_set: &'static str,
    /// How many tools were judged.
    pub tools: usize,
    /// Worst first, then in the order of the list.
    pub findings: Vec<Found>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Whose tool it is; empty where the list does not say.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What is wrong, as a diff would say it of a tool that was good before.
    #[serde(flatten)]
    pub finding: Finding,
}

/// What is wrong with the tools of a side, of each server by itself.
#[must_use]
pub fn side(side: &Side) -> Linted {
    let mut findings = Vec::new();
    for (server, contracts) in &side.servers {
        let server = server.as_ref().map(ToString::to_string).unwrap_or_default();
        for (name, remark) in list(contracts) {
            let finding = Finding::of(&server, name, remark, None);
            findings.push(Found { server: server.clone(), tool: name.to_owned(), finding });
        }
    }
    findings.sort_by_key(|found| std::cmp::Reverse(found.finding.level));
    Linted {
        verdict: findings.first().map_or(Level::Compatible, |found| found.finding.level),
        source: side.label.clone(),
        rule_set: RULE_SET,
        tools: side.servers.iter().map(|(_, contracts)| contracts.len()).sum(),
        findings,
    }
}

/// What is wrong with the tools of one list, each with its name.
fn list(contracts: &[Contract]) -> Vec<(&str, Remark)> {
    let mut named: HashMap<&str, Vec<&Contract>> = HashMap::new();
    for contract in contracts {
        named.entry(&contract.name).or_default().push(contract);
    }
    let mut out = Vec::new();
    for contract in contracts {
        let name = contract.name.as_str();
        // At its first entry, once.
        if let Some([first, others @ ..]) = named.remove(name).as_deref()
            && !others.is_empty()
        {
            let conflicting = others.iter().any(|other| !other.same_contract(first));
            out.push((name, duplicate_tool_name::remark(name, others.len() + 1, conflicting)));
        }
        out.extend(tool(contract).into_iter().map(|remark| (name, remark)));
    }
    out
}

/// What is wrong with a tool, by the rules of [`crate::diff::rules`] that need no second side. Empty: nothing.
#[must_use]
pub fn tool(contract: &Contract) -> Vec<Remark> {
    let schemas =
        [(Surface::Input, Some(contract.input_schema())), (Surface::Output, contract.output_schema())];
    let invalid = schemas.into_iter().filter_map(|(surface, schema)| {
        let error = Schema::new(schema?).err()?;
        Some(invalid_schema::remark(surface, &error.to_string(), true))
    });
    invalid.chain(invalid_header::remarks(contract)).collect()
}
