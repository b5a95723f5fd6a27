//! Webhooks. What is sent to them is tested where no HTTP is in between: `flow/webhooks.rs`.

use insta::assert_snapshot;
use serde_json::{Value, json};
use toolpact::app::App;

use super::{check, check_parts};
use crate::{
    ask::{Ask, answer, get, post},
    seed,
};

const HOOK: &str = "/api/v1/webhooks/on-call";

fn patch(body: Value) -> Ask {
    post(HOOK, body).method(axum::http::Method::PATCH)
}

async fn tag(app: &App) -> String {
    answer(app, get(HOOK)).await.header("etag").to_owned()
}

#[tokio::test]
async fn what_cannot_be_a_webhook_is_refused() {
    let app = seed::empty().await;
    for (body, part) in [
        (json!({"name": "a", "url": "ftp://example.com/"}), "/url"),
        (json!({"name": "a", "url": "/relative"}), "/url"),
        (json!({"name": "a", "url": "https://example.com/", "severities": ["bad"]}), "/severities/0"),
        (json!({"name": "a", "url": "https://example.com/", "kinds": ["draft"]}), "/kinds/0"),
        (json!({"name": "a", "url": "https://example.com/", "secret": "whsec_x"}), "/secret"),
    ] {
        let answer = answer(&app, post("/api/v1/webhooks", body.clone())).await;
        let problem: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_eq!(
            (&problem["code"], &problem["errors"][0]["pointer"]),
            (&"invalid-body".into(), &part.into()),
            "{body}"
        );
    }
    let kinds = vec!["draft.created"; 101];
    let many = post("/api/v1/webhooks", json!({"name": "a", "url": "https://example.com/", "kinds": kinds}));
    assert!(check(&app, many).await.contains("\"code\": \"bad-filter\""));
}

#[tokio::test]
async fn a_reference_means_itself_to_callers_of_the_api() {
    let app = seed::empty().await;
    let url = "https://example.com/${file:/etc/passwd}";
    let made = answer(&app, post("/api/v1/webhooks", json!({"name": "a", "url": url}))).await;
    assert_eq!(made.status, 201);
    let webhook = app.webhook(&"a".parse().expect("a name")).await.expect("there");
    assert!(webhook.url.is_literal(), "{}", webhook.url);
}

#[tokio::test]
async fn a_webhook_is_made_changed_and_forgotten() {
    let app = seed::empty().await;
    let new =
        json!({"name": "on-call", "url": "https://hooks.example.com/s3cr3t", "severities": ["breaking"]});
    let made = answer(&app, post("/api/v1/webhooks", new.clone())).await;
    assert_eq!((made.status.as_u16(), made.header("location")), (201, HOOK));
    assert!(made.body.contains("\"secret\":\"whsec_") && !made.body.contains("s3cr3t"), "{}", made.body);
    assert!(check(&app, post("/api/v1/webhooks", new)).await.contains("\"code\": \"webhook-exists\""));
    assert_snapshot!(check_parts(&app, get(HOOK), &["/to", "/severities", "/state", "/secret"]).await, @r#"
    200 content-type=application/json
    /to: "https://hooks.example.com/…"
    /severities: ["breaking"]
    /state: "active"
    /secret: null
    "#);
    let stale = patch(json!({"state": "disabled"})).header("if-match", "\"old\"");
    assert!(check(&app, stale).await.contains("\"code\": \"stale-etag\""));
    let disable =
        patch(json!({"state": "disabled", "kinds": ["draft."]})).header("if-match", &tag(&app).await);
    assert_snapshot!(check_parts(&app, disable, &["/state", "/kinds", "/severities"]).await, @r#"
    200 content-type=application/json
    /state: "disabled"
    /kinds: ["draft."]
    /severities: ["breaking"]
    "#);
    let ping = || post(&format!("{HOOK}/ping"), json!({}));
    assert!(check(&app, ping()).await.contains("\"code\": \"webhook-disabled\""));
    let enable = patch(json!({"state": "active"})).header("if-match", &tag(&app).await);
    assert_eq!(answer(&app, enable).await.status, 200);
    assert_eq!(answer(&app, ping()).await.status, 204);
    let long = post(&format!("{HOOK}/rotate"), json!({"overlapSeconds": 9_999_999}));
    assert!(
        check(&app, long.header("if-match", &tag(&app).await)).await.contains("\"code\": \"bad-overlap\"")
    );
    let rotate = post(&format!("{HOOK}/rotate"), json!({})).header("if-match", &tag(&app).await);
    assert!(check(&app, rotate).await.contains("rotatesUntil"));
    let nothing = get(&format!("{HOOK}/deliveries?status=failed"));
    assert_snapshot!(check_parts(&app, nothing, &["/items"]).await, @r#"
    200 content-type=application/json
    /items: []
    "#);
    let resend = post(&format!("{HOOK}/deliveries/7/resend"), json!({}));
    assert!(check(&app, resend).await.contains("\"code\": \"unknown-delivery\""));
    let remove = get(HOOK).method(axum::http::Method::DELETE).header("if-match", &tag(&app).await);
    assert_eq!(answer(&app, remove).await.status, 204);
    assert!(check(&app, get(HOOK)).await.contains("\"code\": \"unknown-webhook\""));
    let events = app.events(20).await.expect("events");
    let log = serde_json::to_string(&events).expect("JSON");
    assert!(!log.contains("s3cr3t") && !log.contains("whsec_"), "{log}");
}
