//! The checker itself: a history that is sound, and every way of spoiling it.

use std::collections::BTreeSet;

use super::history::{Call, End, Event, Fault, History, Kept, Move, Moved, Read, Try, Verb, check};

fn moved(generation: i64, from: Option<&str>, to: &str) -> Moved {
    Moved { generation, from: from.map(str::to_owned), to: to.to_owned() }
}

/// Four moves, a release and a refusal, one after the other; the key says what each does. `c-back` was first answered by
/// nobody, and `f-lost` by nobody at all.
fn sound() -> (History, Kept) {
    let steps = [
        ("a-first", Verb::Promote, moved(1, None, "1")),
        ("b-next", Verb::Promote, moved(2, Some("1"), "2")),
        ("c-back", Verb::Rollback, moved(3, Some("2"), "1")),
        ("d-free", Verb::Release, moved(3, None, "2")),
        ("e-again", Verb::Promote, moved(4, Some("1"), "2")),
    ];
    let (mut history, mut kept) = (History::default(), Kept::default());
    for ((key, verb, moved), at) in steps.into_iter().zip(1..) {
        let began = at * 10;
        let release = verb == Verb::Release;
        let answer = if release { None } else { Some(moved.clone()) };
        let mut tries = vec![Try { began, ended: began + 5, end: End::Done(answer) }];
        if key == "c-back" {
            tries.insert(0, Try { began: began - 1, ended: began - 1, end: End::Unknown });
        }
        history.calls.push(Call {
            key: key.to_owned(),
            verb,
            environment: "ring".to_owned(),
            seen: moved.generation - i64::from(!release),
            version: moved.to.clone(),
            tries,
        });
        kept.events.push(Event {
            seq: i64::try_from(at).expect("small"),
            environment: "ring".to_owned(),
            verb,
            moved: moved.clone(),
            reason: key.to_owned(),
        });
        if !release {
            history.reads.push(Read {
                environment: "ring".to_owned(),
                began: began + 6,
                ended: began + 7,
                generation: moved.generation,
                version: Some(moved.to.clone()),
            });
            kept.moves.push(Move {
                environment: "ring".to_owned(),
                verb,
                moved,
                reason: key.to_owned(),
                key: Some(key.to_owned()),
            });
        }
    }
    for (key, end) in [("f-lost", End::Unknown), ("g-held", End::Refused("already-live".to_owned()))] {
        history.calls.push(Call {
            key: key.to_owned(),
            verb: Verb::Promote,
            environment: "ring".to_owned(),
            seen: 4,
            version: "2".to_owned(),
            tries: vec![Try { began: 61, ended: 62, end }],
        });
    }
    kept.pointers.push(("ring".to_owned(), 4, "2".to_owned()));
    (history, kept)
}

fn faults(history: &History, kept: &Kept) -> BTreeSet<Fault> {
    check(history, kept).into_iter().map(|v| v.fault).collect()
}

fn call<'h>(history: &'h mut History, key: &str) -> &'h mut Call {
    history.calls.iter_mut().find(|c| c.key == key).expect("it is one of them")
}

/// A fifth move under the key of a call that was not done.
fn done_after_all(kept: &mut Kept, key: &str) {
    let moved = moved(5, Some("2"), "2");
    let (environment, reason) = ("ring".to_owned(), key.to_owned());
    kept.events.push(Event {
        seq: 6,
        environment: environment.clone(),
        verb: Verb::Promote,
        moved: moved.clone(),
        reason: reason.clone(),
    });
    kept.moves.push(Move { environment, verb: Verb::Promote, moved, key: Some(reason.clone()), reason });
    kept.pointers[0].1 = 5;
}

#[test]
fn a_sound_history_has_no_faults_and_what_is_unknown_may_have_happened() {
    let (history, mut kept) = sound();
    assert_eq!(check(&history, &kept), BTreeSet::new());
    done_after_all(&mut kept, "f-lost");
    assert_eq!(check(&history, &kept), BTreeSet::new());
}

#[test]
fn every_fault_is_caught() {
    type Spoil = fn(&mut History, &mut Kept);
    let cases: &[(&str, Fault, Spoil)] = &[
        ("the last move and its event are gone", Fault::Lost, |_, k| {
            k.moves.pop();
            k.events.pop();
            k.pointers[0] = ("ring".to_owned(), 3, "1".to_owned());
        }),
        ("a move is gone from the middle", Fault::Gap, |_, k| _ = k.moves.remove(1)),
        ("a release is gone", Fault::Lost, |_, k| _ = k.events.remove(3)),
        ("a move is kept twice", Fault::Doubled, |_, k| k.moves.push(k.moves[3].clone())),
        ("a retry moved once more", Fault::Doubled, |_, k| {
            done_after_all(k, "e-again");
        }),
        ("a release happened twice", Fault::Doubled, |_, k| k.events.push(k.events[3].clone())),
        ("a generation is there twice", Fault::Gap, |_, k| k.moves[3].moved.generation = 3),
        ("a generation was left out", Fault::Gap, |_, k| k.moves[3].moved.generation = 5),
        ("a move starts elsewhere", Fault::Chain, |_, k| k.moves[1].moved.from = Some("9".to_owned())),
        ("the pointer was put back", Fault::Chain, |_, k| k.pointers[0].2 = "1".to_owned()),
        ("the pointer was set without a move", Fault::Chain, |_, k| {
            k.pointers.push(("other".to_owned(), 1, "1".to_owned()));
        }),
        ("it was answered otherwise than it is kept", Fault::Altered, |h, _| {
            let end = End::Done(Some(moved(4, Some("1"), "9")));
            call(h, "e-again").tries[0].end = end;
        }),
        ("two tries were answered differently", Fault::Altered, |h, _| {
            let end = End::Done(Some(moved(9, Some("2"), "1")));
            call(h, "c-back").tries[0].end = end;
        }),
        ("a retry of what was done was refused", Fault::Altered, |h, _| {
            let end = End::Refused("already-live".to_owned());
            call(h, "e-again").tries.push(Try { began: 90, ended: 91, end });
        }),
        ("something else was done than was asked for", Fault::Altered, |h, _| {
            call(h, "e-again").version = "1".to_owned();
        }),
        ("a move was made from a generation that nobody saw", Fault::Altered, |h, _| {
            call(h, "e-again").seen = 2;
        }),
        ("a move is kept under no key", Fault::Altered, |_, k| k.moves[2].key = None),
        ("what was refused happened", Fault::RefusedYetKept, |_, k| done_after_all(k, "g-held")),
        ("what was too late happened after all", Fault::RefusedYetKept, |h, k| {
            let stale = End::Refused("stale-generation".to_owned());
            call(h, "f-lost").tries.push(Try { began: 63, ended: 64, end: stale });
            done_after_all(k, "f-lost");
        }),
        ("a move that nobody asked for", Fault::Unasked, |_, k| done_after_all(k, "z-nobody")),
        ("a replay under another key", Fault::Unasked, |_, k| {
            k.moves[2].key = Some("y-other".to_owned());
            k.moves[2].reason = "y-other".to_owned();
        }),
        ("the later call comes first", Fault::Reordered, |h, _| {
            for t in &mut call(h, "e-again").tries {
                (t.began, t.ended) = (1, 2);
            }
        }),
        ("a reader went back", Fault::Backwards, |h, _| {
            h.reads.push(Read { began: 70, ended: 71, ..h.reads[1].clone() });
        }),
        ("a reader saw less than another had seen", Fault::Backwards, |h, _| {
            h.calls.retain(|c| c.key != "e-again");
            h.reads.push(Read { began: 59, ended: 60, ..h.reads[2].clone() });
        }),
        ("a reader did not see what was acknowledged", Fault::Backwards, |h, _| {
            h.reads.clear();
            let (environment, version) = ("ring".to_owned(), Some("1".to_owned()));
            h.reads.push(Read { environment, began: 56, ended: 57, generation: 3, version });
        }),
        ("a reader saw nothing where something was", Fault::Backwards, |h, _| {
            h.reads.push(Read { began: 17, ended: 18, generation: 0, version: None, ..h.reads[0].clone() });
        }),
        ("a reader saw what had not begun", Fault::Backwards, |h, _| {
            h.reads.push(Read { began: 1, ended: 2, ..h.reads[0].clone() });
        }),
        ("a reader saw another version", Fault::Backwards, |h, _| h.reads[3].version = Some("1".to_owned())),
        ("a reader saw a move that is not kept", Fault::Backwards, |h, _| h.reads[3].generation = 7),
        ("a rollback left no hold", Fault::Hold, |_, k| {
            k.events.remove(3);
        }),
        ("a hold outlived its release", Fault::Hold, |_, k| {
            k.holds.insert(("ring".to_owned(), "2".to_owned()));
        }),
        ("what is held was moved to", Fault::Hold, |_, k| k.events.swap(3, 4)),
        ("a move has no event", Fault::Audit, |_, k| _ = k.events.remove(4)),
        ("a move has two events", Fault::Audit, |_, k| k.events.push(k.events[4].clone())),
        ("an event says otherwise", Fault::Audit, |_, k| k.events[1].moved.to = "9".to_owned()),
        ("events are in another order than moves", Fault::Audit, |_, k| k.events.swap(0, 1)),
        ("the chain is broken", Fault::Audit, |_, k| k.broken = Some("event 4 is missing".to_owned())),
        ("an answer that makes no sense", Fault::Odd, |h, _| h.odd.push("500 internal".to_owned())),
    ];
    for (what, fault, spoil) in cases {
        let (mut history, mut kept) = sound();
        spoil(&mut history, &mut kept);
        let found = faults(&history, &kept);
        assert!(found.contains(fault), "{what}: expected was {fault:?}, found {:?}", check(&history, &kept));
    }
}
