//! One list by itself, from wherever it comes.

use serde_json::{Value, json};

use super::{BLOCKED, COULD_NOT_RUN, INVALID, PASSED, recorded};
use crate::command::{User, answers, script};

const TWICE: &str = r#"{"server":"units","tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]}"#;

const NO_SCHEMA: &str =
    r#"{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"unit":{"type":"text"}}}}]}"#;

#[test]
fn a_list_is_judged_wherever_it_comes_from() {
    let user = User::new();
    let good = recorded("orders-1.json");
    user.file("twice.json", TWICE);
    user.file("text.json", "no list");
    user.run(&["snapshot", "orders", "--file", &good]).code(PASSED);
    let live = script(&answers(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#));
    for (args, code, out, err) in [
        (vec!["lint", &good], PASSED, "fine: nothing found in", ""),
        (vec!["lint", "--file", &good], PASSED, "fine: nothing found in", ""),
        (vec!["lint", "orders@latest"], PASSED, "tools of orders@latest\n", ""),
        (vec!["lint", "--", "bash", "-c", &live], PASSED, "fine: nothing found in", ""),
        (vec!["lint", "twice.json"], BLOCKED, "risky: 1 finding in 2 tools of twice.json\n", ""),
        (vec!["lint", "text.json"], INVALID, "", "error: "),
        (vec!["lint", "absent.json"], INVALID, "", "`absent.json` does not exist"),
        (vec!["lint", "absent@latest"], INVALID, "", "`absent`"),
        (vec!["lint"], INVALID, "", "Usage: toolpact lint FILE-or-REF"),
        (vec!["lint", &good, "--", "bash"], INVALID, "", "cannot be used with"),
        (vec!["lint", "--", "bash", "-c", "exit 7"], COULD_NOT_RUN, "", "could not be listed"),
    ] {
        let ended = user.run(&args).code(code);
        assert!(
            ended.stdout.contains(out) && ended.stderr.contains(err),
            "{args:?}: {}{}",
            ended.stdout,
            ended.stderr
        );
    }
}

#[test]
fn what_is_wrong_is_shown_with_what_to_do() {
    let user = User::new();
    user.file("list.json", NO_SCHEMA);
    let text = user.run(&["lint", "list.json"]).code(BLOCKED).stdout;
    for part in [
        "breaking: tool `a`: `inputSchema` is no valid JSON Schema: ",
        "  rule     invalid-schema (input)\n",
        "  help: mend the schema and list again; `toolpact explain invalid-schema`\n",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(text.ends_with("breaking: 1 finding in 1 tool of list.json\n"), "{text}");

    user.file("list.json", TWICE);
    let ended = user.run(&["lint", "list.json", "--format", "json"]).code(BLOCKED);
    let linted: Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
    assert_eq!((&linted["verdict"], &linted["tools"]), (&json!("risky"), &json!(2)), "{linted}");
    let found = &linted["findings"][0];
    assert_eq!(
        (&found["server"], &found["tool"], &found["rule"]),
        (&json!("units"), &json!("a"), &json!("duplicate-tool-name"))
    );
    assert_eq!(found["absolute"], true);
}
