//! The log as lines of JSON, checked where there is no database.

use toolpact::{
    app::{App, audit::verify_export},
    catalog::chain::Checkpoint,
    json::Digest,
};

use crate::support::{app, is, noon, to};

/// A log of four events, as lines.
async fn exported(from: i64) -> (App, Vec<String>) {
    let (app, _store) = app().await;
    app.apply("orders", "catalogVersion: 2026.11.30\ntools: []\n", "ann").await.expect("applied");
    app.apply("orders", "catalogVersion: 2026.12.01\ntools: []\n", "ann").await.expect("applied");
    app.promote(&to("production", is("2026.11.30"), 0)).await.expect("promoted");
    let mut lines = Vec::new();
    let take = |line: &str| {
        lines.push(line.to_owned());
        Ok(())
    };
    app.export_events(from, take).await.expect("exported");
    (app, lines)
}

/// The event that does not fit and why, where one does not.
fn found(lines: &[String], checkpoints: &[Checkpoint]) -> Option<(i64, String)> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    verify_export("export", text.as_bytes(), checkpoints.to_vec()).expect("read").broken
}

#[tokio::test]
async fn no_byte_of_an_export_is_changed_unseen() {
    let (_, lines) = exported(1).await;
    assert_eq!(found(&lines, &[]), None);
    let text = lines.join("\n") + "\n";
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let check = verify_export("export", bytes.as_slice(), Vec::new()).expect("read");
        assert!(check.broken.is_some(), "byte {at}: {}", &text[at.saturating_sub(20)..at]);
    }
}

#[tokio::test]
async fn lines_that_are_dropped_doubled_or_moved_are_named() {
    let (app, lines) = exported(1).await;
    let checkpoint = app.checkpoint().await.expect("taken");
    let last = lines.len();
    let changed = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        found(&lines, std::slice::from_ref(&checkpoint)).map(|(seq, _)| seq)
    };
    let number = |n: usize| Some(i64::try_from(n).expect("small"));
    for n in 0..last {
        let dropped = changed(&|lines| _ = lines.remove(n));
        // Without its beginning it is the part of a chain, which the checkpoint vouches for.
        let expected = match n {
            0 => None,
            n if n + 1 == last => number(last),
            n => number(n + 2),
        };
        assert_eq!(dropped, expected, "dropped {n}");
        assert_eq!(changed(&|lines| lines.insert(n, lines[n].clone())), number(n + 1), "doubled {n}");
        assert_eq!(changed(&|lines| lines.truncate(n)), number(n + 1), "cut at {n}");
        if n + 1 < last {
            assert!(changed(&|lines| lines.swap(n, n + 1)).is_some(), "moved {n}");
        }
    }
    assert_eq!(changed(&|lines| lines.push("{}".to_owned())), number(last + 1));
    assert_eq!(changed(&|lines| lines.push(String::new())), number(last + 1));
}

#[tokio::test]
async fn a_part_is_taken_as_it_begins_unless_a_checkpoint_of_just_before_says_otherwise() {
    let (app, lines) = exported(3).await;
    let all = app.events(10).await.expect("read");
    let before = all.iter().find(|e| e.seq == 2).expect("there");
    let good = Checkpoint { seq: 2, digest: before.digest.clone(), count: 2, at: noon() };
    let older = Checkpoint { seq: 1, digest: Digest::of_bytes(b"older"), count: 1, at: noon() };
    assert_eq!(found(&lines, &[good.clone(), older]), None, "what is before the part is not looked at");
    let other = Checkpoint { digest: Digest::of_bytes(b"another"), ..good };
    let (_, why) = found(&lines, &[other]).expect("found");
    assert!(why.contains("are not those that were there"), "{why}");
}
