//! The database looked over, and copied while it is in use.

use std::{
    io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _},
    process::Stdio,
};

use super::{BLOCKED, COULD_NOT_RUN, INVALID, PASSED, recorded};
use crate::{
    command::User,
    database::{self, Own},
};

/// A user with something to lose.
fn user() -> User {
    let user = User::with_database();
    user.run(&["snapshot", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
    user.run(&["draft", "all", "--server", "orders"]).code(PASSED);
    user
}

#[test]
fn a_backup_is_taken_while_the_service_runs_and_holds_the_same_events() {
    if database::server().is_some() {
        return;
    }
    let user = user();
    let mut serving = user
        .command(&["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let first = BufReader::new(serving.stdout.take().expect("stdout is piped")).lines().next();
    assert!(first.is_some_and(|line| line.is_ok()), "it serves");
    let said = user.run(&["backup", "copy.db"]).code(PASSED).stdout;
    assert_eq!(said, "`copy.db` holds the database as it was: 4 events, the chain holds\n");
    // Another is not written over it, and what is left out of it is in the database alone.
    user.run(&["backup", "copy.db"]).code(INVALID);
    user.run(&["reject", "all", "d-1", "--reason", "not now"]).code(PASSED);
    serving.kill().expect("killed");
    serving.wait().expect("ended");

    let events =
        |database: &str| user.run(&["--database", database, "log", "--format", "json"]).code(PASSED).stdout;
    let all = events(".local/share/toolpact/toolpact.db");
    let kept = events("copy.db");
    let list = |text: &str| serde_json::from_str::<Vec<serde_json::Value>>(text).expect("JSON");
    assert_eq!(list(&kept), list(&all)[1..]);
    user.run(&["--database", "copy.db", "audit", "verify"]).code(PASSED);
    user.run(&["--database", "copy.db", "reject", "all", "d-1", "--reason", "never"]).code(PASSED);
    user.run(&["--database", "copy.db", "doctor"]).code(PASSED);
    let left: Vec<_> =
        std::fs::read_dir(user.home()).expect("there").map(|e| e.expect("read").file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".tmp")), "{left:?}");
}

#[test]
fn the_doctor_says_what_is_wrong() {
    let user = user();
    let ended = user.run(&["doctor"]);
    for (name, said) in
        [("database", " answers, "), ("migrations", "all have run"), ("events", "3 in a chain that holds")]
    {
        let line = ended
            .stdout
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("{}", ended.stdout));
        assert!(line.starts_with("ok ") && line.contains(said), "{line}");
    }
    if database::server().is_some() {
        assert!(ended.stdout.contains("ok     clock"), "{}", ended.stdout);
        assert!(ended.stdout.contains("the server's `fsync` is o"), "{}", ended.stdout);
        let said = user.run(&["backup", "copy"]).code(INVALID).stderr;
        assert!(said.contains("pg_dump"), "{said}");
        return;
    }
    assert_eq!(ended.code, PASSED, "{}", ended.stdout);
    assert!(ended.stdout.contains("ok     disk"), "{}", ended.stdout);
    // Every page from the middle on is overwritten; in a copy, which has nothing beside it that is written ahead.
    user.run(&["backup", "damaged.db"]).code(PASSED);
    let path = user.home().join("damaged.db");
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).expect("it is there");
    let length = file.metadata().expect("it has a length").len();
    let middle = length / 4096 / 2 * 4096;
    file.seek(SeekFrom::Start(middle)).expect("it is that long");
    file.write_all(&vec![0xab; usize::try_from(length - middle).expect("it is small")]).expect("written");
    drop(file);
    let ended = user.run(&["doctor", "--format", "json", "--database", "damaged.db"]).code(BLOCKED);
    let checks: Vec<serde_json::Value> = serde_json::from_str(&ended.stdout).expect("JSON");
    let integrity = checks.iter().find(|check| check["name"] == "integrity").expect("it was checked");
    assert_eq!(integrity["ok"], false, "{integrity}");
    assert!(!integrity["help"].as_str().unwrap_or_default().is_empty());
    let said = user.run(&["backup", "copy.db", "--database", "damaged.db"]).code(COULD_NOT_RUN).stderr;
    assert!(said.contains("error: ") && !user.home().join("copy.db").exists(), "{said}");
}

#[tokio::test]
async fn the_doctor_finds_what_was_tampered_with_and_touches_nothing() {
    let own = Own::new().await;
    let user = User::new();
    let url = own.url();
    if database::server().is_some() {
        let said = user.run(&["--database", &url, "doctor"]).code(BLOCKED).stdout;
        assert!(
            said.contains("WRONG  migrations") && said.contains("help: run `toolpact migrate`"),
            "{said}"
        );
    } else {
        user.run(&["--database", &url, "doctor"]).code(COULD_NOT_RUN);
    }
    user.run(&["--database", &url, "migrate"]).code(PASSED);
    user.run(&["--database", &url, "snapshot", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
    let mut db = own.behind().await;
    let on = if db.is_postgres() { " ON events" } else { "" };
    db.run(&format!("DROP TRIGGER events_are_immutable{on}")).await.expect("dropped");
    db.run("UPDATE events SET actor = 'bob'").await.expect("tampered with");
    let said = user.run(&["--database", &url, "doctor"]).code(BLOCKED).stdout;
    assert!(said.contains("WRONG  events") && said.contains("event 1 does not fit"), "{said}");
    assert_eq!(db.count("events").await, 1);
}
