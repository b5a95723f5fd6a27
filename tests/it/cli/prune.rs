//! `prune`: says how much it would forget before it does.

use super::{INVALID, PASSED, recorded};
use crate::command::User;

#[test]
fn a_dry_run_says_what_a_prune_then_does() {
    let user = User::new();
    for list in ["orders-1.json", "orders-2-compatible.json", "orders-3-breaking.json", "orders-1.json"] {
        user.run(&["snapshot", "orders", "--file", &recorded(list)]).code(PASSED);
    }
    let nothing = user.run(&["prune", "--dry-run"]).code(PASSED).stdout;
    assert_eq!(nothing, "would delete 0 snapshots, 0 listings, 0 texts; never what was live\n");
    let rules = ["prune", "--keep-listings", "0", "--keep-days", "0"];
    let would = user.run(&[&rules[..], &["--dry-run"]].concat()).code(PASSED).stdout;
    assert!(would.starts_with("would delete 2 snapshots, 3 listings, "), "{would}");
    let done = user.run(&rules).code(PASSED).stdout;
    assert_eq!(done, would.replace("would delete", "deleted"));
    let json = user.run(&[&rules[..], &["--format", "json"]].concat()).code(PASSED).stdout;
    assert_eq!(
        json,
        "{\n  \"listings\": 0,\n  \"snapshots\": 0,\n  \"surfaces\": 0,\n  \"texts\": 0,\n  \"checks\": 0\n}\n"
    );
    let log = user.run(&["log"]).code(PASSED).stdout;
    assert!(log.contains("store.pruned"), "{log}");
    assert!(user.run(&["audit", "verify"]).code(PASSED).stdout.contains("the chain holds"));
    let refused = user.run(&["prune", "--keep-days", "4294967295"]).code(INVALID).stderr;
    assert!(refused.contains("4294967295 days ago is before all times"), "{refused}");
}
