//! The audit log and what is signed, as users check them, on the machine of the database and on another.

use super::{BLOCKED, INVALID, PASSED, recorded};
use crate::{
    command::User,
    database::{self, Own},
};

/// A version that was approved and promoted, signed with the key in `key.pem`; its public half is in `key.pub`.
fn user() -> User {
    let user = User::with_database();
    let public = user.run(&["key", "new", "key.pem"]).code(PASSED).stdout;
    user.file("key.pub", public);
    user.run(&["snapshot", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
    user.run(&["draft", "all", "--server", "orders"]).code(PASSED);
    let signing = ["--signing-key", "key.pem"];
    let with = |args: &[&str]| user.run(&[args, &signing].concat()).code(PASSED).stdout;
    let said = with(&["approve", "all", "d-1", "--reason", "first"]);
    let version = said.split_once("all@").expect("a version").1.split_whitespace().next().expect("a number");
    with(&["promote", "production", version, "--catalog", "all", "--reason", "go"]);
    user
}

/// A file of one user in the hands of another.
fn carry(from: &User, to: &User, name: &str) {
    std::fs::copy(from.home().join(name), to.home().join(name)).expect("copied");
}

#[test]
fn a_key_is_for_its_user_only_and_never_written_over() {
    use std::os::unix::fs::PermissionsExt as _;
    let user = User::new();
    let public = user.run(&["key", "new", "key.pem"]).code(PASSED).stdout;
    let mode = std::fs::metadata(user.home().join("key.pem")).expect("written").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(public.starts_with("key sha256:") && public.contains("-----BEGIN PUBLIC KEY-----"), "{public}");
    assert_eq!(user.run(&["key", "public", "key.pem"]).code(PASSED).stdout, public);
    let said = user.run(&["key", "new", "key.pem"]).code(INVALID).stderr;
    assert!(said.contains("help: name a file that is not there yet"), "{said}");
    user.file("key.pub", &public);
    let said = user.run(&["key", "public", "key.pub"]).code(INVALID).stderr;
    assert!(said.contains("it is no ed25519 key in PEM"), "{said}");
    let said = user.run(&["audit", "checkpoint", "--key", "none.pem"]).code(INVALID).stderr;
    assert!(said.contains("`none.pem` cannot be read"), "{said}");
}

#[test]
fn an_export_and_a_bundle_are_checked_on_another_machine() {
    let (user, other) = (user(), User::new());
    user.run(&["audit", "export", "--out", "log.jsonl"]).code(PASSED);
    user.run(&["audit", "checkpoint", "--key", "key.pem", "--out", "log.checkpoint"]).code(PASSED);
    let bundle = user.run(&["export", "all", "--bundle", "--signing-key", "key.pem"]).code(PASSED).stdout;
    user.file("all.bundle", bundle);
    for name in ["log.jsonl", "log.checkpoint", "all.bundle", "key.pub"] {
        carry(&user, &other, name);
    }
    let past = ["--checkpoint", "log.checkpoint", "--key", "key.pub"];
    let verify = |more: &[&str]| other.run(&[&["audit", "verify", "--file", "log.jsonl"], more].concat());
    assert_eq!(verify(&[]).code(PASSED).stdout, "5 events, the chain holds\n");
    let said = verify(&past).code(PASSED).stdout;
    assert_eq!(said, "5 events, the chain holds; checkpoints passed: 1, the last at event 5\n");
    let said = other.run(&["verify-catalog", "all.bundle", "--key", "key.pub"]).code(PASSED).stdout;
    assert!(
        said.contains("is as it was signed with") && said.contains("live: production at generation 1"),
        "{said}"
    );
    let document =
        other.run(&["verify-catalog", "all.bundle", "--key", "key.pub", "--document"]).code(PASSED).stdout;
    other.file("all.yaml", document);
    other.run(&["apply", "all.yaml"]).code(PASSED);

    let log = std::fs::read_to_string(other.home().join("log.jsonl")).expect("there");
    let cut: Vec<&str> = log.lines().take(4).collect();
    other.file("log.jsonl", cut.join("\n"));
    verify(&[]).code(PASSED);
    let said = verify(&past).code(BLOCKED).stdout;
    assert!(said.starts_with("event 5 does not fit the chain: it is missing: the checkpoint of "), "{said}");
    other.file("log.jsonl", log.replacen("orders", "0rders", 1));
    assert!(verify(&[]).code(BLOCKED).stdout.starts_with("event 1 does not fit the chain: "));
    let foreign = other.run(&["key", "new", "foreign.pem"]).code(PASSED).stdout;
    other.file("foreign.pub", foreign);
    let said = verify(&["--checkpoint", "log.checkpoint", "--key", "foreign.pub"]).code(BLOCKED).stderr;
    assert!(said.contains("none of the keys given made it"), "{said}");
    let said = other.run(&["verify-catalog", "all.bundle", "--key", "foreign.pub"]).code(BLOCKED).stderr;
    assert!(said.contains("signatures[0]: none of the keys given made it"), "{said}");
}

#[tokio::test]
async fn the_database_is_checked_past_a_checkpoint_that_was_kept_elsewhere() {
    let own = Own::new().await;
    let user = User::new();
    let url = own.url();
    let run = |args: &[&str]| user.run(&[&["--database", &url], args].concat());
    if database::server().is_some() {
        run(&["migrate"]).code(PASSED);
    }
    let public = user.run(&["key", "new", "key.pem"]).code(PASSED).stdout;
    user.file("key.pub", public);
    run(&["snapshot", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
    run(&["draft", "all", "--server", "orders"]).code(PASSED);
    let taken = run(&["audit", "checkpoint", "--key", "key.pem"]).code(PASSED).stdout;
    user.file("kept", taken);
    let verify = || run(&["audit", "verify", "--checkpoint", "kept", "--key", "key.pub"]);
    verify().code(PASSED);
    let mut db = own.behind().await;
    let on = if db.is_postgres() { " ON events" } else { "" };
    db.run(&format!("DROP TRIGGER events_are_kept{on}")).await.expect("dropped");
    db.run("DELETE FROM events WHERE seq = 3").await.expect("cut");
    run(&["audit", "verify"]).code(PASSED);
    let said = verify().code(BLOCKED).stdout;
    assert!(said.starts_with("event 3 does not fit the chain: it is missing"), "{said}");
    db.run("DELETE FROM events WHERE seq = 1").await.expect("cut");
    let said = run(&["audit", "checkpoint", "--key", "key.pem"]).code(BLOCKED).stderr;
    assert!(
        said.contains("event 2 does not fit the chain: event 1 is missing"),
        "nobody vouches for that: {said}"
    );
    run(&["audit", "checkpoint"]).code(INVALID);
}
