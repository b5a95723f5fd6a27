//! Every byte of what real servers list is kept: the lists beside what went over the wire, recorded on its way.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy},
    net::{TcpListener, TcpStream},
};
use toolpact::{
    mcp::{self, Limits, Source},
    snapshot::{Listing, Outcome, RawItem},
};

use super::{Served, installed, npm, rust_sdk};
use crate::mcp::changes::Followed;

/// What is not on the wire as one piece, if anything: tools, prompts, resources, templates.
fn complaints(name: &str, listing: &Listing, wire: &[u8]) -> Vec<String> {
    if listing.outcome != Outcome::Ok || listing.tools.is_empty() {
        return vec![format!("{name}: {} {:?}", listing.outcome, listing.evidence)];
    }
    let lists =
        listing.surfaces.iter().filter(|s| s.outcome == Outcome::Ok).map(|s| (s.kind.as_str(), &s.items));
    let mut out = Vec::new();
    for (what, items) in std::iter::once(("tools", &listing.tools)).chain(lists) {
        let texts: Vec<&str> = items.iter().map(|item: &RawItem| item.raw.get()).collect();
        // These servers write no blank between items, and one page.
        let list = format!("[{}]", texts.join(","));
        if !wire.windows(list.len()).any(|window| window == list.as_bytes()) {
            out.push(format!("{name}: {what} are not what was sent: {list}"));
        }
    }
    out
}

#[tokio::test]
async fn what_is_kept_is_what_a_server_wrote() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().to_string_lossy().into_owned();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/real/served.py");
    let pypi = |folder: &str, program: &str| installed(folder, &format!("bin/{program}"));
    let rows = [
        ("everything", npm("everything-2026.8.31", "mcp-server-everything"), "stdio"),
        ("filesystem", npm("filesystem-2026.8.31", "mcp-server-filesystem"), &*home),
        ("memory", npm("memory-2026.8.31", "mcp-server-memory"), ""),
        ("git", pypi("git-2026.10.19", "mcp-server-git"), ""),
        ("time", pypi("time-2026.10.19", "mcp-server-time"), "--local-timezone UTC"),
        ("fetch", pypi("fetch-2026.10.24", "mcp-server-fetch"), ""),
        ("sdk-1", pypi("mcp-1.30.0", "python"), &format!("{script} stdio")),
        ("sdk-2", pypi("mcp-2.3.0", "python"), &format!("{script} stdio")),
        ("rust-sdk", rust_sdk(), "stdio"),
    ];
    let mut found = Vec::new();
    for (name, program, args) in rows {
        let Some(program) = program else { continue };
        let wire = folder.path().join(name);
        let command = format!("'{}' {args} | tee '{}'", program.display(), wire.display());
        let source = Source::stdio(["sh", "-c", &command].map(str::to_owned).to_vec()).expect("a command");
        let listing = mcp::list(&source, &Limits::default()).await;
        found.extend(complaints(name, &listing, &fs::read(&wire).expect("tee wrote it")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test]
async fn what_is_kept_is_what_a_server_sent_over_http() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/real/served.py");
    let everything = npm("everything-2026.8.31", "mcp-server-everything");
    let python = installed("mcp-2.3.0", "bin/python");
    let rust = rust_sdk();
    let mut found = Vec::new();
    for (name, program, args, path) in [
        ("everything, Streamable HTTP", &everything, vec!["streamableHttp"], "mcp"),
        ("everything, HTTP+SSE", &everything, vec!["sse"], "sse"),
        ("sdk-2, Streamable HTTP", &python, vec![script, "streamable-http", "PORT"], "mcp"),
        ("sdk-2, HTTP+SSE", &python, vec![script, "sse", "PORT"], "sse"),
        ("rust-sdk, Streamable HTTP", &rust, vec!["streamable-http", "PORT"], "mcp"),
    ] {
        let Some(program) = program else { continue };
        let served = Served::start(Path::new(program), &args);
        let (port, wire) = recorded(served.port).await;
        let source = Source::http(&format!("http://127.0.0.1:{port}/{path}"), Vec::new()).expect("a URL");
        let listing = mcp::list(&source, &Limits::default()).await;
        let wire = wire.lock().unwrap_or_else(PoisonError::into_inner).clone();
        found.extend(complaints(name, &listing, &wire));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test]
async fn real_servers_can_be_followed() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/real/served.py");
    let everything = npm("everything-2026.8.31", "mcp-server-everything");
    let python = installed("mcp-2.3.0", "bin/python");
    for (program, args, path, tools) in [
        (&everything, vec!["stdio"], "", "13"),
        (&everything, vec!["streamableHttp"], "mcp", "13"),
        (&everything, vec!["sse"], "sse", "13"),
        (&python, vec![script, "stdio"], "", "2"),
        (&python, vec![script, "streamable-http", "PORT"], "mcp", "2"),
    ] {
        let Some(program) = program else { continue };
        let mut served = None;
        let source = if path.is_empty() {
            let command = std::iter::once(program.to_string_lossy().into_owned());
            Source::stdio(command.chain(args.iter().map(|arg| (*arg).to_owned())).collect())
        } else {
            let port = served.insert(Served::start(program, &args)).port;
            Source::http(&format!("http://127.0.0.1:{port}/{path}"), Vec::new())
        };
        let mut followed = Followed::new(source.expect("a source"));
        assert_eq!(followed.next().await, tools, "{args:?}");
        // And not `unsupported`: it waits for a change until nobody listens.
        assert_eq!(followed.dropped().await, "unheard", "{args:?}");
    }
}

/// A port before a server's; and all that the server sends through it.
async fn recorded(server: u16) -> (u16, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let wire = Arc::new(Mutex::new(Vec::new()));
    let sent = Arc::clone(&wire);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let sent = Arc::clone(&sent);
            tokio::spawn(async move {
                // A server may listen on either loopback.
                let server = TcpStream::connect(("localhost", server)).await.expect("the server listens");
                let ((mut from, mut to), (mut answers, mut asks)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(async move { copy(&mut from, &mut asks).await });
                let mut chunk = vec![0; 64 << 10];
                // Recorded before it is passed on, so that the client has nothing that is not here. Each connection's
                // bytes stay together only as far as the other is silent; requests come one after the other.
                while let Ok(n @ 1..) = answers.read(&mut chunk).await {
                    sent.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&chunk[..n]);
                    if to.write_all(&chunk[..n]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (port, wire)
}
