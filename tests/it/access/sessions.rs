//! Signing in and out with a token and by a link.

use toolpact::access::{CallerKind, Role};

use super::{Answer, App, answer, stranger, token, with_session};
use crate::{
    ask::{get, submit},
    seed,
};

/// The secret that an answer makes the browser keep.
fn cookie(answer: &Answer) -> String {
    let line = answer.header("set-cookie");
    let (pair, rest) = line.split_once("; ").unwrap_or_else(|| panic!("no cookie in {line}"));
    assert_eq!(rest, "Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Lax");
    pair.strip_prefix("__Host-toolpact=").expect("the session").to_owned()
}

async fn signed_in(app: &App, secret: &str) -> Answer {
    answer(app, stranger(submit("/login", &[("token", secret), ("next", "/catalogs/shop")]))).await
}

#[tokio::test]
async fn a_person_signs_in_with_a_token_and_out_again() {
    let app = seed::story().await;
    let (id, secret) = token(&app, "mara", CallerKind::Human, Role::Reviewer).await;
    let sent = answer(&app, stranger(get("/catalogs/shop?x=1"))).await;
    assert_eq!(sent.header("location"), "/login?next=%2Fcatalogs%2Fshop%3Fx%3D1");
    let into = signed_in(&app, &secret).await;
    assert_eq!((into.status.as_u16(), into.header("location")), (303, "/catalogs/shop"));
    let session = cookie(&into);
    let page = answer(&app, with_session(get("/catalogs/shop"), &session)).await;
    assert!(page.status == 200 && page.body.contains("mara"), "{}", page.body);
    let me = answer(&app, with_session(get("/api/v1/me"), &session)).await.body;
    assert!(me.contains(&format!("session:{id}")), "{me}");
    let out = answer(&app, with_session(submit("/logout", &[]), &session)).await;
    assert!(out.header("set-cookie").contains("Max-Age=0"), "{}", out.header("set-cookie"));
    for event in app.events(2).await.expect("a log") {
        let origin = event.origin.expect("a request");
        assert_eq!((event.actor.as_str(), origin.auth.as_str()), ("mara", &*format!("session:{id}")));
        assert_eq!(origin.request_id.expect("its name").len(), 16, "{}", event.kind);
    }
    let replayed = answer(&app, with_session(get("/catalogs/shop"), &session)).await;
    assert!(replayed.header("location").starts_with("/login?next="), "signed out is signed out");
}

#[tokio::test]
async fn a_session_ends_with_its_token() {
    let app = seed::story().await;
    let (id, secret) = token(&app, "mara", CallerKind::Human, Role::Reviewer).await;
    let session = cookie(&signed_in(&app, &secret).await);
    app.revoke_token(&id, "root").await.expect("taken back");
    let page = answer(&app, with_session(get("/"), &session)).await;
    assert!(page.header("location").starts_with("/login?next="));
}

#[tokio::test]
async fn only_people_sign_in_and_only_with_tokens() {
    let app = seed::story().await;
    let (_, pipeline) = token(&app, "build", CallerKind::Ci, Role::Operator).await;
    let (id, gone) = token(&app, "mara", CallerKind::Human, Role::Reviewer).await;
    app.revoke_token(&id, "root").await.expect("taken back");
    for secret in [pipeline.as_str(), gone.as_str(), "tp_0", "", "x"] {
        let refused = signed_in(&app, secret).await;
        assert_eq!(refused.status, 403, "{secret}");
        assert_eq!(refused.header("set-cookie"), "", "{secret}");
        assert!(
            refused.body.contains("role=\"alert\"") && !refused.body.contains(&pipeline),
            "{}",
            refused.body
        );
    }
}

#[tokio::test]
async fn a_link_signs_in_once() {
    let app = seed::story().await;
    let secret = app.link("you").expect("randomness");
    let follow = |secret: &str| stranger(get(&format!("/login/link?secret={secret}&next=/servers")));
    let into = answer(&app, follow(&secret)).await;
    assert_eq!((into.status.as_u16(), into.header("location")), (303, "/servers"));
    let page = answer(&app, with_session(get("/servers"), &cookie(&into))).await;
    assert_eq!(page.status, 200);
    for secret in [secret.as_str(), "", "0"] {
        assert_eq!(answer(&app, follow(secret)).await.status, 403, "{secret}");
    }
}

/// A name that an account's owner may choose is not taken for that of somebody who has tokens, however much it looks like an address.
#[tokio::test]
async fn only_a_verified_address_is_taken_for_who_has_tokens() {
    use toolpact::app::access::sessions::Vouched;
    let app = seed::story().await;
    for owner in ["ann", "ben@corp.example"] {
        token(&app, owner, CallerKind::Human, Role::Viewer).await;
    }
    for (name, verified, wanted) in [
        ("carl", false, None),
        ("carl@corp.example", true, None),
        ("ann", false, Some("name-taken")),
        ("ben@corp.example", false, Some("name-taken")),
        ("ben@corp.example", true, None),
        ("toolpact", true, Some("name-taken")),
    ] {
        let vouched = Vouched {
            issuer: "https://login.example.com".to_owned(),
            subject: format!("{name} {verified}"),
            name: name.to_owned(),
            verified,
            roles: [Role::Viewer].into(),
        };
        let got = app.sign_in_vouched(vouched.clone()).await;
        assert_eq!(got.err().map(|e| e.code), wanted, "{name} {verified}");
        if wanted.is_none() && !verified {
            // A token of their own does not make it another's.
            token(&app, name, CallerKind::Human, Role::Viewer).await;
            app.sign_in_vouched(vouched).await.expect("signed in again");
        }
    }
}
