//! An `x-mcp-header` that the specification forbids.

use super::{Check, Remark, Rule, Tools};
use crate::{
    contract::Contract,
    diff::finding::{Level, Surface},
    json::Pointer,
};

pub(super) const RULE: Rule = Rule {
    id: "invalid-header",
    surfaces: &[Surface::Input],
    what: "An `x-mcp-header` of the candidate is no header name, is used twice, or stands elsewhere than at a string, integer or \
           boolean that is reached by `properties` alone.",
    why: "Clients of Streamable HTTP must leave the whole tool out of their list (MCP 2026-07-28), so every call to it fails. \
          Clients over stdio may ignore it. Where the baseline's was forbidden too, nobody loses the tool.",
    instead: "Name each header once, by letters, digits and hyphens, at a parameter of one plain type.",
    cases: include_str!("invalid_header.yaml"),
    check: Check::Tool(check),
};

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    if tools.baseline.headers().violations.is_empty() {
        let before = |at: &str| tools.baseline.input_schema().pointer(at).cloned();
        out.extend(remarks(tools.candidate).map(|remark| {
            let (was, is) = (before(remark.at.as_str()), remark.candidate.clone());
            remark.values(was, is)
        }));
    }
}

/// What a tool's schema says of headers and must not, whatever was before.
pub(crate) fn remarks(tool: &Contract) -> impl Iterator<Item = Remark> {
    tool.headers().violations.iter().map(|violation| {
        let message = format!("HTTP clients leave the tool out: `x-mcp-header` {}", violation.reason);
        let now = tool.input_schema().pointer(violation.at.as_str()).cloned();
        Remark::new(RULE.id, Level::Breaking, Surface::Input, violation.at.as_str(), message)
            .values(None, now)
            .help("mend or remove the annotation, and list again")
            .refusing(Pointer::root(), "over HTTP no client lists the tool any more")
    })
}
