//! What is signed, and bundles that prove it on another machine.

use serde_json::{Value, json};
use toolpact::{
    app::{App, signing::verify_bundle},
    catalog::{
        chain::Checkpoint,
        sign::{SigningKey, Statement as _},
        statement::{MoveStatement, VersionStatement},
    },
    json::Digest,
};

use crate::support::{app, is, listing, noon, to, tool};

/// Something that is done to a bundle.
type Edit<'a> = Box<dyn Fn(&mut Value) + 'a>;

fn key(seed: u8) -> SigningKey {
    SigningKey::of_seed(&[seed; 32])
}

/// A version of two tools, live in production, signed with this key; and something that happened since.
async fn signed(key: Option<SigningKey>) -> App {
    let (app, _store) = app().await;
    let app = app.signing_with(key);
    app.record(&is("orders"), listing(&[tool("a", &["id"]), tool("b", &[])]), "ci").await.expect("recorded");
    let draft = app.draft(&is("orders"), &[is("orders")], "ci").await.expect("drafted");
    app.approve(&is("orders"), draft.id, false, "first", "ann").await.expect("approved");
    app.promote(&to("production", is("2026.11.30"), 0)).await.expect("promoted");
    app.apply("other", "catalog: other", "bob").await.expect("applied");
    app
}

async fn bundled(app: &App) -> String {
    app.bundle(&is("orders"), None).await.expect("bundled").write()
}

#[tokio::test]
async fn a_version_and_a_move_are_signed_with_the_event_of_their_write() {
    let app = signed(Some(key(1))).await;
    let keys = [key(1).public()];
    let events = app.events(100).await.expect("read");
    let event = |kind: &str| events.iter().find(|e| e.kind == kind).expect("it happened");

    let [version] = &app.version_signatures(&is("orders"), is("2026.11.30")).await.expect("read")[..] else {
        panic!("one signature")
    };
    let (said, id): (VersionStatement, Digest) = version.envelope.statement(&keys).expect("proved");
    assert_eq!((&id, said.event.as_ref().map(|e| e.seq)), (&key(1).public().id(), Some(version.seq)));
    assert_eq!(said.event.expect("named").digest, event("draft.approved").digest);
    assert_eq!(said.digest, app.version(&is("orders"), is("2026.11.30")).await.expect("there").digest);

    let [moved] = &app.pointer_signatures(&is("production"), None).await.expect("read")[..] else {
        panic!("one signature")
    };
    let (moved, _): (MoveStatement, Digest) = moved.envelope.statement(&keys).expect("proved");
    assert_eq!((moved.generation, moved.to, moved.digest), (1, is("2026.11.30"), said.digest));
    assert_eq!(moved.event.expect("named").digest, event("environment.promoted").digest);

    app.apply("orders", "catalogVersion: 2026.12.01\ntools: []\n", "ann").await.expect("applied");
    let imported = app.version_signatures(&is("orders"), is("2026.12.01")).await.expect("read");
    assert_eq!(imported.len(), 1, "an imported version is signed as well");
}

#[tokio::test]
async fn without_a_key_nothing_is_signed_and_no_bundle_pretends_so() {
    let app = signed(None).await;
    assert!(app.version_signatures(&is("orders"), is("2026.11.30")).await.expect("read").is_empty());
    assert!(app.pointer_signatures(&is("production"), None).await.expect("read").is_empty());
    assert_eq!(app.bundle(&is("orders"), None).await.expect_err("refused").code, "unsigned");
    assert_eq!(app.bundle(&is("other"), None).await.expect_err("refused").code, "unknown-version");
    let none = app.version_signatures(&is("orders"), is("2027.01.01")).await.expect_err("refused");
    assert_eq!(none.code, "unknown-version");
}

#[tokio::test]
async fn a_bundle_is_proved_by_the_public_key_alone() {
    let app = signed(Some(key(1))).await;
    let text = bundled(&app).await;
    let (bundle, proved) =
        verify_bundle("bundle", &text, &[key(1).public()]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((proved.contracts, proved.keys), ((2, 0), vec![key(1).public().id()]));
    assert_eq!(proved.moves, ["production at generation 1 by ann"]);
    assert_eq!(proved.checkpoint.map(|c| c.seq), Some(6), "with a key the log goes on to now");
    assert_eq!(bundle.events.iter().map(|e| e.seq).collect::<Vec<_>>(), [4, 5, 6]);
    // Its document makes the same version elsewhere.
    let (elsewhere, _store) = crate::support::app().await;
    elsewhere.apply("orders", &bundle.document, "bob").await.expect("applied");
    let there = elsewhere.version(&is("orders"), is("2026.11.30")).await.expect("there");
    assert_eq!(there.digest, bundle.version.digest);
    // Whoever has no key hands on what was signed, to the event of the version.
    let text = bundled(&app.signing_with(None)).await;
    let (bundle, proved) =
        verify_bundle("bundle", &text, &[key(1).public()]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((bundle.events.len(), proved.checkpoint), (1, None));
}

#[tokio::test]
async fn after_a_rotation_old_signatures_hold_for_whoever_accepts_the_old_key() {
    let app = signed(Some(key(1))).await.signing_with(Some(key(2)));
    let text = bundled(&app).await;
    let (old, new) = (key(1).public(), key(2).public());
    verify_bundle("bundle", &text, &[new.clone(), old.clone()]).unwrap_or_else(|e| panic!("{e}"));
    let refused = |keys: &[_]| verify_bundle("bundle", &text, keys).expect_err("refused").message;
    let only_new = refused(&[new]);
    assert!(only_new.contains("signatures[0]: none of the keys given made it"), "{only_new}");
    // The checkpoint is the new key's.
    let only_old = refused(&[old]);
    assert!(only_old.contains("checkpoint: none of the keys given made it"), "{only_old}");
}

#[tokio::test]
async fn an_edited_bundle_is_refused_and_the_part_is_named() {
    let text = bundled(&signed(Some(key(1))).await).await;
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    let other = bundled(&signed(Some(key(9))).await).await;
    let other: Value = serde_json::from_str(&other).expect("JSON");
    let forged = Checkpoint { seq: 6, digest: Digest::of_bytes(b"x"), count: 6, at: noon() }.signed(&key(1));
    let set = |pointer: &'static str, value: Value| {
        move |bundle: &mut Value| *bundle.pointer_mut(pointer).expect("there") = value.clone()
    };
    let cases: Vec<(Edit<'_>, &str)> = vec![
        (Box::new(set("/form", json!("toolpact-bundle/2"))), "form: "),
        (Box::new(set("/version/version", json!("2026.12.01"))), "version.version: "),
        (Box::new(set("/version/reason", json!("another"))), "version.reason: "),
        (Box::new(set("/version/approvedBy", json!("mallory"))), "version.approvedBy: "),
        (Box::new(set("/version/content/members/0/contractVersion", json!("9.0.0"))), "version.content: "),
        (
            Box::new(set("/version/content/servers/0/provenance/target", json!("elsewhere"))),
            "version.content: ",
        ),
        (
            Box::new(|b| _ = b["version"]["content"]["members"].as_array_mut().expect("array").pop()),
            "version.content: ",
        ),
        (Box::new(|b| b["version"]["digest"] = b["events"][0]["digest"].clone()), "version.content: "),
        (
            Box::new(set("/contracts/0/raw", json!(tool("a", &["other"]).to_string()))),
            "contracts[0] (`a` of `orders`): its digests",
        ),
        (Box::new(set("/contracts/0/raw", json!("{"))), "contracts[0] (`a` of `orders`): it is no JSON"),
        (Box::new(set("/contracts/1/tool", json!("a"))), "contracts[1] (`a` of `orders`): "),
        (Box::new(set("/contracts/1/server", json!("elsewhere"))), "contracts[1] (`b` of `elsewhere`): "),
        (
            Box::new(|b| b["signatures"][0] = other["signatures"][0].clone()),
            "signatures[0]: none of the keys",
        ),
        (Box::new(|b| b["signatures"] = json!([])), "signatures: nothing is signed"),
        (
            Box::new(|b| b["signatures"][0]["payload"] = b["moves"][0]["payload"].clone()),
            "signatures[0]: the signature of key",
        ),
        (Box::new(|b| b["signatures"][0] = b["moves"][0].clone()), "signatures[0]: it is signed as"),
        (
            Box::new(|b| b["moves"][0]["signatures"] = b["signatures"][0]["signatures"].clone()),
            "moves[0]: the signature of key",
        ),
        (Box::new(|b| b["moves"][0] = b["signatures"][0].clone()), "moves[0]: it is signed as"),
        (
            Box::new(set("/events/0/actor", json!("mallory"))),
            "events: event 4 does not fit the chain: its content",
        ),
        (
            Box::new(set("/events/1/data/reason", json!("x"))),
            "events: event 5 does not fit the chain: its content",
        ),
        (
            Box::new(|b| _ = b["events"].as_array_mut().expect("array").remove(0)),
            "events: the first is not event 4",
        ),
        (
            Box::new(|b| _ = b["events"].as_array_mut().expect("array").remove(1)),
            "events: event 6 does not fit the chain: event 5 is missing",
        ),
        (
            Box::new(|b| _ = b["events"].as_array_mut().expect("array").pop()),
            "events: event 6 does not fit the chain: it is missing",
        ),
        (Box::new(|b| b["events"].as_array_mut().expect("array").swap(1, 2)), "events: event 6 does not fit"),
        (Box::new(set("/events", json!([]))), "events: there are none"),
        (
            Box::new(|b| _ = b.as_object_mut().expect("object").remove("checkpoint")),
            "events: they go on behind event 4",
        ),
        (Box::new(|b| b["checkpoint"] = other["checkpoint"].clone()), "checkpoint: none of the keys"),
        (
            Box::new(move |b| b["checkpoint"] = serde_json::to_value(&forged).expect("JSON")),
            "are not those that were there",
        ),
        (Box::new(set("/document", json!("catalog: orders\n"))), "document: "),
        (Box::new(|b| b["version"]["more"] = json!(1)), "it is not as it was written"),
        (Box::new(|b| b["more"] = json!(1)), "the file: it is no bundle"),
    ];
    for (edit, part) in &cases {
        let mut bundle = whole.clone();
        edit(&mut bundle);
        let text = serde_json::to_string_pretty(&bundle).expect("JSON") + "\n";
        let refused = verify_bundle("bundle", &text, &[key(1).public()]);
        let error = refused.err().unwrap_or_else(|| panic!("{part}: it was not seen"));
        assert!(error.code == "bundle-unproved" && error.message.contains(part), "{part}: {}", error.message);
    }
    for at in (0..text.len()).step_by(17) {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let changed = String::from_utf8_lossy(&bytes);
        let around = &text[at.saturating_sub(30)..at + 1];
        assert!(verify_bundle("bundle", &changed, &[key(1).public()]).is_err(), "byte {at}: {around}");
    }
}
