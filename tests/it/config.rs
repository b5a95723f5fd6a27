//! The configuration files of hosts, each a fixture of `tests/config`, and registries: what is read of them, and that no
//! secret of them is kept.

pub(crate) mod registry;

use std::{fmt::Write as _, path::Path};

use toolpact::{
    catalog::{ServerSource, server::HttpTransport},
    config::{self, Found, Host, MAX_BYTES, Options},
};

fn text(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config").join(file);
    std::fs::read_to_string(path).expect("the fixture is there")
}

/// What was found, a line each.
fn written(found: &Found) -> String {
    let mut out = format!("{}\n", found.host);
    for entry in &found.servers {
        _ = write!(out, "{}: ", entry.spec.name);
        match &entry.spec.source {
            ServerSource::Stdio { program, args, env, cwd } => {
                _ = write!(out, "{program}");
                args.iter().for_each(|arg| _ = write!(out, " {arg}"));
                env.iter().for_each(|(name, value)| _ = write!(out, " {name}={value}"));
                cwd.iter().for_each(|cwd| _ = write!(out, " in {cwd}"));
            }
            ServerSource::Http { url, headers, transport, oauth: _ } => {
                _ = write!(out, "{url}");
                headers.iter().for_each(|(name, value)| _ = write!(out, " {name}: {value}"));
                if *transport != HttpTransport::Auto {
                    _ = write!(out, " ({})", transport.as_str());
                }
            }
        }
        out.push('\n');
        entry.notes.iter().for_each(|note| _ = writeln!(out, "  {note}"));
    }
    found.skipped.iter().for_each(|(name, why)| _ = writeln!(out, "not {name}: {why}"));
    out
}

/// Each host's file, by the path where it is found.
const FILES: [&str; 14] = [
    "claude.json",
    ".vscode/vscode.jsonc",
    "vscode-settings.json",
    ".cursor/cursor.json",
    "gemini.json",
    "windsurf.json",
    "modelscope.json",
    "tools.json",
    "agentscope-python.json",
    "application.yaml",
    "application.properties",
    "spring-servers.json",
    "bare.json",
    "server.json",
];

#[test]
fn every_hosts_file_is_read() {
    let expected = text("expected.txt");
    for path in FILES {
        let file = path.rsplit('/').next().expect("a file");
        let found =
            config::read(path, &text(file), Options::default()).unwrap_or_else(|e| panic!("{path}: {e}"));
        let written = written(&found);
        let expected = expected.split("== ").find_map(|part| part.strip_prefix(file)).unwrap_or_default();
        assert_eq!(written.trim(), expected.trim(), "{path}");
        assert!(!written.contains("in-clear"), "{path}");
    }
}

#[test]
fn a_host_that_is_named_decides() {
    let read = |host, disabled| {
        let text =
            r#"{"mcpServers": {"a": {"url": "https://h/sse", "disabled": true, "headers": {"k": "$K"}}}}"#;
        written(&config::read("a.json", text, Options { host, disabled, package: false }).expect("readable"))
    };
    assert_eq!(
        read(None, false),
        "claude\nnot a: it is disabled there; `--disabled` takes such servers too\n"
    );
    assert_eq!(read(None, true), "claude\na: https://h/sse k: $K\n");
    assert_eq!(read(Some(Host::Gemini), true), "gemini\na: https://h/sse k: ${K} (sse)\n");
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place_and_without_its_values() {
    for (text, expected) in [
        ("", "it names no MCP servers: expected an object `mcpServers`"),
        ("[]", ""),
        ("{", "1:1: unterminated object"),
        ("{\"mcpServers\": {}}", ""),
        ("{\"theme\": \"dark\"}", "it names no MCP servers: expected an object `mcpServers`"),
        (r#"{"mcpServers": {"a": 5}}"#, "server `a`: its entry is a number; expected an object"),
        (r#"{"mcpServers": {"a": {}}}"#, "server `a`: it has neither a `command` nor a `url`"),
        (r#"{"mcpServers": {"a": {"command": ""}}}"#, "server `a`: its `command` is empty"),
        (
            r#"{"mcpServers": {"a": {"command": "x", "url": "http://h"}}}"#,
            "server `a`: it has a `command` and a `url`; a server has one of them",
        ),
        (
            r#"{"mcpServers": {"a": {"type": "stdio", "url": "http://h"}}}"#,
            "server `a`: it is of type stdio and has no `command`",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "args": "hidden"}}}"#,
            "server `a`: its `args` is a text; expected a list of texts",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "env": {"K": ["hidden"]}}}}"#,
            "server `a`: its `env.K` holds a list; expected a text",
        ),
        (
            r#"{"mcpServers": {"a b": {"command": "x"}, "a-b": {"command": "y"}}}"#,
            "servers `a b` and `a-b` would both be called `a-b`",
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#,
            "1:40: key `a` stands here twice; a key has one value",
        ),
        (
            r#"{"mcpServers": {"高德": {"command": "x"}}}"#,
            "server `高德`: its name has no letter or digit of ASCII; give it another in the file",
        ),
    ] {
        match config::read("x.json", text, Options::default()) {
            Ok(found) => assert!(expected.is_empty() && found.servers.is_empty(), "{text}: {found:?}"),
            Err(error) => {
                let error = error.to_string();
                assert!(!expected.is_empty() && error.starts_with(expected), "{text}: {error}");
                assert!(!error.contains("hidden"), "{error}");
            }
        }
    }
    for hostile in ["[".repeat(100_000), "{\"a\":".repeat(100_000), " ".repeat(MAX_BYTES + 1)] {
        assert!(config::read("x.json", &hostile, Options::default()).is_err());
    }
    for hostile in ["[".repeat(100_000), "a: *b".to_owned(), "a: !!binary x\n?".to_owned()] {
        _ = config::read("x.yaml", &hostile, Options::default());
    }
}
