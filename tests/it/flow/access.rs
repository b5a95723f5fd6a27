//! Registered servers behind OAuth: one token for many listings, under contexts, and kept nowhere.

use toolpact::{
    app::App,
    catalog::{document, server::AuthContext},
    snapshot::Outcome,
};

use crate::{
    mcp::http::oauth::{SECRET, TOKEN, honest, start},
    support::is,
};

#[tokio::test]
async fn a_registered_client_gets_one_token_and_it_is_kept_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("toolpact.db");
    let app = App::open(&crate::database::file(&file), std::sync::Arc::new(crate::support::Noon))
        .await
        .expect("opened");
    let app = app.with_variables(|name| (name == "CLIENT_SECRET").then(|| SECRET.to_owned()));
    let (base, log) = start(honest).await;
    let text = format!(
        "catalog: all\nservers:\n  mine:\n    url: {base}/mcp\n    oauth:\n      clientId: client\n      \
         clientSecret: ${{CLIENT_SECRET}}\n"
    );
    app.apply("all.yaml", &text, "ann").await.expect("applied");
    for _ in 0..2 {
        let recorded = app.snapshot_registered(&is("mine"), "ann").await.expect("asked");
        assert_eq!(recorded.listing.outcome, Outcome::Ok, "{:?}", recorded.listing.evidence);
    }
    let specs = app.registered().await.expect("there");
    let client = serde_json::to_value(&specs[0].source).expect("JSON")["oauth"].take();
    assert_eq!(client["clientSecret"], "${CLIENT_SECRET}");

    // The one context is let in as the server's own client, the other by a header that counts in its place.
    let mut wrong = AuthContext { name: "wrong".to_owned(), ..AuthContext::default() };
    wrong.headers.insert("Authorization".to_owned(), "Bearer ${CLIENT_SECRET}".into());
    let right = AuthContext { name: "right".to_owned(), ..AuthContext::default() };
    for context in [right, wrong] {
        app.set_context(&is("mine"), context, false, "ann").await.expect("set");
    }
    let recorded = app.snapshot_registered(&is("mine"), "ann").await.expect("asked");
    assert_eq!(recorded.listing.outcome, Outcome::Ok, "{:?}", recorded.listing.evidence);
    assert_eq!(recorded.contexts[0].0.outcome, Outcome::AuthRequired);
    let tokens = log.lock().expect("whole").iter().filter(|path| *path == "/token").count();
    assert_eq!(tokens, 1);

    drop(app);
    for entry in std::fs::read_dir(folder.path()).expect("a folder") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("readable");
        for secret in [SECRET, TOKEN] {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret} is kept");
        }
    }
}

#[test]
fn a_document_says_the_client_and_never_its_secret() {
    let of =
        |oauth: &str| format!("catalog: all\nservers:\n  a:\n    url: https://h/mcp\n    oauth:\n{oauth}");
    let whole = "      clientId: client\n      clientSecret: \"${A}\"\n      tokenUrl: \"https://as/token\"\n      \
                 scope: \"a b\"\n      resource: \"urn:a\"\n";
    let read = document::read(&of(whole)).expect("a document");
    assert!(read.write().contains(whole), "{}", read.write());
    for (oauth, expected) in [
        ("      clientId: client\n", "`clientSecret`"),
        ("      clientSecret: ${A}\n", "`clientId`"),
        (
            "      clientId: client\n      clientSecret: in-clear\n",
            "7:21: `clientSecret` holds a secret in clear; write a reference such as `${VAR}`",
        ),
        ("      clientID: client\n      clientSecret: ${A}\n", "did you mean `clientId`?"),
    ] {
        let error = document::read(&of(oauth)).expect_err("refused").to_string();
        assert!(error.contains(expected) && !error.contains("in-clear"), "{error}");
    }
    let command = "catalog: all\nservers:\n  a:\n    command: [x]\n    oauth:\n      clientId: a\n";
    let error = document::read(command).expect_err("refused").to_string();
    assert!(error.contains("`oauth` belongs to a `url`"), "{error}");
}
