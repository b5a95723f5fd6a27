//! A lockfile in a repository: written, compared with, accepted; and every way in which it can be wrong.

use std::fs;

use serde_json::{Value, json};

use super::{BLOCKED, COULD_NOT_RUN, INVALID, PASSED, recorded};
use crate::command::{User, answers, script};

/// The demo server of this release, as a command.
fn demo(release: &str) -> [&str; 5] {
    ["--", env!("CARGO_BIN_EXE_toolpact"), "demo-server", "--release", release]
}

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

/// A repository with the first release of the recorded server locked.
fn locked() -> User {
    let user = User::new();
    user.run(&["lock", "--server", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
    user
}

fn lockfile(user: &User) -> String {
    fs::read_to_string(user.home().join("toolpact.lock")).expect("it was written")
}

#[test]
fn a_server_is_locked_once_and_the_gate_alone_finds_it_again() {
    let user = User::new();
    let ended = user.run(&with(&["lock"], &demo("1"))).code(PASSED);
    assert_eq!(ended.stdout, "locked: 8 tools of `orders` in toolpact.lock\n");
    let first = lockfile(&user);
    // Neither a database nor another word is needed.
    let ended = user.run(&["gate"]).code(PASSED);
    assert_eq!(
        (ended.stdout.as_str(), ended.stderr.as_str()),
        ("gate: passed; nothing changed (8 tools)\n", "")
    );
    assert_eq!(user.run(&["gate", "--quiet"]).code(PASSED).stdout, "");
    let ended = user.run(&["lock"]).code(PASSED);
    assert_eq!(ended.stdout, "unchanged: 8 tools of `orders`\n");
    assert_eq!(lockfile(&user), first);
    assert!(!user.home().join(".local").exists(), "a database was made");
}

#[test]
fn what_changed_is_compared_and_then_accepted() {
    let user = locked();
    let before = lockfile(&user);
    let candidate = recorded("orders-3-breaking.json");
    let ended = user.run(&["gate", "--file", &candidate]).code(BLOCKED);
    let last = ended.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("gate: blocked by "), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("`toolpact lock --update` takes it into toolpact.lock"),
        "{}",
        ended.stdout
    );
    // Told in one line to who asks for it.
    let quiet = user.run(&["gate", "--quiet", "--file", &candidate]).code(BLOCKED);
    assert_eq!(quiet.stdout, format!("{last}\n"));

    let ended = user.run(&["lock", "--server", "orders", "--file", &candidate]).code(BLOCKED);
    assert!(ended.stdout.contains("toolpact.lock is as it was"), "{}", ended.stdout);
    assert_eq!(lockfile(&user), before);
    user.run(&["lock", "--update", "--server", "orders", "--file", &candidate]).code(PASSED);
    user.run(&["gate", "--file", &candidate]).code(PASSED);
    // And back: the same tools are the same text, whatever was between.
    user.run(&["lock", "--update", "--server", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
    assert_eq!(lockfile(&user), before);
}

#[test]
fn the_order_in_which_a_server_lists_and_writes_is_not_in_the_lockfile() {
    let user = User::new();
    let list = |tools: Value| json!({ "tools": tools }).to_string();
    let a = json!({"name": "a", "description": "é \u{202e}", "inputSchema": {"type": "object", "required": ["x"]}});
    let again = json!({"inputSchema": {"required": ["x"], "type": "object"}, "description": "é \u{202e}", "name": "a"});
    let b = json!({"name": "b", "inputSchema": {"properties": {"n": {"maximum": 1}}}});
    user.file("one.json", list(json!([a, b])));
    user.file("two.json", list(json!([b, again])).replace("é", "\\u00e9"));
    user.run(&["lock", "--server", "s", "--file", "one.json"]).code(PASSED);
    let first = lockfile(&user);
    user.run(&["lock", "--server", "s", "--update", "--file", "two.json"]).code(PASSED);
    assert_eq!(lockfile(&user), first);
    // What does not show in an editor is shown by its code.
    assert!(first.contains("\"é \\u202e\"") && !first.contains('\u{202e}'), "{first}");
    assert_eq!(first.matches("\ntool ").count(), 2);
}

#[test]
fn a_number_is_locked_as_the_server_wrote_it() {
    let user = User::new();
    let list =
        |n: &str| format!(r#"[{{"name":"a","inputSchema":{{"properties":{{"n":{{"const":{n}}}}}}}}}]"#);
    user.file("one.json", list("9007199254740993"));
    user.file("two.json", list("9007199254740992"));
    user.run(&["lock", "--server", "s", "--file", "one.json"]).code(PASSED);
    assert!(lockfile(&user).contains("\"const\": 9007199254740993"));
    user.run(&["gate", "--file", "one.json"]).code(PASSED);
    user.run(&["gate", "--file", "two.json"]).code(BLOCKED);
}

#[test]
fn several_servers_are_found_in_the_file_of_a_host() {
    let user = User::new();
    let server = |release: &str| json!({"command": env!("CARGO_BIN_EXE_toolpact"), "args": ["demo-server", "--release", release]});
    let servers =
        |second: &str| json!({"mcpServers": {"one": server("1"), "two": server(second)}}).to_string();
    user.file(".mcp.json", servers("1"));
    let ended = user.run(&["lock"]).code(PASSED);
    assert_eq!(
        ended.stdout,
        "locked: 8 tools of `one` in toolpact.lock\nlocked: 8 tools of `two` in toolpact.lock\n"
    );
    // Where they are found stands in that file, and in it alone.
    assert!(!lockfile(&user).contains("\nsource"));
    user.run(&["gate"]).code(PASSED);
    user.file(".mcp.json", servers("3"));
    let ended = user.run(&["gate"]).code(BLOCKED);
    assert!(ended.stdout.contains("on server `two`") && !ended.stdout.contains("on server `one`"));
    user.run(&["gate", "--server", "one"]).code(PASSED);

    // One that nobody locked, and one that is gone.
    user.file(".mcp.json", json!({"mcpServers": {"one": server("1"), "three": server("1")}}).to_string());
    let ended = user.run(&["gate"]).code(INVALID);
    assert_eq!(
        ended.stderr,
        "error: server `three` of `.mcp.json` is not in `toolpact.lock`, which has `one`, `two`\n\
         help: put it there with `toolpact lock`, or say with `--server NAME` which one it is\n"
    );
    let ended = user.run(&["lock"]).code(BLOCKED);
    assert!(ended.stdout.contains("nothing here names `two`"), "{}", ended.stdout);
    user.run(&["lock", "--update"]).code(PASSED);
    user.run(&["gate"]).code(PASSED);
}

#[test]
fn one_server_that_is_down_keeps_the_gate_from_passing() {
    let user = User::new();
    let good = json!({"command": env!("CARGO_BIN_EXE_toolpact"), "args": ["demo-server", "--release", "1"]});
    let worse = json!({"command": env!("CARGO_BIN_EXE_toolpact"), "args": ["demo-server", "--release", "3"]});
    user.file(".mcp.json", json!({"mcpServers": {"good": good, "mail": good}}).to_string());
    user.run(&["lock"]).code(PASSED);
    let down = json!({"command": "no-such-program"});
    user.file(".mcp.json", json!({"mcpServers": {"good": good, "mail": down}}).to_string());
    let ended = user.run(&["gate"]).code(COULD_NOT_RUN);
    assert!(ended.stdout.starts_with("error: server `mail` could not be listed"), "{}", ended.stdout);
    let last = ended.stdout.lines().last().unwrap_or_default();
    assert_eq!(last, "gate: could not run for `mail`; nothing is known of what changed there");
    // Its tools do not read as removed.
    assert!(!ended.stdout.contains("tool-removed"), "{}", ended.stdout);
    // What is known to be broken is told all the same, and decides.
    user.file(".mcp.json", json!({"mcpServers": {"good": worse, "mail": down}}).to_string());
    let ended = user.run(&["gate"]).code(BLOCKED);
    assert!(
        ended.stdout.contains("`mail` could not be listed") && ended.stdout.contains("gate: blocked by ")
    );
    // Half a lockfile is not written.
    let before = lockfile(&user);
    let ended = user.run(&["lock", "--update"]).code(COULD_NOT_RUN);
    assert!(ended.stderr.contains("nothing was locked"), "{}", ended.stderr);
    assert_eq!(lockfile(&user), before);
}

/// What was done to a good lockfile, and what is said then.
fn wrong(change: impl Fn(String) -> String, said: &str, help: &str) {
    let user = locked();
    user.file("toolpact.lock", change(lockfile(&user)));
    let ended = user.run(&["gate", "--file", &recorded("orders-1.json")]).code(INVALID);
    assert!(ended.stderr.contains(said), "no `{said}` in\n{}", ended.stderr);
    assert!(ended.stderr.contains(help), "no `{help}` in\n{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_lockfile_that_is_wrong_is_an_error_with_its_line_and_the_next_step() {
    let update = "`toolpact lock --update`";
    wrong(
        |lock| lock.replace("format 1", "format 2"),
        "toolpact.lock:3: it has format 2, and this",
        "update toolpact",
    );
    wrong(
        |lock| lock.replacen("\ntool ", "\n<<<<<<< ours\ntool ", 1),
        "holds the marks of a merge conflict",
        "take either side",
    );
    wrong(
        |lock| lock.replacen("\"type\": \"string\"", "\"type\": \"number\"", 1),
        "is not what its digest `raw` says",
        update,
    );
    wrong(
        |lock| {
            let at = lock.find("contract sha256:").expect("a digest") + "contract sha256:".len();
            let other = if lock.as_bytes()[at] == b'0' { "1" } else { "0" };
            format!("{}{other}{}", &lock[..at], &lock[at + 1..])
        },
        "is not what its digest `contract` says",
        update,
    );
    wrong(
        |lock| {
            let block = &lock[lock.find("\ntool ").expect("a tool")..];
            let block = block[..block.find("\n}\n").expect("its end") + 3].to_owned();
            lock + &block
        },
        "stands here twice",
        update,
    );
    wrong(|lock| lock.replacen("digests tp1", "digests tp0", 1), "made under policy `tp0`", update);
    wrong(|_| "{}".to_owned(), "toolpact.lock:1: it is no lockfile", "as it was committed");
    wrong(|lock| lock[..lock.len() - 5].to_owned(), "the file ends inside of a tool", "as it was committed");
    wrong(
        |lock| lock.replacen("\nraw ", "\nrwa ", 1),
        "is nothing that a tool has here",
        "as it was committed",
    );
}

#[test]
fn a_missing_lockfile_is_told_with_how_to_write_it() {
    let user = User::new();
    for args in [&["gate"][..], &["gate", "--file", "tools.json"]] {
        let ended = user.run(args).code(INVALID);
        assert_eq!(
            ended.stderr,
            "error: there is no lockfile `toolpact.lock` to compare with\n\
             help: write it with `toolpact lock -- COMMAND` and commit it, or name what callers rely on with \
             `--baseline FILE-or-REF`\n"
        );
    }
    let ended = user.run(&["lock"]).code(INVALID);
    assert!(ended.stderr.contains("nothing here says where the server is"), "{}", ended.stderr);
}

#[test]
fn a_server_that_prints_to_stdout_is_told_and_never_read_as_tools_that_are_gone() {
    let user = locked();
    // Between the lines of the protocol: the listing is good, and who prints is told.
    user.file(
        "noisy.sh",
        format!("echo starting up\n{}", script(&answers(r#"{"tools":[{"name":"a","inputSchema":{}}]}"#))),
    );
    user.run(&["lock", "--lockfile", "noisy.lock", "--", "bash", "noisy.sh"]).code(PASSED);
    let ended = user.run(&["gate", "--lockfile", "noisy.lock", "--", "bash", "noisy.sh"]).code(PASSED);
    assert!(
        ended.stdout.contains("left the protocol") && ended.stdout.contains("starting up"),
        "{}",
        ended.stdout
    );
    // Nothing but prints.
    let ended = user
        .run(&["gate", "--", "bash", "-c", "echo hello; read -r line; echo $line is what"])
        .code(COULD_NOT_RUN);
    assert!(ended.stderr.contains("could not be listed"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hello"), "{}", ended.stderr);
}

#[test]
fn a_list_that_names_a_tool_twice_is_not_locked() {
    let user = User::new();
    user.file(
        "twice.json",
        r#"[{"name":"a","inputSchema":{}},{"name":"a","inputSchema":{"type":"object"}}]"#,
    );
    let ended = user.run(&["lock", "--server", "s", "--file", "twice.json"]).code(INVALID);
    assert!(ended.stderr.contains("tool `a` is listed twice"), "{}", ended.stderr);
    assert!(!user.home().join("toolpact.lock").exists());
}

#[test]
fn a_secret_of_a_command_is_not_in_the_lockfile() {
    let user = User::new();
    user.file("server.sh", script(&answers(r#"{"tools":[{"name":"a","inputSchema":{}}]}"#)));
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let ended = user.run(&["lock", "--", "bash", "server.sh", "--token", secret]).code(PASSED);
    assert!(
        ended.stdout.contains("note: how it is found is not kept, for a secret stands in it"),
        "{}",
        ended.stdout
    );
    assert!(!lockfile(&user).contains("ghp_"));
}

#[test]
fn a_lockfile_of_another_branch_comes_through_stdin() {
    let user = locked();
    let of_main = lockfile(&user);
    let candidate = recorded("orders-3-breaking.json");
    // The branch took its own break into the lockfile: main's still has what callers rely on.
    user.run(&["lock", "--update", "--server", "orders", "--file", &candidate]).code(PASSED);
    user.run(&["gate", "--file", &candidate]).code(PASSED);
    user.run_with_stdin(&["gate", "--lockfile", "-", "--file", &candidate], &of_main).code(BLOCKED);
    user.run_with_stdin(&["gate", "--lockfile", "-", "--file", "-"], &of_main).code(INVALID);
}

#[test]
fn git_merges_changes_of_different_tools() {
    let user = User::new();
    let tools = |second: &str, fourth: &str| {
        let tool = |name: &str, more: &str| json!({"name": name, "description": more, "inputSchema": {"type": "object"}});
        json!([tool("a", ""), tool("b", second), tool("c", ""), tool("d", fourth)]).to_string()
    };
    let lock = |second: &str, fourth: &str| {
        user.file("tools.json", tools(second, fourth));
        user.run(&["lock", "--update", "--server", "s", "--file", "tools.json"]).code(PASSED);
        lockfile(&user)
    };
    let (base, ours, theirs) = (lock("1", "1"), lock("2", "1"), lock("1", "2"));
    let merged = lock("2", "2");
    for (name, text) in [("base", &base), ("ours", &ours), ("theirs", &theirs)] {
        user.file(name, text);
    }
    let git = std::process::Command::new("git")
        .args(["merge-file", "-p", "ours", "base", "theirs"])
        .current_dir(user.home())
        .output()
        .expect("git is there");
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stdout));
    assert_eq!(String::from_utf8_lossy(&git.stdout), merged);
}
