//! The command line as its users meet it: exit codes, stdout and stderr; every kind of bad input; and the whole story.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
};

use crate::command::{Ended, User, answers, script};

const PASSED: i32 = 0;
const BLOCKED: i32 = 1;
const INVALID: i32 = 2;
const COULD_NOT_RUN: i32 = 3;

/// A recorded list of tests/servers.
fn recorded(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers").join(name).to_string_lossy().into_owned()
}

/// Runs a diff of two texts.
fn diff(user: &User, baseline: &str, candidate: &str) -> Ended {
    user.file("baseline.json", baseline);
    user.file("candidate.json", candidate);
    user.run(&["diff", "baseline.json", "candidate.json"])
}

/// Asks a server that is this shell script for its tools.
fn snapshot(user: &User, shell: &str) -> Ended {
    let path = user.file("server.sh", shell);
    user.run(&["snapshot", "orders", "--", "bash", &path.to_string_lossy()])
}

// -- diff and gate of files ----------------------------------------------------------------------------------------

#[test]
fn a_list_against_itself_passes_in_silence() {
    let user = User::new();
    let same = recorded("orders-1.json");
    let ended = user.run(&["gate", "--baseline", &same, "--file", &same]).code(PASSED);
    assert!(ended.stdout.starts_with("compatible: nothing changed; 0 of 3 tools differ"), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_compatible_release_passes_the_gate() {
    let user = User::new();
    let ended = user
        .run(&[
            "gate",
            "--baseline",
            &recorded("orders-1.json"),
            "--file",
            &recorded("orders-2-compatible.json"),
        ])
        .code(PASSED);
    assert!(ended.stdout.contains("gate: passed"), "{}", ended.stdout);
}

#[test]
fn a_breaking_release_is_blocked_and_the_last_line_names_the_rule() {
    let user = User::new();
    let (baseline, candidate) = (recorded("orders-1.json"), recorded("orders-3-breaking.json"));
    let ended = user.run(&["gate", "--baseline", &baseline, "--file", &candidate]).code(BLOCKED);
    let last = ended.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("gate: blocked by "), "{}", ended.stdout);
    for part in ["breaking: tool `find_orders`", r#"{"state":"all"}"#, "tool `ping`", "`reason`", "help: "] {
        assert!(ended.stdout.contains(part), "no {part} in\n{}", ended.stdout);
    }
}

#[test]
fn a_diff_shows_and_never_blocks() {
    let user = User::new();
    user.run(&["diff", &recorded("orders-1.json"), &recorded("orders-3-breaking.json")]).code(PASSED);
}

#[test]
fn what_blocks_is_the_callers_choice() {
    let user = User::new();
    let (baseline, candidate) = (recorded("orders-1.json"), recorded("orders-3-breaking.json"));
    let gate =
        |levels| user.run(&["gate", "--baseline", &baseline, "--file", &candidate, "--fail-on", levels]);
    gate("none").code(PASSED);
    gate("breaking").code(BLOCKED);
    gate("breaking,risky,undecided").code(BLOCKED);
    gate("compatible").code(INVALID);
}

#[test]
fn json_has_the_words_of_the_text() {
    let user = User::new();
    let (baseline, candidate) = (recorded("orders-1.json"), recorded("orders-3-breaking.json"));
    let ended =
        user.run(&["gate", "--baseline", &baseline, "--file", &candidate, "--format", "json"]).code(BLOCKED);
    let answer: serde_json::Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
    assert_eq!(answer["passed"], false);
    assert_eq!(answer["verdict"], "breaking");
    assert_eq!(answer["assumption"], "declared");
    assert_eq!(answer["requiredBump"], "major");
    assert_eq!(answer["policy"]["failOn"], serde_json::json!(["breaking", "undecided"]));
    assert!(answer["blockedBy"]["rule"].is_string());
    let finding = &answer["tools"][0]["findings"][0];
    for key in ["rule", "level", "surface", "pointer", "message", "fingerprint"] {
        assert!(finding.get(key).is_some(), "no {key} in {finding}");
    }
}

#[test]
fn a_side_may_come_from_stdin() {
    let user = User::new();
    let list = std::fs::read_to_string(recorded("orders-1.json")).expect("it is recorded");
    let ended = user.run_with_stdin(&["diff", "-", &recorded("orders-1.json")], &list).code(PASSED);
    assert!(ended.stdout.contains("nothing changed"));
    user.run_with_stdin(&["diff", "-", "-"], &list).code(INVALID);
}

#[test]
fn a_reader_that_stops_is_no_failure() {
    let user = User::new();
    let mut child = user
        .command(&["diff", &recorded("orders-1.json"), &recorded("orders-3-breaking.json")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(PASSED));
    assert!(output.stderr.is_empty());
}

#[test]
fn what_a_server_wrote_cannot_reach_the_terminal_as_a_command() {
    let user = User::new();
    let tool =
        |name: &str| format!(r#"[{{"name":"{name}","description":"x","inputSchema":{{"type":"object"}}}}]"#);
    let ended = diff(&user, &tool("a\\u001b[2J\\u202e"), &tool("b")).code(PASSED);
    assert!(ended.stdout.contains("a\\u{1b}[2J\\u{202e}"), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'));
}

// -- bad input -----------------------------------------------------------------------------------------------------

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
    assert!(ended.stdout.starts_with("compatible: nothing changed; 0 of 3 tools differ"), "{}", ended.stdout);
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

// -- the story -----------------------------------------------------------------------------------------------------

/// Asks the demo server's release for its tools.
fn demo<'a>(command: &[&'a str], release: &'a str) -> Vec<&'a str> {
    let mut args = command.to_vec();
    args.extend(["--", env!("CARGO_BIN_EXE_toolpact"), "demo-server", "--release", release]);
    args
}

/// The catalogVersion that stands in a text.
fn version_in(text: &str) -> String {
    let at = text.find("orders@").expect("it names a version") + "orders@".len();
    text[at..].chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect()
}

/// A user with release 1 of the demo server live in production; and its version.
fn live() -> (User, String) {
    let user = User::new();
    user.run(&demo(&["snapshot", "shop"], "1")).code(PASSED);
    user.run(&["draft", "orders", "--server", "shop"]).code(PASSED);
    let approved = user.run(&["approve", "orders", "d-1", "--reason", "first"]).code(PASSED);
    let version = version_in(&approved.stdout);
    user.run(&["promote", "production", &version, "--reason", "first"]).code(PASSED);
    (user, version)
}

#[test]
fn from_a_server_to_production_and_back() {
    let (user, first) = live();
    user.run(&demo(&["gate", "--baseline", "production"], "1")).code(PASSED);

    // The breaking release: the gate stops it, the snapshot makes a draft, and only an explicit word approves it.
    let blocked = user.run(&demo(&["gate", "--baseline", "production"], BREAKING)).code(BLOCKED);
    assert!(blocked.stdout.contains("witness"), "{}", blocked.stdout);
    let drift = user.run(&demo(&["snapshot", "shop"], BREAKING)).code(PASSED);
    assert!(drift.stdout.contains("drift: ") && drift.stdout.contains("draft d-2"), "{}", drift.stdout);
    let shown = user.run(&["show", "orders", "d-2"]).code(PASSED);
    assert!(shown.stdout.contains("breaking"), "{}", shown.stdout);
    user.run(&["approve", "orders", "d-2", "--reason", "no"]).code(BLOCKED);
    let approved = user
        .run(&["approve", "orders", "d-2", "--reason", "callers moved", "--accept-breaking"])
        .code(PASSED);
    let second = version_in(&approved.stdout);
    assert_ne!(first, second);
    let moved = user.run(&["promote", "production", &second, "--reason", "callers moved"]).code(PASSED);
    assert!(moved.stdout.contains("generation 2 (was generation 1, made by ann"), "{}", moved.stdout);

    // And back, with one command; the version that was left is held until somebody releases it.
    let back = user.run(&["rollback", "production", &first, "--reason", "errors rise"]).code(PASSED);
    assert!(back.stdout.contains(&format!("{second} is held")), "{}", back.stdout);
    let held = user.run(&["promote", "production", &second, "--reason", "again"]).code(BLOCKED);
    assert!(held.stderr.contains("held"), "{}", held.stderr);
    user.run(&["release", "production", "--reason", "repaired"]).code(PASSED);
    user.run(&["promote", "production", &second, "--reason", "again"]).code(PASSED);

    // A name that was never used makes an environment, and one that is near another says so.
    let slip = user.run(&["promote", "prodution", &first, "--reason", "slip"]).code(PASSED);
    assert!(slip.stdout.contains("nothing was live before; did you mean `production`?"), "{}", slip.stdout);
    let lost = user.run(&["rollback", "productoin", &first, "--reason", "slip"]).code(INVALID);
    assert!(lost.stderr.contains("did you mean `production`?"), "{}", lost.stderr);

    let verified = user.run(&["audit", "verify"]).code(PASSED);
    assert!(verified.stdout.contains("the chain holds"), "{}", verified.stdout);
    let log = user.run(&["log"]).code(PASSED);
    for kind in ["snapshot.recorded", "draft.approved", "environment.promoted", "environment.rolled-back"] {
        assert!(log.stdout.contains(kind), "no {kind} in\n{}", log.stdout);
    }
    let rolled_back = log.stdout.lines().find(|l| l.contains("environment.rolled-back")).expect("it was");
    for part in [&format!("from {second}, to {first}"), "generation 3", "reason errors rise"] {
        assert!(rolled_back.contains(part), "no {part:?} in {rolled_back}");
    }
}

/// The release of the demo server that breaks callers.
const BREAKING: &str = "3";

#[test]
fn an_export_applies_elsewhere() {
    let (user, version) = live();
    let document = user.run(&["export", &format!("orders@{version}")]).code(PASSED).stdout;
    let other = User::new();
    other.file("orders.yaml", &document);
    let applied = other.run(&["apply", "orders.yaml"]).code(PASSED);
    assert!(applied.stdout.contains(&version), "{}", applied.stdout);
    assert_eq!(other.run(&["export", "orders"]).code(PASSED).stdout, document);
}

#[test]
fn what_is_unknown_is_named() {
    let (user, version) = live();
    for (args, part) in [
        (&["draft", "nothing"] as &[&str], "`nothing`"),
        (&["export", "nothing"], "`nothing`"),
        (&["export", "orders@2001.01.01"], "2001.01.01"),
        (&["show", "orders", "d-99"], "d-99"),
        (&["approve", "nothing", "d-1", "--reason", "x"], "`nothing`"),
        (&["promote", "production", "2001.01.01", "--reason", "x"], "2001.01.01"),
        (&["promote", "production", &version, "--catalog", "nothing", "--reason", "x"], "`nothing`"),
        (&["diff", "staging", "production"], "staging"),
    ] {
        let ended = user.run(args).code(INVALID);
        assert!(ended.stderr.contains(part), "no {part} in {}", ended.stderr);
    }
}

#[test]
fn a_stale_generation_moves_nothing() {
    let (user, version) = live();
    let stale =
        user.run(&["rollback", "production", &version, "--generation", "7", "--reason", "x"]).code(BLOCKED);
    assert!(stale.stderr.contains('7') && stale.stderr.contains('1'), "{}", stale.stderr);
    assert!(stale.stderr.contains("help: "), "{}", stale.stderr);
    assert!(user.run(&["status"]).stdout.contains("generation 1"));
}

#[test]
fn a_rollback_to_what_was_never_live_moves_nothing() {
    let (user, _) = live();
    user.run(&demo(&["snapshot", "shop"], BREAKING)).code(PASSED);
    let approved = user.run(&["approve", "orders", "d-2", "--reason", "x", "--accept-breaking"]).code(PASSED);
    let never = version_in(&approved.stdout);
    let ended = user.run(&["rollback", "production", &never, "--reason", "x"]).code(BLOCKED);
    assert!(ended.stderr.contains(&never) && ended.stderr.contains("never"), "{}", ended.stderr);
    assert!(user.run(&["status"]).stdout.contains("generation 1"));
}

#[test]
fn one_server_of_several_is_gated_by_its_name() {
    let user = User::new();
    user.run(&demo(&["snapshot", "shop"], "1")).code(PASSED);
    user.run(&["snapshot", "other", "--file", &recorded("orders-1.json")]).code(PASSED);
    user.run(&["draft", "orders", "--server", "shop", "--server", "other"]).code(PASSED);
    let version = version_in(&user.run(&["approve", "orders", "d-1", "--reason", "x"]).code(PASSED).stdout);
    let baseline = format!("orders@{version}");
    let which = user.run(&demo(&["gate", "--baseline", &baseline], "1")).code(INVALID);
    assert!(which.stderr.contains("--server NAME") && which.stderr.contains("`other`"), "{}", which.stderr);
    user.run(&demo(&["gate", "--baseline", &baseline, "--server", "shop"], "1")).code(PASSED);
    user.run(&demo(&["gate", "--baseline", &baseline, "--server", "shop"], BREAKING)).code(BLOCKED);
}

// -- serve ---------------------------------------------------------------------------------------------------------

/// Gets a page the way a browser begins.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("it is plain HTTP");
    let (host, path) = rest.split_once('/').expect("it has a path");
    let mut stream = TcpStream::connect(host).expect("it listens");
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers text");
    answer
}

#[test]
fn the_demo_serves_a_review_and_leaves_nothing_behind() {
    let user = User::new();
    let mut child = user
        .command(&["serve", "--demo", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let first = lines.next().expect("it says where").expect("it is text");
    let url = first.strip_prefix("toolpact serves ").unwrap_or_else(|| panic!("no URL in {first}"));
    let page = get(url);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("breaking"), "{page}");
    let root: String = url.split('/').take(3).collect::<Vec<_>>().join("/") + "/";
    assert!(get(&root).starts_with("HTTP/1.1 200"));
    assert!(get(&format!("{root}api/v1/environments")).contains("application/json"));

    let killed = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(killed.expect("kill starts").success());
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(PASSED));
    let left: Vec<_> = std::fs::read_dir(user.home()).expect("it is there").collect();
    assert!(left.is_empty(), "the demo left {left:?}");
}

#[test]
fn a_port_that_is_taken_could_not_run() {
    let user = User::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = taken.local_addr().expect("it is bound").to_string();
    let ended = user.run(&["serve", "--listen", &address]).code(COULD_NOT_RUN);
    assert!(ended.stderr.contains(&address) && ended.stderr.contains("help: "), "{}", ended.stderr);
}

// -- the documents -------------------------------------------------------------------------------------------------

#[test]
fn the_five_minutes_of_the_readme_are_true() {
    let readme = include_str!("../../README.md");
    let block = readme.split("```sh\n").nth(1).and_then(|b| b.split("```").next()).expect("it has a story");
    // Every command ends as the text says: with 0, or as in `# exits 1`.
    let mut script = "toolpact() { \"$TOOLPACT\" \"$@\"; }\n".to_owned();
    for line in block.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
        let (command, expected) = line.split_once("# exits ").unwrap_or((line, "0"));
        script.push_str(&format!(
            "{command}\ncode=$?; [ $code = {expected} ] || {{ echo \"exit $code instead of {expected}: \"'{command}' >&2; exit 9; }}\n"
        ));
    }
    let user = User::new();
    let path = user.file("story.sh", script.replace("-- toolpact", "-- \"$TOOLPACT\""));
    let output = std::process::Command::new("bash")
        .arg(path)
        .env_clear()
        .envs([("PATH", std::env::var_os("PATH").unwrap_or_default())])
        .envs([("HOME", user.home().as_os_str()), ("USER", "ann".as_ref())])
        .env("TOOLPACT", env!("CARGO_BIN_EXE_toolpact"))
        .output()
        .expect("bash starts");
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_command_that_is_advised_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("templates")];
    let mut texts =
        vec![include_str!("../../README.md").to_owned(), include_str!("../../CONTRIBUTING.md").to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                texts.push(text);
            }
        }
    }
    let mut advised: Vec<&str> = texts
        .iter()
        .flat_map(|t| t.split("`toolpact ").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or_default())
        .filter(|word| !word.is_empty())
        .collect();
    advised.sort_unstable();
    advised.dedup();
    assert!(advised.len() > 5, "{advised:?}");
    let user = User::new();
    for command in advised {
        user.run(&[command, "--help"]).code(PASSED);
    }
}
