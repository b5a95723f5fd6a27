//! Secrets from files and commands: what a reference says, why it says nothing, who may write one, and that no value of
//! one is kept.

use std::{collections::BTreeMap, path::Path};

use toolpact::{
    app::{
        App,
        servers::{self, Change},
    },
    catalog::server::AuthContext,
    config::{Host, Options},
    snapshot::Outcome,
};

use crate::{
    command::{answers, script},
    support::{app, is},
};

const VALUE: &str = "s3cr3t of two";

/// Registers a server that is given this as `WORD` and lists a tool only where it is told `VALUE` so.
async fn told(app: &App, folder: &Path, word: &str) {
    let list = answers(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#);
    let server = folder.join("server.sh");
    let text = format!("echo \"I got $WORD\"\n[ \"$WORD\" = '{VALUE}' ] || exit 7\n{}", script(&list));
    std::fs::write(&server, text).expect("the folder can be written");
    let server = serde_json::json!({
        "catalog": "all",
        "servers": {"told": {"command": ["bash", server.to_string_lossy()], "env": {"WORD": word}}},
    });
    // JSON is YAML.
    app.apply("all.yaml", &server.to_string(), "ann").await.unwrap_or_else(|e| panic!("{word}: {e}"));
}

#[tokio::test]
async fn a_file_and_a_command_say_their_secret_when_the_server_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the folder can be written");
        format!("${{file:{}}}", path.display())
    };
    let mut complaints = Vec::new();
    for word in [
        file("line", b"s3cr3t of two\n"),
        file("windows", b"s3cr3t of two\r\n"),
        file("bare", b"s3cr3t of two"),
        "s3cr3t ${command:printf '%s\\n' 'of two'}".to_owned(),
        "${command:printf %s\\ %s\\ two s3cr3t \"of\"}".to_owned(),
        "${command:bash -c 'echo s3cr3t of two; echo s3cr3t of two >&2'}".to_owned(),
    ] {
        let (app, _store) = app().await;
        told(&app, folder.path(), &word).await;
        let row = app.snapshot_registered(&is("told"), "ann").await.expect("asked").listing;
        if row.outcome != Outcome::Ok || row.evidence.stray_samples != [format!("I got {word}")] {
            complaints.push(format!("{word}: {} {:?}", row.outcome, row.evidence));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test]
async fn a_reference_that_says_nothing_names_the_server_and_the_cause_and_no_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("the folder can be written");
        format!("file:{}", path.display())
    };
    let big = vec![b'x'; (64 << 10) + 1];
    let mut complaints = Vec::new();
    for (inside, words) in [
        ("file:/no/such/file".to_owned(), "cannot be read: No such file or directory"),
        ("file:token.txt".to_owned(), "is no absolute path"),
        (format!("file:{}", folder.path().display()), "cannot be read: it is no regular file"),
        ("file:/dev/zero".to_owned(), "cannot be read: it is no regular file"),
        (file("big", &big), "has more than 65536 bytes"),
        (file("bytes", b"s3cr3t \xff"), "says what is no text in UTF-8"),
        (file("empty", b"\n"), "says nothing"),
        ("command:no-such-program --now".to_owned(), "cannot be run: No such file or directory"),
        ("command:bash -c 'echo s3cr3t of two; exit 3'".to_owned(), "failed (exit status: 3)"),
        ("command:bash -c 'kill -9 $$'".to_owned(), "failed (signal: 9 (SIGKILL))"),
        ("command:echo 's3cr3t".to_owned(), "has a quotation that does not end"),
        ("command:head -c 65537 /dev/zero".to_owned(), "printed more than 65536 bytes"),
        ("command:true".to_owned(), "says nothing"),
        ("command:printf '\\377'".to_owned(), "says what is no text in UTF-8"),
    ] {
        let (app, _store) = app().await;
        told(&app, folder.path(), &format!("x${{{inside}}}")).await;
        let row = app.snapshot_registered(&is("told"), "ann").await.expect("recorded").listing;
        let (outcome, message) = (row.outcome, row.evidence.message);
        let expected = format!("server `told` cannot be asked: `${{{inside}}}` {words}");
        if outcome != Outcome::Unavailable || !message.starts_with(&expected) || message.contains("xxx") {
            complaints.push(format!("{inside}: {outcome}: {message}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test]
async fn no_shell_reads_the_words_of_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    let (app, _store) = app().await;
    let line = format!("${{command:echo s3cr3t $(touch {0}) ; touch {0}}}", trace.display());
    told(&app, folder.path(), &line).await;
    let row = app.snapshot_registered(&is("told"), "ann").await.expect("asked").listing;
    assert_eq!(row.outcome, Outcome::Unavailable, "it printed its words: {:?}", row.evidence);
    assert!(!trace.exists());
}

#[tokio::test]
async fn a_secret_that_a_server_lists_is_told_by_its_reference() {
    let folder = tempfile::tempdir().expect("a folder");
    let (app, _store) = app().await;
    let app = app.with_variables(|name| Some(format!("value of {name}")));
    let list = r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"%s","inputSchema":{}}]}}\n' "$id" "$1""#;
    std::fs::write(folder.path().join("server.sh"), script(list)).expect("the folder can be written");
    let server = folder.path().join("server.sh");
    for (name, argument, told) in [("secret", "${A_TOKEN}", true), ("plain", "${A_NAME}", false)] {
        let document = serde_json::json!({
            "catalog": name, "servers": {name: {"command": ["bash", server.to_string_lossy(), argument]}},
        });
        app.apply("all.yaml", &document.to_string(), "ann").await.expect("applied");
        let row = app.snapshot_registered(&is(name), "ann").await.expect("asked").listing;
        assert_eq!(row.outcome, Outcome::Ok, "{:?}", row.evidence);
        let warnings = row.evidence.warnings;
        let warned = warnings.iter().any(|w| w.starts_with("lists what `${A_TOKEN}` says, a secret"));
        assert_eq!(warned, told, "{name}: {warnings:?}");
    }
}

#[tokio::test]
async fn a_command_is_run_once_for_all_contexts() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    let word = format!("${{command:bash -c 'echo run >> {}; echo {VALUE}'}}", trace.display());
    let (app, _store) = app().await;
    told(&app, folder.path(), "not this").await;
    for name in ["ann", "bob"] {
        let env = BTreeMap::from([("WORD".to_owned(), word.as_str().into())]);
        let context = AuthContext { name: name.to_owned(), env, ..AuthContext::default() };
        app.set_context(&is("told"), context, false, "ann").await.expect("set");
    }
    let recorded = app.snapshot_registered(&is("told"), "ann").await.expect("asked");
    assert_eq!(recorded.listing.outcome, Outcome::Ok, "{:?}", recorded.listing.evidence);
    assert_eq!(recorded.contexts[0].0.outcome, Outcome::Ok);
    assert_eq!(std::fs::read_to_string(trace).expect("it ran"), "run\n");
}

#[tokio::test]
async fn what_is_imported_runs_no_command_and_reads_no_file() {
    let (app, _store) = app().await;
    for (host, text, taken) in [
        (Host::VsCode, "${command:pick.token}", false),
        (Host::Claude, "Bearer ${file:/etc/passwd}", false),
        (Host::Cursor, "${env:file:/etc/passwd}", false),
        (Host::Gemini, "$X${command:id}", false),
        (Host::VsCode, "${input:token}", true),
        (Host::Claude, "$${command:id}", true),
        (Host::Claude, "${X:-${command:id}", true),
        (Host::Spring, "${command:id}", true), // the variable COMMAND, with a default
    ] {
        let config =
            serde_json::json!({"mcpServers": {"a": {"url": "https://h/mcp", "headers": {"X-Mode": text}}}});
        let options = Options { host: Some(host), ..Options::default() };
        let found = servers::read("mcp.json", &config.to_string(), options).expect("read");
        let import = app.import(found, true, true, "ann").await.expect("looked at");
        if taken {
            assert_eq!(import.servers[0].change, Change::New, "{text}: {:?}", import.skipped);
        } else {
            assert!(import.servers.is_empty(), "{text}");
            let (name, why) = &import.skipped[0];
            assert_eq!(name, "a");
            assert!(why.contains("what is imported runs no command and reads no file"), "{why}");
        }
    }
}
