//! Signing in and out: with a token, by a link that the service printed, or through an issuer.

use std::{convert::Infallible, net::IpAddr, sync::Arc};

use askama::Template;
use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Query, page, see, with_cookies},
};
use crate::{
    app::{App, AppError, access::sessions::SESSION},
    guard::{Denied, Limits, cookie, request_id},
};

/// Whoever is at the door, known by their address alone.
pub(super) struct Guest {
    limits: Option<Arc<Limits>>,
    address: Option<IpAddr>,
}

impl Guest {
    /// Counts a token that is none.
    fn fails(&self) -> Result<(), Error> {
        self.counted(|limits| limits.failed(self.address))
    }

    /// Counts a way to the issuer, or back.
    fn arrives(&self) -> Result<(), Error> {
        self.counted(|limits| limits.arrives(self.address))
    }

    /// Counts a session that this token is to begin.
    fn begins(&self, token: &str) -> Result<(), Error> {
        self.counted(|limits| limits.may_begin(token))
    }

    fn counted(&self, count: impl FnOnce(&Limits) -> Result<(), u64>) -> Result<(), Error> {
        let Some(limits) = &self.limits else { return Ok(()) };
        count(limits).map_err(|seconds| Error::Denied(Denied::TooOften(seconds)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Guest {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let limits: Option<Arc<Limits>> = parts.extensions.get().cloned();
        let address = limits.as_ref().and_then(|limits| limits.address(parts));
        Ok(Self { limits, address })
    }
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    /// Where to go afterwards.
    next: String,
    /// What people call the issuer, where there is one.
    issuer: Option<String>,
    notice: Option<(String, String)>,
}

/// The use cases for somebody who comes in or goes: what they note says by which request.
pub(super) struct Visit(App);

impl FromRequestParts<App> for Visit {
    type Rejection = Infallible;
    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(Self(app.asked(request_id::current())))
    }
}

#[derive(Deserialize)]
pub(super) struct LoginQuery {
    #[serde(default)]
    next: String,
}

/// Asks for a token, and offers the issuer.
pub(super) async fn show_login(State(app): State<App>, Query(query): Query<LoginQuery>) -> Response {
    shown(&app, query.next, None)
}

fn shown(app: &App, next: String, failure: Option<AppError>) -> Response {
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let notice = failure.map(error::told);
    page(status, &LoginPage { next, issuer: app.issuer(), notice })
}

#[derive(Deserialize)]
pub(super) struct LoginForm {
    token: String,
    #[serde(default)]
    next: String,
}

/// Signs in with a token, then goes on to the page that was asked for.
pub(super) async fn sign_in(
    Visit(app): Visit,
    guest: Guest,
    Form(form): Form<LoginForm>,
) -> Result<Response, Error> {
    guest.begins(&form.token)?;
    match app.sign_in(&form.token).await {
        Ok(secret) => Ok(signed_in(&secret, &form.next)),
        Err(e) => {
            guest.fails()?;
            Ok(shown(&app, form.next, Some(e)))
        }
    }
}

#[derive(Deserialize)]
pub(super) struct LinkQuery {
    secret: String,
    #[serde(default)]
    next: String,
}

/// Signs in whoever started the service and followed the link that it printed.
pub(super) async fn follow_link(
    Visit(app): Visit,
    Query(query): Query<LinkQuery>,
) -> Result<Response, Error> {
    Ok(signed_in(&app.follow_link(&query.secret).await?, &query.next))
}

/// Goes to the issuer.
pub(super) async fn begin_oidc(
    State(app): State<App>,
    guest: Guest,
    Query(query): Query<LoginQuery>,
) -> Result<Response, Error> {
    guest.arrives()?;
    let (url, browser) = app.begin_oidc(&local(&query.next)).await?;
    Ok(with_cookies(see(&url), [cookie::keep_login(&browser, 600)]))
}

#[derive(Deserialize)]
pub(super) struct Callback {
    #[serde(default)]
    state: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

/// Comes back from the issuer.
pub(super) async fn finish_oidc(
    Visit(app): Visit,
    guest: Guest,
    Query(query): Query<Callback>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    guest.arrives()?;
    let browser = cookie::login(&headers).unwrap_or_default();
    let refusal = match query.error.as_str() {
        "" => None,
        error => Some(format!("{error} {}", query.error_description).trim().to_owned()),
    };
    let (secret, next) = app.finish_oidc(&query.state, browser, &query.code, refusal.as_deref()).await?;
    Ok(with_cookies(signed_in(&secret, &next), [cookie::forget_login()]))
}

/// Signs out, wherever one was signed in.
pub(super) async fn sign_out(Visit(app): Visit, headers: HeaderMap) -> Result<Response, Error> {
    if let Some(secret) = cookie::session(&headers) {
        app.sign_out(secret).await?;
    }
    Ok(with_cookies(see("/login"), [cookie::forget_session()]))
}

fn signed_in(secret: &str, next: &str) -> Response {
    with_cookies(see(&local(next)), [cookie::keep_session(secret, SESSION.num_seconds())])
}

/// A page of ours, whatever somebody wrote into a link to the login.
fn local(next: &str) -> String {
    let plain = |c: char| !c.is_control() && c != '\\';
    const LONGEST: usize = 2_000;
    if next.len() <= LONGEST && next.starts_with('/') && !next.starts_with("//") && next.chars().all(plain) {
        next.to_owned()
    } else {
        "/".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_leads_nowhere_else() {
        for (next, leads) in [
            ("/catalogs/shop?x=1", "/catalogs/shop?x=1"),
            ("", "/"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example/", "/"),
            ("/a\nSet-Cookie: b", "/"),
            ("javascript:alert(1)", "/"),
        ] {
            assert_eq!(local(next), leads, "{next}");
        }
    }
}
