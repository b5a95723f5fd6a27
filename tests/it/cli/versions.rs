//! What a baseline that is no lockfile of the tree says of versions, and of what was announced to go.

use serde_json::{Value, json};

use super::{BLOCKED, PASSED};
use crate::command::User;

/// A saved answer of a server that declares this version, with a tool that requires these arguments, and another one.
fn answer(version: &str, required: &[&str], more: &Value) -> String {
    let properties: Value =
        required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let find = json!({
        "name": "find", "_meta": {"version": version},
        "inputSchema": {"type": "object", "properties": properties, "required": required},
    });
    let tools: Vec<&Value> = [&find, more].into_iter().filter(|tool| !tool.is_null()).collect();
    json!({"tools": tools, "serverInfo": {"name": "s", "version": version}}).to_string()
}

#[test]
fn versions_that_are_declared_are_held_against_every_baseline() {
    let user = User::with_database();
    user.file("was.json", answer("1.4.0", &["a"], &Value::Null));
    user.file("low.json", answer("1.5.0", &["a", "b"], &Value::Null));
    user.file("high.json", answer("2.0.0", &["a", "b"], &Value::Null));
    user.run(&["snapshot", "s", "--file", "was.json"]).code(PASSED);
    user.run(&["lock", "--lockfile", "was.lock", "--server", "s", "--file", "was.json"]).code(PASSED);
    let low = "serverInfo declares 1.5.0, needs 2.0.0 (major)";
    for (baseline, policy, fail_on, candidate, code, says) in [
        ("was.json", "tell", "breaking", "low.json", BLOCKED, low),
        ("was.json", "tell", "none", "low.json", PASSED, low),
        ("was.json", "require", "none", "low.json", BLOCKED, "gate: blocked by version-too-low"),
        ("was.json", "require", "none", "high.json", PASSED, "nothing that blocks"),
        ("was.json", "allow", "breaking", "high.json", PASSED, "by the declared version 2.0.0"),
        ("was.json", "require", "none", "low.json", BLOCKED, "tool `find`: `_meta` `version` declares 1.5.0"),
        ("was.lock", "require", "none", "low.json", BLOCKED, "gate: blocked by version-too-low"),
        ("was.lock", "allow", "breaking", "high.json", PASSED, "by the declared version 2.0.0"),
        ("s@latest", "tell", "none", "low.json", PASSED, low),
        ("s@latest", "require", "none", "low.json", BLOCKED, "gate: blocked by version-too-low"),
        // What the database holds is not softened by a repository.
        ("s@latest", "allow", "breaking", "high.json", BLOCKED, "gate: blocked by required-added"),
        ("s@latest", "allow", "none", "low.json", BLOCKED, "gate: blocked by version-too-low"),
    ] {
        user.file("toolpact.yaml", format!("policy: {{declared-version: {policy}}}\n"));
        let args =
            ["gate", "--baseline", baseline, "--fail-on", fail_on, "--server", "s", "--file", candidate];
        let ended = user.run(&args);
        assert_eq!(ended.code, code, "{args:?} {policy}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(says), "{args:?} {policy}: no `{says}` in {}", ended.stdout);
    }
    user.file("toolpact.yaml", "policy: {declared-version: off}\n");
    let args = ["gate", "--baseline", "was.json", "--fail-on", "none", "--file", "low.json"];
    let ended = user.run(&args).code(PASSED);
    assert!(!ended.stdout.contains("serverInfo declares"), "{}", ended.stdout);
}

#[test]
fn what_a_lockfile_says_was_announced_may_go_wherever_that_lockfile_stands() {
    let user = User::new();
    let old = |description: &str| json!({"name": "old", "description": description, "inputSchema": {"type": "object"}});
    for (name, description) in [("announced", "Deprecated: use find."), ("kept", "Finds.")] {
        user.file("was.json", answer("1.4.0", &["a"], &old(description)));
        let lock = format!("{name}.lock");
        user.run(&["lock", "--lockfile", &lock, "--server", "s", "--file", "was.json"]).code(PASSED);
    }
    user.file("now.json", answer("1.4.0", &["a"], &Value::Null));
    for (lock, days, code) in
        [("announced.lock", 0, PASSED), ("announced.lock", 90, BLOCKED), ("kept.lock", 0, BLOCKED)]
    {
        user.file("toolpact.yaml", format!("policy: {{deprecation-days: {days}}}\n"));
        let ended = user.run(&["gate", "--baseline", lock, "--server", "s", "--file", "now.json"]);
        assert_eq!(ended.code, code, "{lock} {days}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.stdout.contains("announced"), lock == "announced.lock", "{}", ended.stdout);
    }
}
