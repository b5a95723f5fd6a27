//! A server registered by hand: what is refused, what is kept as a reference, and that it can be asked.

use super::{BLOCKED, COULD_NOT_RUN, INVALID, PASSED};
use crate::command::{User, answers, script};

#[test]
fn what_cannot_be_registered_says_why_and_never_the_secret() {
    let user = User::new();
    user.run(&["servers", "add", "taken", "--", "x"]).code(PASSED);
    let secret = "ghp_0123456789abcdefghij";
    let (bearer, option) = (format!("Authorization=Bearer {secret}"), format!("--token={secret}"));
    let (env, url) = (format!("TOKEN={secret}"), format!("https://h/mcp?key={secret}"));
    for (args, code, part) in [
        (&["a"] as &[&str], INVALID, "--url <URL>"),
        (&["a", "--url", "https://h/mcp", "--", "x"], INVALID, "cannot be used with"),
        (&["a", "--header", "A=b", "--", "x"], INVALID, "cannot be used with"),
        (&["a", "--url", "https://h/mcp", "--env", "A=b"], INVALID, "cannot be used with"),
        (&["a", "--url", "https://h/mcp", "--cwd", "/"], INVALID, "cannot be used with"),
        (&["a", "--cwd", "folder", "--", "x"], INVALID, "expected an absolute path"),
        (&["a", "--url", "https://h/mcp", "--oauth-resource", "urn:h"], INVALID, "--oauth-client-id"),
        (&["a", "--interval", "0", "--", "x"], INVALID, "0 is not in 1.."),
        (&["a", "--env", "A", "--", "x"], INVALID, "expected KEY=VALUE"),
        (&["a b", "--", "x"], INVALID, "a b"),
        (&["a", "--", ""], INVALID, "the server's command is empty"),
        (&["a", "--url", "h/mcp"], INVALID, "`a` is not registered: `h/mcp` is no URL of an MCP server"),
        (
            &["a", "--url", "https://h/mcp", "--header", "Host=x"],
            INVALID,
            "`a` is not registered: the header `Host` cannot be sent",
        ),
        (
            &["a", "--url", "https://h/mcp", "--header", &bearer],
            INVALID,
            "`a` is not registered: `Authorization` of its `headers` holds a secret, which is not stored; set the \
             variable `A_AUTHORIZATION` to it",
        ),
        (&["a", "--url", &url], INVALID, "set the variable `A_KEY` to it"),
        (&["a", "--env", &env, "--", "x"], INVALID, "set the variable `A_TOKEN` to it"),
        (&["a", "--", "x", &option], INVALID, "set the variable `A_TOKEN` to it"),
        (&["a", "--env", "TOKEN=${T:-in-clear}", "--", "x"], INVALID, "had a default, which is not stored"),
        (
            &["a", "--env", "DB=postgres://ann:in-clear@h/d", "--", "x"],
            INVALID,
            "set the variable `A_DB` to it",
        ),
        (
            &["a", "--env", "H={\"Authorization\":\"Bearer in-clear\"}", "--", "x"],
            INVALID,
            "set the variable `A_H` to it",
        ),
        (
            &["a", "--url", "https://h/mcp", "--header", "X-Token=in-clear${HOME}"],
            INVALID,
            "variable `A_X_TOKEN` to it",
        ),
        (&["a", "--", "x", "Server=h;Password=in-clear;"], INVALID, "set the variable `A_SERVER` to it"),
        (&["taken", "--", "y"], BLOCKED, "`taken` is not registered: it is registered as `x`"),
    ] {
        let ended = user.run(&[&["servers", "add"], args].concat()).code(code);
        let stderr = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stderr.contains(part), "{args:?}: no {part:?} in\n{stderr}");
        assert!(!stderr.contains(secret) && !stderr.contains("in-clear"), "{args:?}: {stderr}");
    }
    let listed = user.run(&["servers"]).code(PASSED).stdout;
    assert_eq!(listed.lines().count(), 2, "nothing else is registered:\n{listed}");
}

#[test]
fn a_server_is_registered_asked_and_replaced() {
    let user = User::new();
    let list = answers(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#);
    let server = user.file("server.sh", format!("[ \"$TOKEN\" = s3cr3t ] || exit 7\n{}", script(&list)));
    user.file("token", "s3cr3t\n");
    let server = server.to_string_lossy().into_owned();
    let by_file = format!("TOKEN=${{file:{}}}", user.home().join("token").display());
    let add = |token: &str, more: &[&str]| {
        let args = [&["servers", "add", "mine", "--env", token], more, &["--", "bash", &server]].concat();
        user.run(&args)
    };
    let done = add(&by_file, &["--interval", "60"]).code(PASSED);
    assert!(done.stdout.contains("mine is registered; `toolpact snapshot mine` asks it"), "{}", done.stdout);
    assert!(add(&by_file, &[]).code(PASSED).stdout.contains("mine is registered so already"));
    let asked = user.run(&["snapshot", "mine"]).code(PASSED);
    assert!(asked.stdout.contains("1 tools"), "{}", asked.stdout);

    let by_command = "TOKEN=${command:echo s3cr3t}";
    add(by_command, &[]).code(BLOCKED);
    assert!(add(by_command, &["--replace"]).code(PASSED).stdout.contains("mine is replaced"));
    assert!(user.run(&["snapshot", "mine"]).code(PASSED).stdout.contains("identical"));
    let log = user.run(&["log", "--format", "json"]).code(PASSED).stdout;
    assert!(!log.contains("s3cr3t\""), "{log}");
}

#[test]
fn a_command_is_started_in_the_folder_that_is_said() {
    let user = User::new();
    let list = answers(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#);
    let server = format!("[ \"$PWD\" = '{}' ] || exit 7\n{}", user.home().display(), script(&list));
    let (home, server) = (user.home().to_string_lossy(), user.file("server.sh", server));
    let command = ["bash", &server.to_string_lossy()];
    user.run(&[&["servers", "add", "mine", "--cwd", &home, "--"][..], &command].concat()).code(PASSED);
    user.run(&["snapshot", "mine"]).code(PASSED);
}

#[test]
fn a_snapshot_of_which_a_context_failed_is_no_success() {
    let user = User::new();
    let list = answers(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#);
    let server = format!("[ \"$ROLE\" != nobody ] || exit 7\n{}", script(&list));
    let server = user.file("server.sh", server);
    user.run(&["servers", "add", "mine", "--", "bash", &server.to_string_lossy()]).code(PASSED);
    for (context, role, code) in [("admin", "ROLE=admin", PASSED), ("other", "ROLE=nobody", COULD_NOT_RUN)] {
        user.run(&["servers", "context", "mine", context, "--env", role]).code(PASSED);
        for format in ["text", "json"] {
            user.run(&["snapshot", "mine", "--format", format]).code(code);
        }
    }
    let told = user.run(&["snapshot", "mine"]).code(COULD_NOT_RUN).stdout;
    for part in ["1 tools", "under other: unavailable: ", "exited with code 7"] {
        assert!(told.contains(part), "no {part:?} in\n{told}");
    }
}
