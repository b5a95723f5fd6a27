//! Real MCP servers, as published: each is snapshot, compared with itself over another way, and gated.
//!
//! `tests/run` installs them and says where in TOOLPACT_REAL_SERVERS. Without them these tests pass and say so; in CI
//! they fail.

mod conformance;
mod examples;
mod wire;

use std::{
    env,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::command::User;

/// The path of an installed server's program, or nothing, said loudly, where it is not there.
pub(crate) fn installed(folder: &str, program: &str) -> Option<PathBuf> {
    let path = env::var_os("TOOLPACT_REAL_SERVERS").map(|root| Path::new(&root).join(folder).join(program));
    match path.filter(|p| p.exists()) {
        Some(path) => Some(path),
        None => {
            let message = format!("LEFT OUT: {folder} is not installed; run tests/run");
            assert!(env::var("CI").as_deref() != Ok("true"), "{message}");
            eprintln!("{message}");
            None
        }
    }
}

fn npm(folder: &str, program: &str) -> Option<PathBuf> {
    installed(folder, &format!("node_modules/.bin/{program}"))
}

/// Takes a snapshot of a command under a name, twice, and gates the command against it.
fn settle(user: &User, name: &str, command: &[&str]) -> String {
    let with = |args: &[&str]| user.run(&[args, &["--"], command].concat());
    let first = with(&["snapshot", name]).code(0).stdout;
    let second = with(&["snapshot", name]).code(0).stdout;
    assert!(second.contains("identical to the snapshot before"), "{second}");
    let gate = with(&["gate", "--baseline", &format!("{name}@latest")]).code(0).stdout;
    assert!(gate.contains("nothing changed"), "{gate}");
    first
}

/// How many tools a snapshot's answer says.
fn tools(answer: &str) -> usize {
    let words: Vec<&str> = answer.split_whitespace().take(2).collect();
    words.last().and_then(|w| w.parse().ok()).unwrap_or_else(|| panic!("no number of tools in {answer}"))
}

#[test]
fn everything_is_the_same_over_stdio_and_both_ways_of_http() {
    let Some(program) = npm("everything-2026.8.31", "mcp-server-everything") else { return };
    let user = User::new();
    let program = program.to_string_lossy();
    let answer = settle(&user, "everything", &[&program, "stdio"]);
    assert_eq!(tools(&answer), 13, "{answer}");

    for (mode, path, transport) in [("streamableHttp", "mcp", "http"), ("sse", "sse", "sse")] {
        let served = Served::start(Path::new(&*program), &[mode]);
        let url = format!("http://127.0.0.1:{}/{path}", served.port);
        let gate = user.run(&["gate", "--baseline", "everything@latest", "--url", &url]).code(0);
        assert!(gate.stdout.contains("nothing changed"), "{}", gate.stdout);
        let answer = user.run(&["snapshot", "everything", "--url", &url, "--format", "json"]).code(0).stdout;
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("it is JSON");
        assert_eq!(answer["drift"], "identical", "{answer:#}");
        assert_eq!(answer["listing"]["provenance"]["transport"], transport, "{answer:#}");
    }
}

#[test]
fn servers_on_the_python_sdk_are_the_same_over_every_transport() {
    for (folder, revision) in [("mcp-1.30.0", "2025-11-25"), ("mcp-2.3.0", "2026-07-28")] {
        let Some(python) = installed(folder, "bin/python") else { return };
        let user = User::new();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/real/served.py");
        let script = script.to_string_lossy();
        let answer = settle(&user, "served", &[&python.to_string_lossy(), &script, "stdio"]);
        assert_eq!(tools(&answer), 2, "{answer}");
        assert!(answer.contains(&format!("protocol {revision}")), "{answer}");
        for (mode, path, revision) in [("streamable-http", "mcp", revision), ("sse", "sse", "2025-11-25")] {
            let served = Served::start(&python, &[&script, mode, "PORT"]);
            let url = format!("http://127.0.0.1:{}/{path}", served.port);
            let answer = user.run(&["snapshot", "served", "--url", &url]).code(0).stdout;
            assert!(answer.contains("identical to the snapshot before"), "{answer}");
            assert!(answer.contains(&format!("protocol {revision}")), "{answer}");
        }
    }
}

#[test]
fn a_server_on_the_rust_sdk_is_the_same_over_both_transports() {
    let Some(program) = rust_sdk() else { return };
    let user = User::new();
    let answer = settle(&user, "served", &[&program.to_string_lossy(), "stdio"]);
    assert_eq!(tools(&answer), 2, "{answer}");
    assert!(answer.contains("protocol 2026-07-28"), "{answer}");
    let served = Served::start(&program, &["streamable-http", "PORT"]);
    let url = format!("http://127.0.0.1:{}/mcp", served.port);
    let answer = user.run(&["snapshot", "served", "--url", &url]).code(0).stdout;
    assert!(answer.contains("identical to the snapshot before"), "{answer}");
    assert!(answer.contains("protocol 2026-07-28"), "{answer}");
}

/// The server of tests/served.
fn rust_sdk() -> Option<PathBuf> {
    installed("rmcp-3.11.0", "debug/served")
}

#[test]
fn a_real_authorization_server_gives_tokens_to_its_client_and_to_nobody_else() {
    const SECRET: &str = "a-secret-of-forty-characters-or-even-more";
    let Some(package) = installed("oidc-provider-9.13.3", "node_modules/oidc-provider") else { return };
    let folder = package.parent().and_then(Path::parent).expect("a package is in a folder").to_string_lossy();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/real/issuer.mjs");
    let served = Served::start(Path::new("node"), &[&script.to_string_lossy(), &folder, "PORT"]);
    let base = format!("http://127.0.0.1:{}", served.port);
    let (url, token_url) = (format!("{base}/mcp"), format!("{base}/token"));
    let scope = ["--oauth-scope", "tools:read"];
    let at = ["--oauth-token-url", &token_url];
    let rows: [(&str, Vec<&str>, &str, &str); 6] = [
        ("found out", scope.to_vec(), SECRET, ""),
        ("said", [scope, at].concat(), SECRET, ""),
        ("its own resource", [scope, ["--oauth-resource", &url]].concat(), SECRET, ""),
        ("another secret", scope.to_vec(), "another-secret-of-forty-characters-or-more", "`invalid_client`"),
        (
            "another resource",
            [scope, ["--oauth-resource", "urn:another"]].concat(),
            SECRET,
            "`invalid_target`",
        ),
        ("no scope", Vec::new(), SECRET, "a token that had just been issued"),
    ];
    for (name, more, secret, refused) in rows {
        let user = User::new();
        let client = ["--oauth-client-id", "toolpact", "--oauth-client-secret-env", "SECRET"];
        let args = [&["snapshot", "mine", "--url", &url][..], &client, &more].concat();
        let output = user.command(&args).env("SECRET", secret).output().expect("the binary starts");
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let code = if refused.is_empty() { 0 } else { 3 };
        assert_eq!(output.status.code(), Some(code), "{name}: {told}");
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(refused) && !told.contains(secret), "{name}: {told}");
    }
}

#[test]
fn a_year_of_the_filesystem_server_is_judged() {
    let (Some(old), Some(new)) = (
        npm("filesystem-2025.8.21", "mcp-server-filesystem"),
        npm("filesystem-2026.8.31", "mcp-server-filesystem"),
    ) else {
        return;
    };
    let user = User::new();
    let home = user.home().to_string_lossy().into_owned();
    settle(&user, "filesystem", &[&old.to_string_lossy(), &home]);
    let command = [&*new.to_string_lossy(), &home];
    let gate = user.run(
        &[&["gate", "--baseline", "filesystem@latest", "--format", "json", "--"], &command[..]].concat(),
    );
    let gate = gate.code(1);
    let report: serde_json::Value = serde_json::from_str(&gate.stdout).expect("it is JSON");
    // In that year every tool got a title, hints and an output schema; and one call broke that nobody announced.
    let tools = report["tools"].as_array().expect("it lists tools");
    assert!(tools.len() > 10 && tools.iter().all(|t| t["status"] != "removed"), "{report:#}");
    let breaking: Vec<&serde_json::Value> = tools
        .iter()
        .flat_map(|t| t["findings"].as_array().expect("it has findings"))
        .filter(|f| f["level"] == "breaking")
        .collect();
    assert_eq!(breaking.len(), 1, "{report:#}");
    assert_eq!(breaking[0]["pointer"], "/properties/paths/minItems");
    assert_eq!(breaking[0]["witness"]["value"], serde_json::json!({"paths": []}));
    assert_eq!(report["blockedBy"]["tool"], "read_multiple_files");
}

#[test]
fn the_git_server_of_pypi_is_listed() {
    let Some(program) = installed("git-2026.10.19", "bin/mcp-server-git") else { return };
    let answer = settle(&User::new(), "git", &[&program.to_string_lossy()]);
    assert!(tools(&answer) >= 10, "{answer}");
}

#[test]
fn the_time_server_of_pypi_is_listed() {
    let Some(program) = installed("time-2026.10.19", "bin/mcp-server-time") else { return };
    let answer = settle(&User::new(), "time", &[&program.to_string_lossy(), "--local-timezone", "UTC"]);
    assert_eq!(tools(&answer), 2, "{answer}");
}

/// A server over HTTP; ended when dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) port: u16,
}

impl Served {
    /// Starts a server that takes its port from `PORT`, or in place of the argument `PORT`.
    pub(crate) fn start(program: &Path, args: &[&str]) -> Self {
        // Bound and dropped: free, and nobody's for now.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("loopback").port();
        let number = port.to_string();
        let mut child = Command::new(program)
            .args(args.iter().map(|arg| if *arg == "PORT" { &number } else { *arg }))
            .env("PORT", &number)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        let mut lines = lines.map_while(Result::ok);
        let listens =
            lines.any(|l| ["listening on port", "running on"].iter().any(|words| l.contains(words)));
        assert!(listens, "the server does not say that it listens");
        // Somebody has to read what it says from now on, or it would stop at a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
