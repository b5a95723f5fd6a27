//! Prompts and resources: counted by a snapshot, told by a diff, judged by nobody.

use serde_json::Value;

use super::PASSED;
use crate::command::User;

/// A modern server with one tool and these answers beside it.
fn server(tool: &str, prompts: &str, resources: &str) -> Vec<String> {
    let say = |method: &str, result: &str| {
        format!(r#"*'"{method}"'*) printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" '{}' ;;"#, result)
    };
    // Asked as often as anybody likes.
    let script = [
        "while IFS= read -r line; do id=${line#*'\"id\":'}; id=${id%%,*}; case $line in".to_owned(),
        say(
            "server/discover",
            r#"{"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{},"resources":{}}}"#,
        ),
        say("tools/list", &format!(r#"{{"tools":[{{"name":"{tool}","inputSchema":{{"type":"object"}}}}]}}"#)),
        say("prompts/list", prompts),
        say("resources/list", resources),
        say("resources/templates/list", r#"{"resourceTemplates":1}"#),
        "esac; done".to_owned(),
    ];
    ["--", "sh", "-c", &script.join("\n")].map(str::to_owned).to_vec()
}

fn snapshot(user: &User, format: &str, server: &[String]) -> String {
    let server: Vec<&str> = server.iter().map(String::as_str).collect();
    user.run(&[&["snapshot", "shop", "--format", format], &server[..]].concat()).code(PASSED).stdout
}

#[test]
fn surfaces_are_counted_by_a_snapshot_and_told_by_a_diff() {
    let user = User::new();
    let before = server(
        "a",
        r#"{"prompts":[{"name":"greet","title":"A"},{"name":"part"}]}"#,
        r#"{"resources":[{"uri":"x://1"}]}"#,
    );
    let first = snapshot(&user, "text", &before);
    assert!(
        first.contains("\nprompts: 2, resources: 1, resource templates: not listed (malformed)\n"),
        "{first}"
    );
    assert!(first.contains("note: resource templates: `sh -c "), "{first}");
    // The same again: nothing to tell.
    let same = snapshot(&user, "text", &before);
    assert!(same.contains("\nprompts: 2, resources: 1, resource"), "{same}");
    assert!(same.contains("identical to the snapshot before"), "{same}");

    let after = server(
        "b",
        r#"{"prompts":[{"name":"greet","title":"B"},{"name":"meet"},{"name":"\u001b[31mred"}]}"#,
        r#"{"resources":[{"uri":"x://1"}]}"#,
    );
    let before = snapshot(&user, "json", &before);
    let drift = snapshot(&user, "text", &after);
    assert!(drift.contains("\nprompts: 3 (changed: +2 -1 ~1), resources: 1, resource"), "{drift}");

    let before: Value = serde_json::from_str(&before).expect("JSON");
    let surfaces = &before["listing"]["surfaces"];
    assert_eq!(surfaces[0]["kind"], "prompts");
    assert_eq!((&surfaces[0]["count"], &surfaces[2]["outcome"]), (&2.into(), &"malformed".into()));
    let baseline = format!("shop@{}", before["listing"]["digest"].as_str().expect("a digest"));
    let told = user.run(&["diff", &baseline, "shop@latest"]).code(PASSED).stdout;
    let notes = told.split_once("note: prompts differ").map(|(_, notes)| notes);
    assert_eq!(
        notes,
        Some(
            ": +2 -1 ~1 (not judged)\n  added    \\u{1b}[31mred\n  added    meet\n  removed  part\n  changed  greet\n"
        ),
        "{told}"
    );
    let told = user.run(&["diff", &baseline, "shop@latest", "--format", "json"]).code(PASSED).stdout;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["surfaces"][0]["changed"], serde_json::json!(["greet"]));
    // A diff without any is the report alone, and so is that of what holds tools only.
    for sides in [[&*baseline, &*baseline], ["shop@latest", "b.json"]] {
        user.file("b.json", r#"{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}"#);
        let told = user.run(&[&["diff", "--format", "json"], &sides[..]].concat()).code(PASSED).stdout;
        assert!(!told.contains("surfaces"), "{told}");
    }
}
