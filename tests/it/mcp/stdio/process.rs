//! The process: how it starts, what it is told, how it ends.

use std::{fs::File, io::Read as _, path::Path, process::Command, time::Duration};

use toolpact::{
    mcp::{self, Limits, Source},
    snapshot::Outcome,
};

use super::{A, NO_SUCH_METHOD, READ, REST, check, legacy, list, say, script, tools};
use crate::mcp::{complaint, fails, hasty, ok, patient};

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let rows = vec![
        (
            "dies at once",
            "echo 'no module named x' >&2; exit 3".to_owned(),
            patient(),
            fails(Outcome::Unavailable, "exited with code 3 before it answered"),
        ),
        (
            "dies when it was asked to list",
            legacy(&["exit 4"]),
            patient(),
            fails(Outcome::Unavailable, "exited with code 4"),
        ),
        (
            "dies half-way through its answer",
            legacy(&["printf '{\"jsonrpc\":\"2.0\",\"id\":3,\"resu'; exit 5"]),
            patient(),
            fails(Outcome::Unavailable, "exited with code 5"),
        ),
        (
            "is killed",
            legacy(&["kill -9 $$"]),
            patient(),
            fails(Outcome::Unavailable, "was ended by signal 9"),
        ),
        (
            "closes its stdout",
            legacy(&["exec >&-", REST]),
            patient(),
            fails(Outcome::Unavailable, "closed its stdout"),
        ),
        (
            "says nothing at all",
            REST.to_owned(),
            hasty(),
            fails(Outcome::Timeout, "did not say anything within 300ms"),
        ),
        (
            "does not end its handshake",
            script(&[READ, &say(NO_SUCH_METHOD), REST]),
            hasty(),
            fails(Outcome::Timeout, "did not answer `initialize`"),
        ),
        (
            "takes longer than all the time there is",
            legacy(&[REST]),
            Limits { total: Duration::from_millis(500), ..patient() },
            fails(Outcome::Timeout, "took longer than 500ms"),
        ),
    ];
    check(rows).await;

    let listing = list("echo 'no module named x' >&2; exit 3", &patient()).await;
    assert_eq!(listing.evidence.exit_code, Some(3));
    assert_eq!(listing.evidence.stderr_tail, "no module named x");

    let source =
        Source::stdio(vec!["/nowhere/server".to_owned(), "x".to_owned()]).expect("there is a command");
    let listing = mcp::list(&source, &patient()).await;
    let expected =
        fails(Outcome::Unavailable, "`/nowhere/server` could not be started: there is no such program");
    assert_eq!(complaint("no such program", &listing, &expected), None);
}

#[tokio::test]
async fn stderr_is_drained_and_its_end_is_kept() {
    let flood = "i=0; while [ $i -lt 4000 ]; do echo \"line $i of a log that would fill any pipe\" >&2; i=$((i+1)); done; printf '\\033[31mlast\\n' >&2";
    let listing = list(&legacy(&[flood, &tools(3, &[A]), REST]), &patient()).await;
    assert_eq!(complaint("flood", &listing, &ok(1)), None);
    let tail = &listing.evidence.stderr_tail;
    assert!(tail.len() <= 8 << 10 && tail.ends_with("[31mlast"), "{tail}");
}

#[tokio::test]
async fn a_server_is_told_little_of_its_surroundings() {
    let tool = r#"{"name":"'"$(env | cut -d= -f1 | tr '\n' ' ')"'","inputSchema":{}}"#;
    let answer =
        format!("printf '%s\\n' '{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"tools\":[{tool}]}}}}'");
    let listing = list(&legacy(&[&answer, REST]), &patient()).await;
    let names = listing.tools[0].raw.get();
    assert!(names.contains("PATH"), "{names}");
    // Set by cargo for this very process.
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some() && !names.contains("CARGO_MANIFEST_DIR"),
        "{names}"
    );
}

/// Makes a pipe in the file system; reading it to its end waits until every process that holds it is gone.
fn fifo(dir: &Path) -> String {
    let path = dir.join("alive").display().to_string();
    assert!(Command::new("mkfifo").arg(&path).status().is_ok_and(|s| s.success()), "mkfifo");
    path
}

#[tokio::test]
async fn a_server_that_will_not_end_is_ended_with_its_children() {
    let dir = tempfile::tempdir().expect("a directory");
    let alive = fifo(dir.path());
    let stubborn = format!("trap '' TERM\n( trap '' TERM; while :; do sleep 1; done ) > '{alive}' &\n");
    let script = stubborn + &legacy(&[&tools(3, &[A]), "while :; do sleep 1; done"]);
    let watch = tokio::task::spawn_blocking(move || File::open(alive).and_then(|mut f| f.read(&mut [0])));
    let listing = list(&script, &patient()).await;
    assert_eq!(complaint("stubborn", &listing, &ok(1)), None);
    assert_eq!(listing.evidence.exit_code, None, "it did not end by itself");
    let ended = tokio::time::timeout(Duration::from_secs(30), watch).await;
    assert!(matches!(ended, Ok(Ok(Ok(0)))), "a child outlived the listing: {ended:?}");
}

#[tokio::test]
async fn dropping_a_listing_ends_the_server() {
    let dir = tempfile::tempdir().expect("a directory");
    let alive = fifo(dir.path());
    let script = format!("( while :; do sleep 1; done ) > '{alive}' &\nwhile :; do sleep 1; done");
    let (up, is_up) = tokio::sync::oneshot::channel();
    let watch = tokio::task::spawn_blocking(move || {
        let mut file = File::open(alive)?;
        let _ = up.send(());
        file.read(&mut [0])
    });
    let limits = patient();
    tokio::select! {
        listing = list(&script, &limits) => panic!("it cannot end: {:?}", listing.evidence),
        up = is_up => up.expect("the watch lives"),
    }
    let ended = tokio::time::timeout(Duration::from_secs(30), watch).await;
    assert!(matches!(ended, Ok(Ok(Ok(0)))), "a child outlived the listing: {ended:?}");
}
