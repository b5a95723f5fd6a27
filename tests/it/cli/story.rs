//! From a server to production and back, and what is refused on the way.

mod whole;

use super::{BLOCKED, INVALID, PASSED, recorded};
use crate::command::User;

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
    let user = User::with_database();
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
fn a_retry_under_a_key_is_the_first_answer_though_the_pointer_has_moved() {
    let (user, first) = live();
    user.run(&demo(&["snapshot", "shop"], BREAKING)).code(PASSED);
    let second = version_in(
        &user.run(&["approve", "orders", "d-2", "--reason", "x", "--accept-breaking"]).code(PASSED).stdout,
    );
    let promote = |to: &str, more: &[&str]| {
        let mut args = vec!["promote", "production", to, "--reason", "go", "--idempotency-key", "k-1"];
        args.extend(more);
        user.run(&args)
    };
    let moved = promote(&second, &[]).code(PASSED);
    assert!(moved.stdout.contains("generation 2 (was generation 1, made by ann"), "{}", moved.stdout);
    // What is rehearsed is what would happen now.
    let rehearsed = promote(&second, &["--dry-run"]).code(BLOCKED);
    assert!(rehearsed.stderr.contains("is live in `production` already"), "{}", rehearsed.stderr);
    user.run(&["rollback", "production", &first, "--reason", "errors rise"]).code(PASSED);
    let again = promote(&second, &[]).code(PASSED);
    assert!(
        again.stdout.contains("generation 2 (was generation 1; made before, under the same key)"),
        "{}",
        again.stdout
    );
    assert!(user.run(&["status"]).stdout.contains("generation 3"), "nothing moved");
    for (to, more) in
        [(&first, &[] as &[&str]), (&second, &["--record-probe"]), (&second, &["--generation", "3"])]
    {
        let other = promote(to, more).code(BLOCKED);
        assert!(other.stderr.contains("idempotency key"), "{more:?}: {}", other.stderr);
    }
}

#[test]
fn a_freeze_says_how_it_ends_and_nothing_unknown_is_frozen() {
    let (user, _) = live();
    for (only, ends) in [
        (&[] as &[&str], "`toolpact unfreeze production --reason …`"),
        (&["--catalog", "orders"], "`toolpact unfreeze production --catalog orders --reason …`"),
    ] {
        let frozen = user.run(&[&["freeze", "production", "--reason", "sale"], only].concat()).code(PASSED);
        assert!(frozen.stdout.contains(ends), "{}", frozen.stdout);
    }
    let slip = user.run(&["freeze", "prodution", "--reason", "sale"]).code(INVALID);
    assert!(slip.stderr.contains("did you mean `production`?"), "{}", slip.stderr);
    for (actor, cause) in [("a\nb", "control character"), (&"x".repeat(101), "101 characters")] {
        let refused = user.run(&["freeze", "production", "--reason", "sale", "--actor", actor]).code(INVALID);
        assert!(refused.stderr.contains(cause), "{}", refused.stderr);
    }
}

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
    let user = User::with_database();
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

#[test]
fn the_names_that_hosts_give_are_shown_with_what_clashes() {
    let (user, _) = live();
    let text = user.run(&["tools", "production", "--aliases"]).code(PASSED).stdout;
    for part in [
        "shop: order_query",
        "  agentscope   mcp__shop__order_query",
        "  gemini-cli   mcp_shop_order_query",
        " 0 warnings",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    user.run(&demo(&["snapshot", "shop.2"], "1")).code(PASSED);
    user.run(&["draft", "both", "--server", "shop", "--server", "shop.2"]).code(PASSED);
    user.run(&["approve", "both", "d-2", "--reason", "first"]).code(PASSED);
    let text = user.run(&["tools", "both@latest", "--aliases"]).code(PASSED).stdout;
    for part in [
        "on server `shop`: spring-ai calls it `order_query`, and `order_query` of `shop.2` too",
        "on server `shop.2`: agentscope refuses the server's name `shop.2`",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let json =
        user.run(&["tools", "both@latest", "--server", "shop", "--aliases", "--format", "json"]).code(PASSED);
    let all: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(all[0]["names"]["claude-code"], "mcp__shop__customer_lookup");
    assert_eq!(all[0]["warnings"], serde_json::Value::Null, "of one server nothing clashes");
    user.run(&["tools", "production", "--format", "json"]).code(INVALID);
}
