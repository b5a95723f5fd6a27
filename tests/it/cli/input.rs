//! Every kind of bad input: which exit code, and which words.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
};

use super::{BLOCKED, COULD_NOT_RUN, INVALID, PASSED, diff, recorded};
use crate::command::{Ended, User, answers, script};

/// Asks a server that is this shell script for its tools.
fn snapshot(user: &User, shell: &str) -> Ended {
    let path = user.file("server.sh", shell);
    user.run(&["snapshot", "orders", "--", "bash", &path.to_string_lossy()])
}

const ONE_TOOL: &str = r#"[{"name":"a","inputSchema":{"type":"object"}}]"#;

/// A file that cannot be a side: exit 2, and the error has these parts.
#[track_caller]
fn refused_file(text: &str, parts: &[&str]) {
    let user = User::new();
    let ended = diff(&user, ONE_TOOL, text).code(INVALID);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
    for part in ["candidate.json"].iter().chain(parts) {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
}

#[test]
fn a_file_that_is_not_json_is_refused() {
    refused_file("tools: none", &[]);
    refused_file("", &[]);
    refused_file(r#"{"tools":[{"name":"a""#, &[]);
}

#[test]
fn a_file_that_is_no_tools_list_is_refused() {
    refused_file(r#"{"resources":[]}"#, &["no `tools`"]);
    refused_file("7", &["not a tools list"]);
    refused_file(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#, &["-32601"]);
    refused_file(r#"{"tools":[],"nextCursor":"2"}"#, &["one page"]);
    refused_file(r#"[{"name":"a"}]"#, &["`a`", "inputSchema"]);
    refused_file("[7]", &["number 1"]);
}

#[test]
fn a_schema_of_300_levels_is_refused() {
    let deep = r#"{"items":"#.repeat(300) + "{}" + &"}".repeat(300);
    refused_file(&format!(r#"[{{"name":"deep","inputSchema":{deep}}}]"#), &["`deep`", "302 levels", "limit"]);
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    let user = User::new();
    user.file("baseline.json", ONE_TOOL);
    user.file("candidate.json", [b'[', 0xff, b']']);
    let ended = user.run(&["diff", "baseline.json", "candidate.json"]).code(INVALID);
    assert!(ended.stderr.contains("UTF-8"), "{}", ended.stderr);
    let ended = user.run(&["diff", "baseline.json", "./"]).code(INVALID);
    assert!(ended.stderr.contains("cannot be read"), "{}", ended.stderr);
}

#[test]
fn a_side_that_is_nothing_names_the_forms_there_are() {
    let user = User::new();
    for (side, code) in [("missing.json", INVALID), ("missing", INVALID), ("github@latest", INVALID)] {
        let ended = user.run(&["diff", side, "-"]).code(code);
        for part in [side, "help: ", "server@latest", "catalog@2026.11.30", "environment"] {
            assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
        }
    }
    // A database that was named and is gone is another matter than a mistyped file.
    user.run(&["diff", "github@latest", "-", "--database", "gone.db"]).code(COULD_NOT_RUN);
}

#[test]
fn a_server_named_alone_is_no_environment() {
    let user = User::new();
    snapshot(&user, &script(&answers(&format!(r#"{{"tools":{ONE_TOOL}}}"#)))).code(PASSED);
    let ended = user.run(&["diff", "orders", "-"]).code(INVALID);
    assert!(ended.stderr.contains("did you mean `orders@latest`?"), "{}", ended.stderr);
}

#[test]
fn an_interrupted_snapshot_leaves_no_server_behind() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let user = User::new();
        let pipe = user.home().join("alive");
        assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|s| s.success()), "a pipe is made");
        // The server and its child hold the pipe open as long as they live.
        let server =
            user.file("server.sh", format!("exec 3>'{}'; echo up >&3; sleep 60 & wait", pipe.display()));
        let mut command = user.command(&["snapshot", "orders", "--", "bash", &server.to_string_lossy()]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut alive = BufReader::new(File::open(&pipe).expect("the server opens the pipe"));
        let mut line = String::new();
        alive.read_line(&mut line).expect("the server is up");
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|s| s.success()), "{signal} is sent");
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(COULD_NOT_RUN), "{signal}: {stderr}");
        assert!(stderr.contains("interrupted before it was done"), "{signal}: {stderr}");
        assert_eq!(alive.read_to_string(&mut line).expect("nobody holds the pipe any more"), 0);
    }
}

#[test]
fn secrets_of_a_command_stand_in_no_log() {
    let user = User::new();
    let server = user.file("server.sh", script(&answers(&format!(r#"{{"tools":{ONE_TOOL}}}"#))));
    let server = server.to_string_lossy().into_owned();
    let secret = ["--api-key", "hidden-1", "TOKEN=hidden-2", "postgres://u:hidden-3@db/x"];
    let command: Vec<&str> = ["--", "bash", &server].into_iter().chain(secret).collect();
    user.file("baseline.json", ONE_TOOL);
    for args in [
        [&["snapshot", "orders"], &command[..]].concat(),
        [&["gate", "--baseline", "baseline.json"], &command[..]].concat(),
        vec!["log", "--format", "json"],
        vec!["status"],
    ] {
        let ended = user.run(&args).code(PASSED);
        assert!(
            !format!("{}{}", ended.stdout, ended.stderr).contains("hidden"),
            "{args:?}: {}",
            ended.stdout
        );
    }
    for file in std::fs::read_dir(user.home().join(".local/share/toolpact")).expect("there") {
        let path = file.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("it can be read");
        assert!(!bytes.windows(6).any(|bytes| bytes == b"hidden"), "in {}", path.display());
    }
}

#[test]
fn a_header_that_cannot_be_sent_is_refused_before_anything_is_recorded() {
    let user = User::new();
    for header in ["Host=hidden", "a b=hidden", "Mcp-Session-Id: hidden"] {
        let ended = user.run(&["snapshot", "orders", "--url", "http://127.0.0.1:1/mcp", "--header", header]);
        let ended = ended.code(INVALID);
        assert!(ended.stderr.contains("cannot be sent: "), "{}", ended.stderr);
        assert!(!ended.stderr.contains("hidden"), "{}", ended.stderr);
    }
    user.run(&["status"]).code(COULD_NOT_RUN);
}

#[test]
fn a_url_without_a_host_is_refused_before_anything_is_recorded() {
    let user = User::new();
    for url in ["example.com/mcp", "ftp://example.com", "https://"] {
        let ended = user.run(&["snapshot", "orders", "--url", url]).code(INVALID);
        assert!(ended.stderr.contains("https://example.com/mcp"), "{}", ended.stderr);
    }
    user.run(&["status"]).code(COULD_NOT_RUN);
}

#[test]
fn a_file_that_is_no_list_is_refused_by_every_command_alike() {
    let user = User::new();
    user.file("odd.json", r#"[{"name":"a"}]"#);
    let ended = user.run(&["snapshot", "orders", "--file", "odd.json"]).code(INVALID);
    assert!(ended.stderr.contains("tool `a` has no `inputSchema`"), "{}", ended.stderr);
    user.run(&["gate", "--baseline", "odd.json", "--file", "odd.json"]).code(INVALID);
    user.run(&["status"]).code(COULD_NOT_RUN);
}

#[test]
fn tools_of_a_snapshot_are_a_baseline_elsewhere() {
    let user = User::new();
    let list = recorded("orders-1.json");
    user.run(&["snapshot", "orders", "--file", &list]).code(PASSED);
    let saved = user.run(&["tools", "orders@latest"]).code(PASSED).stdout;
    let ci = User::new();
    ci.file("baseline.json", &saved);
    let ended = ci.run(&["gate", "--baseline", "baseline.json", "--file", &list]).code(PASSED);
    assert_eq!(ended.stdout, "gate: passed; nothing changed (3 tools)\n");
    user.run(&["tools", "orders"]).code(INVALID);
}

#[test]
fn a_gate_tells_what_a_server_prints_beside_its_answers() {
    let user = User::new();
    user.file("baseline.json", ONE_TOOL);
    let talks = format!("echo listing the tools; {}", answers(&format!(r#"{{"tools":{ONE_TOOL}}}"#)));
    let path = user.file("server.sh", script(&talks));
    let args = ["gate", "--baseline", "baseline.json", "--", "bash", &path.to_string_lossy()];
    let ended = user.run(&args).code(PASSED);
    for part in ["left the protocol", "a line on stdout is no JSON-RPC", "listing the tools"] {
        assert!(ended.stdout.contains(part), "no {part:?} in {}", ended.stdout);
    }
    assert!(ended.stdout.trim_end().lines().last().is_some_and(|l| l.starts_with("gate: passed")));
}

#[test]
fn a_tool_named_twice_blocks_every_gate() {
    let twice =
        r#"[{"name":"a","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]"#;
    let user = User::new();
    user.file("baseline.json", ONE_TOOL);
    user.file("candidate.json", twice);
    let ended = user
        .run(&["gate", "--baseline", "baseline.json", "--file", "candidate.json", "--fail-on", "none"])
        .code(BLOCKED);
    assert!(ended.stdout.contains("`a`"), "{}", ended.stdout);
}

/// A server that cannot be listed: exit 3, evidence, and nothing stored but the failure.
#[track_caller]
fn failed_listing(list: &str, outcome: &str, parts: &[&str]) {
    let user = User::new();
    let ended = snapshot(&user, &script(list)).code(COULD_NOT_RUN);
    assert_eq!(ended.stdout, "");
    let failed = format!("error: server `orders` could not be listed ({outcome}): ");
    for part in [failed.as_str(), "help: "].iter().chain(parts) {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
    let status = user.run(&["status"]).code(PASSED);
    assert!(status.stdout.contains(outcome) && status.stdout.contains("never listed"), "{}", status.stdout);
    user.run(&["diff", "orders@latest", "orders@latest"]).code(INVALID);

    // The gate does not read it as "tools removed" either.
    user.file("baseline.json", ONE_TOOL);
    let path = user.home().join("server.sh");
    let gate = user.run(&["gate", "--baseline", "baseline.json", "--", "bash", &path.to_string_lossy()]);
    let gate = gate.code(COULD_NOT_RUN);
    assert_eq!(gate.stdout, "");
    assert!(gate.stderr.contains(&format!("({outcome})")), "{}", gate.stderr);
}

#[test]
fn a_server_that_dies_half_way_is_no_list() {
    let list = format!(
        r#"if [[ $line == *cursor* ]]; then echo "database gone" >&2; exit 7; fi; {}"#,
        answers(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"2"}"#)
    );
    failed_listing(&list, "partial", &["database gone", "7"]);
}

#[test]
fn a_server_that_answers_no_tools_list_is_malformed() {
    failed_listing(&answers(r#"{"resources":[]}"#), "malformed", &[]);
}

#[test]
fn a_server_that_answers_an_error_says_which() {
    let list =
        r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"out of order"}}\n' "$id""#;
    failed_listing(list, "error", &["out of order"]);
}

#[test]
fn a_line_of_20_megabytes_is_too_large() {
    failed_listing("head -c 20000000 /dev/zero | tr '\\0' 'x'; echo", "too_large", &[]);
}

#[test]
fn a_cursor_without_end_is_too_large() {
    let list = r#"n=$((n + 1)); printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"nextCursor":"%s"}}\n' "$id" "$n""#;
    failed_listing(list, "too_large", &["pages"]);
}

#[test]
fn a_command_that_does_not_exist_could_not_run() {
    let user = User::new();
    let ended = user.run(&["snapshot", "orders", "--", "./no-such-server"]).code(COULD_NOT_RUN);
    assert!(ended.stderr.contains("no-such-server"), "{}", ended.stderr);
    user.file("baseline.json", ONE_TOOL);
    let ended = user.run(&["gate", "--baseline", "baseline.json", "--", "./no-such-server"]);
    assert!(ended.code(COULD_NOT_RUN).stderr.contains("no-such-server"));
}

#[test]
fn a_url_where_nobody_listens_could_not_run() {
    let user = User::new();
    user.file("baseline.json", ONE_TOOL);
    // Bound and dropped: free, and nobody's for now.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("loopback").port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let ended = user
        .run(&[
            "gate",
            "--baseline",
            "baseline.json",
            "--url",
            &url,
            "--header",
            "Authorization=Bearer hidden",
        ])
        .code(COULD_NOT_RUN);
    assert!(ended.stderr.contains(&url) && !ended.stderr.contains("hidden"), "{}", ended.stderr);
}

#[test]
fn usage_that_makes_no_sense_is_invalid() {
    let user = User::new();
    for args in [
        &["snapshot", "orders"] as &[&str],
        &["snapshot", "no name", "--file", "x.json"],
        &["snapshot", "orders", "--file", "x.json", "--", "server"],
        &["snapshot", "orders", "--header", "a=b", "--", "server"],
        &["gate", "--baseline", "x.json"],
        &["promote", "production", "2026.1.1", "--reason", "x"],
        &["promote", "production", "2026.11.30"],
        &["approve", "orders", "three", "--reason", "x"],
        &["serve", "--listen", "0.0.0.0:0"],
        &["serve", "--listen", "nowhere"],
        &["explain", "no-such-rule"],
        &["demo-server", "--release", "4"],
        &["no-such-command"],
        &[],
    ] {
        let ended = user.run(args).code(INVALID);
        assert_eq!(ended.stdout, "", "{args:?}");
        assert!(!ended.stderr.is_empty(), "{args:?}");
    }
    assert!(!user.home().join(".local").exists(), "a refused command made a database");
}

#[test]
fn a_database_that_is_not_there_is_no_empty_answer() {
    let user = User::new();
    for command in
        [&["status"] as &[&str], &["log"], &["drafts"], &["audit", "verify"], &["export", "orders"]]
    {
        let ended = user.run(command).code(COULD_NOT_RUN);
        assert!(ended.stderr.contains("there is no database at `HOME/.local/share/toolpact/toolpact.db`"));
    }
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let user = User::new();
    let path =
        user.file("notes.txt", "not a database, and long enough to be read as the header of one: 0123456789");
    let before = std::fs::read(&path).expect("it was written");
    user.run(&["status", "--database", "notes.txt"]).code(COULD_NOT_RUN);
    assert_eq!(std::fs::read(&path).expect("it is there"), before);
}

#[test]
fn the_log_knows_who_acted() {
    let user = User::new();
    user.file("list.json", ONE_TOOL);
    let acts = |args: &[&str], variables: &[(&str, &str)]| {
        let snapshot = ["snapshot", "orders", "--file", "list.json"];
        let output = user
            .command(&[&snapshot, args].concat())
            .env_remove("USER")
            .envs(variables.iter().copied())
            .output();
        assert_eq!(output.expect("it starts").status.code(), Some(PASSED));
        let log = user.run(&["log", "--limit", "1"]).code(PASSED).stdout;
        let (_, by) = log.split_once(" by ").expect("it says who");
        by.split_once(": ").expect("and what").0.to_owned()
    };
    let all = [("TOOLPACT_ACTOR", "ci"), ("USER", "ann")];
    assert_eq!(acts(&["--actor", "bob"], &all), "bob");
    assert_eq!(acts(&[], &all), "ci");
    assert_eq!(acts(&[], &all[1..]), "ann");
    assert_ne!(acts(&[], &[]), "", "the account has a name");
}
