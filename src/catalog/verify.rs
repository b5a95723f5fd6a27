//! What a server lists now against what is pinned of it: may a host offer these tools to a model?
//!
//! No schema is compared here. A tool is what was reviewed, byte for byte in canonical form, or it is not; how it differs
//! is a diff's business.

use serde::Serialize;

use super::{ContractVersion, Member};
use crate::{
    contract::{Contract, Digests},
    name::ServerName,
};

/// How a tool stands to what is pinned, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolState {
    /// It is what was reviewed.
    Pinned,
    /// It was reviewed and is not listed.
    Missing,
    /// It is listed and was never reviewed, or the version names it without pinning it.
    Unknown,
    /// It is listed and is not what was reviewed; or it is listed twice, so that nobody can tell which is meant.
    Changed,
}

/// Which part of a changed tool is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangedPart {
    /// Schemas, annotations: what callers rely on.
    Contract,
    /// Titles and descriptions: what the model reads.
    Presentation,
    /// Neither: notation, or fields that mean nothing to callers.
    Other,
    /// It is listed more than once.
    ListedTwice,
}

/// One tool of either side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedTool {
    /// Its name.
    pub tool: String,
    /// How it stands.
    pub state: ToolState,
    /// What changed; for `changed` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<ChangedPart>,
    /// The version of the contract that is pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract_version: Option<ContractVersion>,
    /// What is pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Digests>,
    /// What is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<Digests>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verification {
    /// The worst of all tools: `pinned` says that the list is the reviewed one, no more and no less.
    pub verdict: ToolState,
    /// The tools that a host may offer: those that are pinned, in the list's order.
    pub offer: Vec<String>,
    /// Every tool, the listed ones first, in the list's order.
    pub tools: Vec<VerifiedTool>,
}

/// Holds a list of one server against the members that pin it. Members without a server may be anyone's.
#[must_use]
pub fn verify(members: &[Member], server: &ServerName, listed: &[Contract]) -> Verification {
    let pinned: Vec<&Member> =
        members.iter().filter(|m| m.server.as_ref().is_none_or(|s| s == server)).collect();
    let mut tools: Vec<VerifiedTool> = Vec::new();
    for contract in listed {
        let twice = listed.iter().filter(|other| other.name == contract.name).count() > 1;
        if twice && tools.iter().any(|t| t.tool == contract.name) {
            continue;
        }
        tools.push(judged(contract, twice, pinned.iter().copied().find(|m| m.tool == contract.name)));
    }
    let missing = pinned.iter().filter(|m| listed.iter().all(|contract| contract.name != m.tool));
    tools.extend(missing.map(|m| VerifiedTool {
        tool: m.tool.clone(),
        state: ToolState::Missing,
        changed: None,
        contract_version: Some(m.contract_version.clone()),
        pinned: m.digests.clone(),
        listed: None,
    }));
    Verification {
        verdict: tools.iter().map(|t| t.state).max().unwrap_or(ToolState::Pinned),
        offer: tools.iter().filter(|t| t.state == ToolState::Pinned).map(|t| t.tool.clone()).collect(),
        tools,
    }
}

fn judged(contract: &Contract, twice: bool, member: Option<&Member>) -> VerifiedTool {
    let listed = contract.digests();
    let pinned = member.and_then(|m| m.digests.as_ref());
    let (state, changed) = match pinned {
        _ if twice => (ToolState::Changed, Some(ChangedPart::ListedTwice)),
        None => (ToolState::Unknown, None),
        Some(pinned) if pinned.raw == listed.raw => (ToolState::Pinned, None),
        Some(pinned) if pinned.contract != listed.contract => {
            (ToolState::Changed, Some(ChangedPart::Contract))
        }
        Some(pinned) if pinned.presentation != listed.presentation => {
            (ToolState::Changed, Some(ChangedPart::Presentation))
        }
        Some(_) => (ToolState::Changed, Some(ChangedPart::Other)),
    };
    VerifiedTool {
        tool: contract.name.clone(),
        state,
        changed,
        contract_version: member.map(|m| m.contract_version.clone()),
        pinned: pinned.cloned(),
        listed: Some(listed.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        catalog::{Compatibility, ReleaseStatus},
        snapshot,
    };

    fn contracts(tools: &Value) -> Vec<Contract> {
        let raw = snapshot::split(&tools.to_string()).expect("a list of tools");
        raw.iter().map(|tool| Contract::of(tool).expect("a contract")).collect()
    }

    fn member(server: Option<&str>, contract: &Contract, pin: bool) -> Member {
        Member {
            server: server.map(|s| s.parse().expect("a name")),
            tool: contract.name.clone(),
            contract_version: ContractVersion::first(),
            compatibility: Compatibility::Initial,
            status: ReleaseStatus::Active,
            digests: pin.then(|| contract.digests().clone()),
        }
    }

    /// What is said of a list, the tool `a` and `b` being pinned for `orders`.
    fn check(listed: &Value) -> String {
        let known = json!([
            {"name": "a", "description": "A.", "inputSchema": {"type": "object"}},
            {"name": "b", "description": "B.", "inputSchema": {"type": "object"}},
        ]);
        let mut members: Vec<Member> =
            contracts(&known).iter().map(|c| member(Some("orders"), c, true)).collect();
        let other = json!([{"name": "of-others", "inputSchema": {"type": "object"}}]);
        members.push(member(Some("billing"), &contracts(&other)[0], true));
        let said = verify(&members, &"orders".parse().expect("a name"), &contracts(listed));
        let tools: Vec<String> = said
            .tools
            .iter()
            .map(|t| {
                format!("{} {:?}{}", t.tool, t.state, t.changed.map_or(String::new(), |c| format!(" {c:?}")))
            })
            .collect();
        format!("{:?}, offer {}: {}", said.verdict, said.offer.join(" "), tools.join(", "))
    }

    #[test]
    fn a_tool_is_offered_only_where_it_is_what_was_reviewed() {
        let a = json!({"description": "A.", "inputSchema": {"type": "object"}, "name": "a"});
        let b = json!({"name": "b", "description": "B.", "inputSchema": {"type": "object"}});
        let words = json!({"name": "b", "description": "B!", "inputSchema": {"type": "object"}});
        let schema =
            json!({"name": "b", "description": "B.", "inputSchema": {"type": "object", "required": ["x"]}});
        let field = json!({"name": "b", "description": "B.", "inputSchema": {"type": "object"}, "x": 1});
        let more = json!({"name": "of-others", "inputSchema": {"type": "object"}});
        for (listed, expected) in [
            (json!([a, b]), "Pinned, offer a b: a Pinned, b Pinned"),
            (json!([a]), "Missing, offer a: a Pinned, b Missing"),
            (json!([]), "Missing, offer : a Missing, b Missing"),
            (json!([b, more, a]), "Unknown, offer b a: b Pinned, of-others Unknown, a Pinned"),
            (json!([a, words]), "Changed, offer a: a Pinned, b Changed Presentation"),
            (json!([a, schema]), "Changed, offer a: a Pinned, b Changed Contract"),
            (json!([a, field]), "Changed, offer a: a Pinned, b Changed Other"),
            (json!([a, b, b]), "Changed, offer a: a Pinned, b Changed ListedTwice"),
        ] {
            assert_eq!(check(&listed), expected, "{listed}");
        }
    }

    #[test]
    fn a_member_that_pins_nothing_is_unknown_and_one_without_a_server_is_anyones() {
        let list = json!([{"name": "a", "inputSchema": {"type": "object"}}]);
        let contracts = contracts(&list);
        let server: ServerName = "orders".parse().expect("a name");
        for (pin, expected) in [(true, ToolState::Pinned), (false, ToolState::Unknown)] {
            let said = verify(&[member(None, &contracts[0], pin)], &server, &contracts);
            assert_eq!(said.verdict, expected);
        }
    }
}
