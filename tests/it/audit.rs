//! The audit log: whatever is done to it behind our back is found and named.

mod export;
mod receivers;
mod signing;
mod tampering;

use serde_json::json;
use toolpact::catalog::{
    Event,
    event::{NewEvent, Origin},
};

use crate::{database, support::noon};

fn promoted(origin: Option<Origin>) -> Event {
    let new = NewEvent {
        at: noon(),
        actor: "ann".to_owned(),
        kind: "environment.promoted",
        subject: "environment/production".to_owned(),
        data: json!({ "generation": 1 }),
        origin,
        seal: None,
    };
    Event::chained(new, None)
}

fn by_token() -> Origin {
    Origin {
        auth: "token:7".to_owned(),
        on_behalf_of: Some("ann".to_owned()),
        request_id: Some("r-1".to_owned()),
        idempotency_key: None,
    }
}

#[test]
fn an_event_of_before_there_were_origins_keeps_its_digest() {
    let before = r#"{"seq":1,"at":"2026-11-30T12:00:00.123456Z","actor":"ann","kind":"environment.promoted",
        "subject":"environment/production","data":{"generation":1},
        "previous":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "digest":"sha256:e39ced383e3d483268f716f4927a4e35a99164a26d91b2c996518502817ef6a1"}"#;
    let before: Event = serde_json::from_str(before).expect("an event");
    assert_eq!(before.fault(None), None);
    assert_eq!(before, promoted(None));
}

#[test]
fn the_digest_of_an_event_is_over_where_it_came_from() {
    let event = promoted(Some(by_token()));
    assert_ne!(event.digest, promoted(None).digest);
    let text = serde_json::to_value(&event).expect("JSON");
    assert_eq!(text["origin"], json!({ "auth": "token:7", "onBehalfOf": "ann", "requestId": "r-1" }));
    let mut forged = event;
    forged.origin = Some(Origin { on_behalf_of: Some("bob".to_owned()), ..by_token() });
    assert_eq!(forged.fault(None).as_deref(), Some("its content is not what its digest says"));
}

#[tokio::test]
async fn an_event_is_kept_with_where_it_came_from() {
    let store = database::store().await;
    for origin in [None, Some(by_token())] {
        let data = json!({});
        let new = NewEvent {
            at: noon(),
            actor: "ann".to_owned(),
            kind: "store.pruned",
            subject: "store".to_owned(),
            data,
            origin,
            seal: None,
        };
        store.note(new).await.expect("noted");
    }
    let kept = store.events_after(0, 10).await.expect("read");
    assert_eq!(kept.iter().map(|e| e.origin.clone()).collect::<Vec<_>>(), [None, Some(by_token())]);
    assert_eq!(kept[0].fault(None), None);
    assert_eq!(kept[1].fault(Some((1, &kept[0].digest))), None);
}
