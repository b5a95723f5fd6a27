//! What a database holds when all is over, read beside the service.

use serde_json::Value;
use toolpact::{app::App, catalog::MoveKind, store::Store};

use super::history::{Event, Kept, Move, Moved, Verb};
use crate::{database::Behind, support::is};

/// Everything that a history is held against.
pub(super) async fn kept(app: &App, store: &dyn Store, db: &mut Behind) -> Kept {
    let mut kept = Kept::default();
    let pointers = store.pointers().await.expect("read");
    for pointer in &pointers {
        let environment = pointer.environment.to_string();
        let moves = store.moves(&pointer.environment, Some(&pointer.catalog), None, usize::MAX);
        for m in moves.await.expect("read") {
            let verb = match m.kind {
                MoveKind::Promote => Verb::Promote,
                MoveKind::Rollback => Verb::Rollback,
            };
            let from = m.from.map(|v| v.to_string());
            let moved = Moved { generation: m.generation, from, to: m.to.to_string() };
            kept.moves.push(Move {
                environment: environment.clone(),
                verb,
                moved,
                reason: m.reason,
                key: None,
            });
        }
        for held in store.holds(&pointer.environment, &pointer.catalog).await.expect("read") {
            kept.holds.insert((environment.clone(), held.to_string()));
        }
        kept.pointers.push((environment, pointer.generation, pointer.version.to_string()));
    }
    // Only a retry asks for a key, and this is no retry. Releases are kept under theirs too, beside the move they follow.
    let keys = "SELECT environment || ' ' || CAST(generation AS TEXT) || ' ' || key FROM idempotency_keys";
    for line in db.texts(keys).await {
        let mut words = line.splitn(3, ' ');
        let (environment, generation, key) = (words.next(), words.next(), words.next());
        let of = kept.moves.iter_mut().find(|m| {
            Some(m.environment.as_str()) == environment
                && Some(m.moved.generation.to_string().as_str()) == generation
                && Some(m.reason.as_str()) == key
        });
        if let Some(m) = of {
            m.key = key.map(str::to_owned);
        }
    }
    let mut last = 0;
    loop {
        let batch = store.events_after(last, 1_000).await.expect("read");
        let Some(end) = batch.last() else { break };
        last = end.seq;
        kept.events.extend(batch.into_iter().filter_map(event));
    }
    let checked = app.verify_events().await.expect("read");
    kept.broken = checked.broken.map(|(seq, fault)| format!("event {seq}: {fault}"));
    kept
}

fn event(e: toolpact::catalog::Event) -> Option<Event> {
    let (verb, to) = match e.kind.as_str() {
        "environment.promoted" => (Verb::Promote, "to"),
        "environment.rolled-back" => (Verb::Rollback, "to"),
        "environment.hold-released" => (Verb::Release, "released"),
        _ => return None,
    };
    let text = |name: &str| e.data.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Event {
        seq: e.seq,
        environment: e.subject.trim_start_matches("environment/").to_owned(),
        verb,
        moved: Moved {
            generation: e.data.get("generation").and_then(Value::as_i64).unwrap_or(-1),
            from: text("from"),
            to: text(to).unwrap_or_default(),
        },
        reason: text("reason").unwrap_or_default(),
    })
}

/// Four versions of a catalog `orders`, each with a tool more than the one before.
pub(super) async fn four_versions(app: &App) {
    let names = ["a", "b", "c", "d"];
    for count in 1..=names.len() {
        let tools: Vec<_> = names[..count].iter().map(|name| crate::support::tool(name, &["id"])).collect();
        app.record(&is("orders"), crate::support::listing(&tools), "ci").await.expect("recorded");
        let draft = app.draft(&is("orders"), &[is("orders")], "ci").await.expect("drafted");
        app.approve(&draft.catalog, draft.id, true, "because", "ann").await.expect("approved");
    }
}
