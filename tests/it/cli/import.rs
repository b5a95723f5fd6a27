//! Servers from a host's configuration: import, list, sweep, remove.

use super::{BLOCKED, COULD_NOT_RUN, INVALID, PASSED};
use crate::command::User;

/// A configuration with two releases of the demo server, and one that is not there.
fn config(third: &str) -> String {
    let demo = |release| serde_json::json!({"command": env!("CARGO_BIN_EXE_toolpact"), "args": ["demo-server", "--release", release]});
    serde_json::json!({"mcpServers": {
        "one": demo("1"), "two": demo("2"),
        "lost": {"command": "bash", "args": ["-c", third], "env": {"LOST_TOKEN": "in-clear"}},
    }})
    .to_string()
}

#[test]
fn a_hosts_servers_are_imported_swept_and_removed() {
    let user = User::new();
    user.file("mcp.json", config("exit 1"));
    let dry = user.run(&["import", "mcp.json", "--dry-run"]).code(PASSED);
    assert!(dry.stdout.contains("would register: 3 new, 0 changed, 0 unchanged"), "{}", dry.stdout);
    assert!(!user.home().join(".local").exists(), "a dry run makes no database");

    let done = user.run(&["import", "mcp.json"]).code(PASSED);
    for part in ["new        one", "set the variable `LOST_LOST_TOKEN` to it", "registered: 3 new"] {
        assert!(done.stdout.contains(part), "no {part:?} in\n{}", done.stdout);
    }
    assert!(!done.stdout.contains("in-clear"), "{}", done.stdout);
    let listed = user.run(&["servers"]).code(PASSED);
    assert!(listed.stdout.contains("one            never listed"), "{}", listed.stdout);
    assert!(user.run(&["status"]).code(PASSED).stdout.contains("two            never listed"));

    let one = user.run(&["snapshot", "one"]).code(PASSED);
    assert!(one.stdout.contains("first snapshot"), "{}", one.stdout);
    let swept = user.run(&["snapshot", "--all", "--jobs", "2"]).code(COULD_NOT_RUN);
    for part in [
        "identical",
        "unavailable",
        "the variable `LOST_LOST_TOKEN` is not set",
        "2 of 3 servers listed, 0 drifted",
    ] {
        assert!(swept.stdout.contains(part), "no {part:?} in\n{}", swept.stdout);
    }
    let alone = user.run(&["snapshot", "lost"]).code(COULD_NOT_RUN).stderr;
    assert!(alone.contains("set `LOST_LOST_TOKEN` in the environment"), "{alone}");
    let listed = user.run(&["servers"]).code(PASSED).stdout;
    assert!(listed.contains("lost           unavailable"), "{listed}");
    user.run(&["servers", "remove", "lost"]).code(PASSED);
    user.run(&["snapshot", "--all"]).code(PASSED);
    let json = user.run(&["servers", "--format", "json"]).code(PASSED).stdout;
    let servers: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let found = |nth: usize| servers[nth]["source"].as_str();
    assert_eq!((&servers[0]["name"], found(0)), (&"lost".into(), None), "what is recorded of it stays");
    assert!(found(1).is_some_and(|s| s.ends_with("demo-server --release 1")), "{json}");
}

#[test]
fn a_server_that_is_registered_otherwise_blocks_an_import() {
    let user = User::new();
    user.file("mcp.json", config("exit 1"));
    user.run(&["import", "mcp.json"]).code(PASSED);
    assert!(user.run(&["import", "mcp.json"]).code(PASSED).stdout.contains("nothing to register"));
    user.file("mcp.json", config("exit 2"));
    let blocked = user.run(&["import", "mcp.json"]).code(BLOCKED);
    for part in ["changed    lost", "- command: [bash", "+ command: [bash", "nothing is registered"] {
        assert!(blocked.stdout.contains(part), "no {part:?} in\n{}", blocked.stdout);
    }
    user.run(&["import", "mcp.json", "--replace"]).code(PASSED);
    user.run(&["import", "mcp.json"]).code(PASSED);
}

#[test]
fn what_cannot_be_imported_says_why() {
    let user = User::new();
    user.file("bad.json", "{\n  \"mcpServers\": {\"a\": 5}\n}");
    user.file("syntax.json", "{\n  \"mcpServers\": }");
    user.file("good.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    for (args, code, part) in [
        (
            &["import", "bad.json"] as &[&str],
            INVALID,
            "bad.json: server `a`: its entry is a number; expected an object",
        ),
        (&["import", "syntax.json"], INVALID, "syntax.json:2:17: "),
        (&["import", "gone.json"], INVALID, "`gone.json` does not exist"),
        (&["import"], INVALID, "required"),
        (&["import", "good.json", "--host", "emacs"], INVALID, "expected one of claude, vscode, cursor"),
        (&["import", "good.json", "good.json"], INVALID, "server `a` stands in two of these files"),
        (&["import", "--registry", "example.com"], INVALID, "is no http or https URL of a registry"),
        (&["import", "--registry", "http://127.0.0.1:1"], COULD_NOT_RUN, "did not answer"),
        (&["snapshot"], INVALID, "required"),
        (&["snapshot", "a"], INVALID, "no server is registered: there is no database at"),
        (&["snapshot", "--all"], INVALID, "no server is registered"),
        (&["snapshot", "--all", "a"], INVALID, "cannot be used with"),
        (&["snapshot", "--all", "--jobs", "0"], INVALID, "expected a number from 1 to 512"),
        (&["gate", "--baseline", "good.json"], INVALID, "`--url URL`"),
    ] {
        let ended = user.run(args).code(code);
        assert!(ended.stderr.contains(part), "{args:?}: no {part:?} in\n{}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_imported_by_name_and_by_search() {
    let base = crate::config::registry::start().await;
    let ended = tokio::task::spawn_blocking(move || {
        let user = User::new();
        let one = user.run(&["import", "--registry", &base, "io.a/one"]).code(PASSED);
        assert!(one.stdout.contains("new        io.a-one             https://h/mcp"), "{}", one.stdout);
        let none = user.run(&["import", "--registry", &base, "io.a/none"]).code(INVALID);
        assert!(none.stderr.contains("has no server `io.a/none`"), "{}", none.stderr);
        let found = user.run(&["import", "--registry", &base, "--search", "io.a"]).code(PASSED);
        assert!(found.stdout.contains("registered: 1 new, 0 changed, 1 unchanged"), "{}", found.stdout);
        user.run(&["import", "--registry", &base, "--search", "down"]).code(COULD_NOT_RUN);
        user.run(&["servers"]).code(PASSED).stdout
    });
    let listed = ended.await.expect("it ran");
    assert_eq!(listed.matches("https://h/mcp").count(), 2, "{listed}");
}
