//! Signing in through a real issuer, npm's `oidc-provider`, with the flow as a browser takes it.

use std::{collections::BTreeMap, path::Path};

use axum::http::StatusCode;
use reqwest::{Client, Url, redirect};
use toolpact::{
    access::Role,
    app::App,
    oidc::{Provider, Settings},
};

use super::{Answer, answer, stranger, with_session};
use crate::{
    ask::get,
    real::{Served, installed},
    seed,
};

/// A service and an issuer.
struct House {
    app: App,
    issuer: String,
    /// Keeps the issuer running.
    _served: Served,
}

/// Where the pages would be, were there a socket.
const HERE: &str = "http://localhost:7878";

async fn house() -> Option<House> {
    let package = installed("oidc-provider-9.13.3", "node_modules/oidc-provider")?;
    let folder = package.parent().and_then(Path::parent).expect("a package is in a folder").to_string_lossy();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/real/login.mjs");
    let callback = format!("{HERE}/login/oidc/callback");
    let served = Served::start(Path::new("node"), &[&script.to_string_lossy(), &folder, "PORT", &callback]);
    let issuer = format!("http://127.0.0.1:{}", served.port);
    let roles = BTreeMap::from([
        ("reviewers".to_owned(), [Role::Reviewer].into()),
        ("oncall".to_owned(), [Role::Operator].into()),
    ]);
    let settings = Settings {
        issuer: issuer.clone(),
        label: "the house".to_owned(),
        client_id: "toolpact".to_owned(),
        client_secret: Some("a-secret-of-forty-characters-or-even-more".to_owned()),
        public_url: HERE.to_owned(),
        name_claim: "email".to_owned(),
        groups_claim: "groups".to_owned(),
        scopes: vec!["email".to_owned(), "profile".to_owned()],
        roles,
    };
    let provider = Provider::new(settings).expect("set up");
    Some(House { app: seed::story().await.with_oidc(provider), issuer, _served: served })
}

impl House {
    /// A browser that is signed in nowhere; the issuer takes whoever comes from now on for this account.
    async fn browser(&self, account: &str) -> Browser<'_> {
        // As the provider has: it was set up before.
        let http = Client::builder().redirect(redirect::Policy::none()).build().expect("a client");
        let said = http.get(format!("{}/as?{account}", self.issuer)).send().await.expect("it answers");
        assert_eq!(said.status(), 200);
        Browser { house: self, http, cookies: BTreeMap::new() }
    }

    /// Signs this account in, with a browser of its own.
    async fn sign_in(&self, account: &str) -> Answer {
        let mut browser = self.browser(account).await;
        let (url, kept) = browser.begin().await;
        let path = browser.at_issuer(url).await;
        browser.back(&path, &kept).await
    }
}

/// A browser, and what the issuer made it keep.
struct Browser<'h> {
    house: &'h House,
    http: Client,
    cookies: BTreeMap<String, String>,
}

impl Browser<'_> {
    /// Begins to sign in: where the browser is sent, and what it keeps.
    async fn begin(&self) -> (Url, String) {
        let going = answer(&self.house.app, stranger(get("/login/oidc?next=/catalogs/shop"))).await;
        let kept = going.header("set-cookie").split(';').next().expect("a cookie").to_owned();
        (going.header("location").parse().unwrap_or_else(|e| panic!("{e}: {}", going.body)), kept)
    }

    /// At the issuer, until it sends the browser back to us.
    async fn at_issuer(&mut self, mut url: Url) -> String {
        for _ in 0..10 {
            let cookies: Vec<_> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let asked = self.http.get(url.clone()).header("cookie", cookies.join("; "));
            let answer = asked.send().await.expect("the issuer answers");
            for line in answer.headers().get_all("set-cookie").iter().filter_map(|v| v.to_str().ok()) {
                let pair = line.split(';').next().and_then(|pair| pair.split_once('='));
                let (name, value) = pair.expect("a cookie");
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
            let next = answer.headers().get("location").and_then(|v| v.to_str().ok()).map(ToOwned::to_owned);
            let next = next.unwrap_or_else(|| panic!("{} leads nowhere", answer.url()));
            url = url.join(&next).expect("a URL");
            if let Some(path) = url.as_str().strip_prefix(HERE) {
                return path.to_owned();
            }
        }
        panic!("the issuer never ends: {url}")
    }

    /// Comes back with what the issuer sent and what the browser kept.
    async fn back(&self, path: &str, kept: &str) -> Answer {
        answer(&self.house.app, stranger(get(path)).header("cookie", kept)).await
    }
}

fn session(answer: &Answer) -> String {
    let cookies = answer.headers.get_all("set-cookie").iter().filter_map(|v| v.to_str().ok());
    let kept = cookies.filter_map(|c| c.strip_prefix("__Host-toolpact=")).next();
    kept.unwrap_or_else(|| panic!("{} {}", answer.status, answer.body))
        .split(';')
        .next()
        .expect("one")
        .to_owned()
}

const ANA: &str = "sub=1&email=ana@corp.example&verified=true&groups=reviewers+others";

#[tokio::test]
async fn people_sign_in_through_an_issuer_and_have_the_roles_of_their_groups() {
    let Some(house) = house().await else { return };
    let login = answer(&house.app, stranger(get("/login"))).await;
    assert!(login.body.contains("Sign in with the house"), "{}", login.body);
    let into = house.sign_in(ANA).await;
    assert_eq!((into.status, into.header("location")), (StatusCode::SEE_OTHER, "/catalogs/shop"));
    let me = answer(&house.app, with_session(get("/api/v1/me"), &session(&into))).await.body;
    let me: serde_json::Value = serde_json::from_str(&me).expect("JSON");
    assert_eq!(me["name"], "ana@corp.example");
    assert_eq!(me["rights"], serde_json::json!(["read", "draft", "review"]));
    assert_eq!(me["auth"], format!("oidc:{}", house.issuer));
}

#[tokio::test]
async fn whom_the_issuer_does_not_vouch_for_is_not_signed_in() {
    let Some(house) = house().await else { return };
    for (who, says) in [
        ("sub=2&email=ben@corp.example&verified=true&groups=others", "in no group that has a role"),
        ("sub=2&email=ben@corp.example&verified=true", "in no group that has a role"),
        ("sub=2&email=ben@corp.example&verified=false&groups=oncall", "is not verified"),
        ("sub=2&verified=true&groups=oncall", "is no name"),
    ] {
        let refused = house.sign_in(who).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{who}: {}", refused.body);
        assert!(refused.body.contains(says), "{who}: {}", refused.body);
    }
}

#[tokio::test]
async fn a_name_stays_with_the_account_that_had_it_first() {
    let Some(house) = house().await else { return };
    assert_eq!(house.sign_in(ANA).await.status, StatusCode::SEE_OTHER);
    // Another account that the issuer gave the address to.
    let refused = house.sign_in(&ANA.replace("sub=1", "sub=9")).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.body.contains("another account"), "{}", refused.body);
    // The same account under another address is who it was.
    let into = house.sign_in(&ANA.replace("ana@", "ana.new@")).await;
    let me = answer(&house.app, with_session(get("/api/v1/me"), &session(&into))).await.body;
    assert!(me.contains("\"ana@corp.example\""), "{me}");
}

#[tokio::test]
async fn a_login_comes_back_once_and_to_the_browser_that_began_it() {
    let Some(house) = house().await else { return };
    let mut browser = house.browser(ANA).await;
    let (url, kept) = browser.begin().await;
    let path = browser.at_issuer(url).await;
    // Somebody else's browser, sent here with the code of an attacker.
    let (_, other) = browser.begin().await;
    for cookies in ["", other.as_str(), "__Host-toolpact-login=0"] {
        let mut victim = house.browser(ANA).await;
        let (url, _) = victim.begin().await;
        let path = victim.at_issuer(url).await;
        assert_eq!(browser.back(&path, cookies).await.status, StatusCode::FORBIDDEN, "{cookies}");
    }
    assert_eq!(browser.back(&path, &kept).await.status, StatusCode::SEE_OTHER);
    assert_eq!(browser.back(&path, &kept).await.status, StatusCode::FORBIDDEN, "a replay");
    for path in [
        "/login/oidc/callback",
        "/login/oidc/callback?state=0&code=0",
        "/login/oidc/callback?error=access_denied",
    ] {
        assert_eq!(browser.back(path, &kept).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    let (url, kept) = browser.begin().await;
    let state = url.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
    let refused =
        browser.back(&format!("/login/oidc/callback?state={state}&error=access_denied"), &kept).await;
    assert!(refused.body.contains("access_denied"), "{}", refused.body);
    for part in ["code_challenge_method=S256", "nonce=", "response_type=code"] {
        assert!(url.as_str().contains(part), "{url}");
    }
}
