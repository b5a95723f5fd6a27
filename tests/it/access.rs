//! Who may do what: the table of permissions walked with every kind of caller, tokens and sessions as their holders use them,
//! and what attackers try.

mod attacks;
mod connections;
mod issuer;
mod sessions;
mod tokens;
pub(crate) mod walk;

use std::collections::BTreeSet;

use serde_json::Value;
use toolpact::{
    access::{Caller, CallerKind, Role, Scope},
    app::{App, access::tokens::NewToken},
};

use crate::ask::{Answer, Ask, answer};

/// A caller of this kind with this role.
fn caller(kind: CallerKind, role: Role) -> Caller {
    Caller { kind, roles: BTreeSet::from([role]), ..Caller::local(format!("{kind}-{role}")) }
}

/// A scope of one catalog, or of one environment.
fn scope(catalog: Option<&str>, environment: Option<&str>) -> Scope {
    Scope {
        catalogs: catalog.map(|name| BTreeSet::from([name.parse().expect("a name")])),
        environments: environment.map(|name| BTreeSet::from([name.parse().expect("a name")])),
    }
}

/// A token that was just made; answers its id and its secret.
async fn token(app: &App, owner: &str, kind: CallerKind, role: Role) -> (String, String) {
    let new = NewToken {
        name: "a test".to_owned(),
        owner: owner.to_owned(),
        kind,
        roles: BTreeSet::from([role]),
        scope: Scope::default(),
        expires_at: None,
    };
    let (token, secret) = app.create_token(new, "root").await.expect("made");
    (token.id, secret)
}

/// The request of somebody of whom nothing is known but what it shows.
fn stranger(ask: Ask) -> Ask {
    ask.caller(None)
}

/// The same, with a token.
fn with_token(ask: Ask, secret: &str) -> Ask {
    stranger(ask).header("authorization", &format!("Bearer {secret}"))
}

/// The same, with a session's cookie.
fn with_session(ask: Ask, secret: &str) -> Ask {
    stranger(ask).header("cookie", &format!("__Host-toolpact={secret}"))
}

/// The status and the code of what comes back.
async fn check(app: &App, ask: Ask) -> String {
    said(&answer(app, ask).await)
}

fn said(answer: &Answer) -> String {
    let json: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    format!("{} {}", answer.status.as_u16(), json["code"].as_str().unwrap_or_default()).trim().to_owned()
}
