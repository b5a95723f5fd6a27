//! Registered servers: imported, refused, resolved, swept, removed; and that no secret of theirs is kept.

use toolpact::{
    app::{
        App, Kind,
        servers::{self, Change, Import},
        view::Drift,
    },
    config::{Found, Options},
    snapshot::{Evidence, Outcome},
};

use super::refused;
use crate::{
    command::{answers, script},
    support::{app, is},
};

const TOKEN: &str = "t0ken-of-the-environment";

fn found(text: &str) -> Found {
    servers::read("mcp.json", text, Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

async fn import(app: &App, text: &str, replace: bool) -> Import {
    app.import(found(text), replace, false, "ann").await.expect("imported")
}

/// A configuration with these servers.
fn servers(entries: &[(&str, serde_json::Value)]) -> String {
    let entries: serde_json::Map<String, serde_json::Value> =
        entries.iter().map(|(name, entry)| ((*name).to_owned(), entry.clone())).collect();
    serde_json::json!({ "mcpServers": entries }).to_string()
}

/// A server that lists this one tool, as a bash script.
fn bash(list: &str) -> serde_json::Value {
    serde_json::json!({ "command": "bash", "args": ["-c", script(list)] })
}

fn one_tool() -> String {
    answers(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#)
}

#[tokio::test]
async fn what_is_registered_otherwise_is_shown_and_replaced_only_when_told() {
    let (app, _store) = app().await;
    let first = servers(&[("a", serde_json::json!({"command": "x", "args": ["1"]}))]);
    let changed = servers(&[
        ("a", serde_json::json!({"command": "x", "args": ["2"], "env": {"MODE": "fast"}})),
        ("b", serde_json::json!({"url": "https://h/mcp"})),
    ]);
    let done = import(&app, &first, false).await;
    assert!(done.applied && done.servers[0].change == Change::New);
    let again = import(&app, &first, false).await;
    assert!(!again.applied && again.servers[0].change == Change::Unchanged);

    let refused = import(&app, &changed, false).await;
    let lines = [r#"- command: [x, "1"]"#, r#"+ command: [x, "2"]"#, "+ env:", "+ MODE: fast"];
    assert_eq!(refused.servers[0].change, Change::Changed(lines.map(str::to_owned).to_vec()));
    assert!(!refused.applied);
    assert_eq!(app.registered().await.expect("there").len(), 1, "all of it, or none");

    assert!(import(&app, &changed, true).await.applied);
    let names: Vec<String> = app.servers().await.expect("there").into_iter().map(|s| s.name.into()).collect();
    assert_eq!(names, ["a", "b"]);
    app.remove_server(&is("a"), "ann").await.expect("removed");
    let (kind, code, message) = super::refused(app.remove_server(&is("a"), "ann").await);
    assert_eq!((kind, code), (Kind::NotFound, "unknown-server"), "{message}");

    let events = app.events(100).await.expect("events");
    let told: Vec<(&str, &str)> =
        events.iter().rev().map(|e| (e.kind.as_str(), e.subject.as_str())).collect();
    assert_eq!(
        told,
        [
            ("server.registered", "server/a"),
            ("server.registered", "server/a"),
            ("server.registered", "server/b"),
            ("server.removed", "server/a"),
        ]
    );
    assert_eq!(app.verify_events().await.expect("checked").broken, None);
}

#[tokio::test]
async fn a_dry_run_writes_nothing() {
    let (app, _store) = app().await;
    let text = servers(&[("a", serde_json::json!({"command": "x"}))]);
    let import = app.import(found(&text), true, true, "ann").await.expect("read");
    assert!(!import.applied && import.servers[0].change == Change::New);
    assert!(app.servers().await.expect("there").is_empty() && app.events(9).await.expect("there").is_empty());
}

#[tokio::test]
async fn a_registered_server_is_asked_with_its_variables_and_their_values_are_kept_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("toolpact.db");
    let app = App::open(&crate::database::file(&file), std::sync::Arc::new(crate::support::Noon))
        .await
        .expect("opened");
    let app = app.with_variables(|name| (name == "TOKEN").then(|| TOKEN.to_owned()));
    // Says what it was given on every way out, and lists a tool only where it was given it.
    let telling = |list: &str| {
        format!(
            "echo \"stdout $SECRET_WORD $1\"; echo \"stderr $SECRET_WORD\" >&2; [ \"$SECRET_WORD\" = \"$1\" ] && [ \"$PWD\" = / ] && [ -z \"${{LEFT+x}}\" ] || exit 7\n{}",
            script(list)
        )
    };
    let entry = |list: &str| {
        serde_json::json!({
            "command": "bash", "args": ["-c", telling(list), "name", "${TOKEN}"],
            "env": {"SECRET_WORD": "${TOKEN}", "LEFT": "${NOT_SET:-}"}, "cwd": "/",
        })
    };
    let refusing =
        r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"%s"}}\n' "$id" "$SECRET_WORD""#;
    let text = servers(&[("good", entry(&one_tool())), ("bad", entry(refusing))]);
    let notes: Vec<String> = found(&text).servers.into_iter().flat_map(|s| s.notes).collect();
    assert!(notes.is_empty(), "{notes:?}");
    import(&app, &text, false).await;

    let good = app.snapshot_registered(&is("good"), "ann").await.expect("asked").listing;
    assert_eq!((good.outcome, good.tools), (Outcome::Ok, Some(1)), "{:?}", good.evidence);
    assert!(good.evidence.stray_samples[0].contains("stdout ${TOKEN} ${TOKEN}"), "{:?}", good.evidence);
    assert!(good.provenance.target.contains("name ${TOKEN}"), "{}", good.provenance.target);
    let bad = app.snapshot_registered(&is("bad"), "ann").await.expect("asked").listing;
    assert_eq!(bad.outcome, Outcome::Error);
    let error = bad.evidence.rpc_error.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(error.contains("${TOKEN}"), "{error}");
    assert!(bad.evidence.stderr_tail.contains("stderr ${TOKEN}"), "{:?}", bad.evidence);
    drop(app);
    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("readable");
        let held = bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes());
        assert!(!held, "{} holds the secret", path.display());
    }
}

#[tokio::test]
async fn what_cannot_be_resolved_names_the_variable_and_the_server() {
    let (app, _store) = app().await;
    let app = app.with_variables(|name| (name == "NOT_A_URL").then(|| "se cret".to_owned()));
    let text = servers(&[
        ("unset", serde_json::json!({"command": "x", "args": ["${NOBODY_SET_IT}"]})),
        ("odd", serde_json::json!({"command": "x", "args": ["${workspaceFolder:pick}"]})),
        ("url", serde_json::json!({"url": "http://${NOT_A_URL}/"})),
    ]);
    import(&app, &text, false).await;
    app.record(&is("seen"), crate::support::listing(&[]), "ann").await.expect("recorded");
    for (server, message) in [
        ("unset", "server `unset` cannot be asked: the variable `NOBODY_SET_IT` is not set"),
        ("odd", "server `odd` cannot be asked: `${workspaceFolder:pick}` is no variable"),
        ("url", "server `url` cannot be asked: `http://${NOT_A_URL}/` is no URL"),
    ] {
        // Once, however often it is asked.
        for _ in 0..3 {
            app.ask(&is(server), None, "poller").await.expect("recorded");
        }
        let page = app.server(&is(server)).await.expect("registered");
        assert_eq!(page.listings.len(), 1, "{server}");
        let row = &page.listings[0];
        let Evidence { message: said, help, .. } = &row.evidence;
        assert_eq!((row.outcome, row.digest.as_ref()), (Outcome::Unavailable, None));
        assert!(said.starts_with(message) && !help.is_empty(), "{said}: {help}");
        assert!(!said.contains("se cret") && !row.provenance.target.contains("se cret"), "{row:?}");
        let last = app.servers().await.expect("there").into_iter().find(|s| s.name == is(server));
        assert_eq!(last.and_then(|s| s.last).map(|row| row.outcome), Some(Outcome::Unavailable));
    }
    for (server, code, message) in [
        ("seen", "not-registered", "server `seen` was listed here and is not registered"),
        ("unse", "unknown-server", "server `unse` does not exist; did you mean `unset`?"),
    ] {
        let (_, found, said) = refused(app.snapshot_registered(&is(server), "ann").await);
        assert_eq!(found, code);
        assert!(said.starts_with(message), "{said}");
    }
}

#[tokio::test]
async fn a_sweep_asks_all_of_them_and_drafts_once() {
    let (app, _store) = app().await;
    let b = answers(r#"{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}"#);
    let text = servers(&[
        ("a", bash(&one_tool())),
        ("b", bash(&b)),
        ("dead", serde_json::json!({"command": "bash", "args": ["-c", "exit 3"]})),
        ("missing", serde_json::json!({"command": "x", "args": ["${NOBODY_SET_IT}"]})),
    ]);
    let app = app.with_variables(|_| None);
    import(&app, &text, false).await;
    app.apply("all", "catalog: all\nservers:\n  a:\n  b:\n", "ann").await.expect("applied");
    let mut told = Vec::new();
    let specs = app.registered().await.expect("there");
    let sweep = app.sweep(specs, 2, "ann", |swept| told.push(swept.server.clone())).await.expect("swept");
    let rows: Vec<_> = sweep.servers.iter().map(|s| (s.server.as_str(), s.outcome, s.tools)).collect();
    assert_eq!(
        rows,
        [
            ("a", Outcome::Ok, Some(1)),
            ("b", Outcome::Ok, Some(1)),
            ("dead", Outcome::Unavailable, None),
            ("missing", Outcome::Unavailable, None),
        ]
    );
    assert!(!sweep.is_whole());
    assert_eq!(told.len(), 4);
    assert_eq!(sweep.drafts.len(), 1, "one a catalog, not one a server: {:?}", sweep.skipped);
    assert_eq!(sweep.drafts[0].content.members.len(), 2);
    let specs = app.registered().await.expect("there");
    let again = app.sweep(specs, 64, "ann", |_| ()).await.expect("swept");
    assert_eq!(again.servers[0].drift, Drift::Identical);
    assert!(again.drafts.is_empty());
}

#[tokio::test]
async fn a_document_registers_the_servers_that_it_says_where_to_find() {
    let (app, _store) = app().await;
    let text = "catalog: a\nservers:\n  a:\n    command: [x, --token, in-clear]\n  b:\n    url: https://h/mcp\n  c: {}\n";
    let applied = app.apply("a.yaml", text, "ann").await.expect("applied");
    assert_eq!(applied.registered, [is("a"), is("b")]);
    let note = "server `a`: its argument after `--token` holds a secret, which is not stored; set the variable `A_TOKEN` to it";
    assert_eq!(applied.notes, [note]);
    assert!(!format!("{:?}", app.registered().await.expect("there")).contains("in-clear"));
    let again = app.apply("a.yaml", text, "ann").await.expect("applied");
    assert!(again.unchanged && again.registered.is_empty());
    let moved = app.apply("a.yaml", &text.replace("/mcp", "/v2"), "ann").await.expect("applied");
    assert_eq!(moved.registered, [is("b")]);
}

#[tokio::test]
async fn a_command_that_names_no_folder_is_started_in_an_empty_one() {
    let (app, _store) = app().await;
    // Lists a tool only where it stands in a folder of its own, and leaves a file there.
    let list = format!(
        "[ -z \"$(ls -A)\" ] && [ \"$PWD\" != '{}' ] && pwd > here || exit 7\n{}",
        std::env::current_dir().expect("a folder").display(),
        one_tool()
    );
    import(&app, &servers(&[("a", bash(&list))]), false).await;
    for _ in 0..2 {
        let recorded = app.snapshot_registered(&is("a"), "ann").await.expect("asked");
        assert_eq!(recorded.listing.outcome, Outcome::Ok, "{:?}", recorded.listing.evidence);
    }
    // What is written from where we stand is started there.
    let script = "tests/it/flow/servers.rs";
    let entry = serde_json::json!({"command": "bash", "args": ["-c", format!("[ -e '{script}' ] || exit 7\n{}", crate::command::script(&one_tool())), script]});
    import(&app, &servers(&[("b", entry)]), false).await;
    let recorded = app.snapshot_registered(&is("b"), "ann").await.expect("asked");
    assert_eq!(recorded.listing.outcome, Outcome::Ok, "{:?}", recorded.listing.evidence);
}
