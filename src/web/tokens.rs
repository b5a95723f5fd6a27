//! `/tokens`: who can call, and the one page on which a new token's secret stands.
//!
//! The secret is in the answer to the form and nowhere else: it is not kept, so no later page can show it.

use std::collections::BTreeSet;

use askama::Template;
use axum::{http::StatusCode, response::Response};
use chrono::{DateTime, NaiveDate, Utc};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, administers, page, see, words},
};
use crate::{
    access::{CallerKind, Role, Scope},
    app::{
        App, AppError, Kind,
        access::tokens::{NewToken, Token},
    },
    guard::Acting,
};

/// How many of each stand here; the API has all of them.
const SHOWN: usize = 200;

#[derive(Template)]
#[template(path = "tokens.html")]
struct Tokens {
    frame: Frame,
    admin: bool,
    /// Those that count, the newest first.
    standing: Vec<Token>,
    /// Those that ended or were taken back, the newest first.
    ended: Vec<Token>,
    left_out: usize,
    /// A token that was just made, with its secret.
    made: Option<(Token, String)>,
    notice: Option<(String, String)>,
    typed: NewTokenForm,
}

impl Tokens {
    const KINDS: [CallerKind; 3] = CallerKind::ALL;
    const ROLES: [Role; 5] = Role::ALL;

    /// What a role is for, in a few words.
    fn means(role: &Role) -> &'static str {
        match role {
            Role::Viewer => "looks",
            Role::Author => "makes and edits drafts",
            Role::Reviewer => "decides, approves, rejects",
            Role::Operator => "promotes, rolls back, freezes",
            Role::Admin => "everything, tokens and policies included",
        }
    }

    /// Where a token counts, in words.
    fn scope(token: &Token) -> String {
        fn of<T: ToString>(names: Option<&BTreeSet<T>>, all: &str) -> String {
            let said = |names: &BTreeSet<T>| names.iter().map(ToString::to_string).collect::<Vec<_>>();
            names.map_or_else(|| all.to_owned(), |names| said(names).join(", "))
        }
        let Scope { catalogs, environments } = &token.scope;
        if token.scope.is_everything() {
            return "everywhere".to_owned();
        }
        format!(
            "{} in {}",
            of(catalogs.as_ref(), "all catalogs"),
            of(environments.as_ref(), "all environments")
        )
    }
}

/// The tokens that whoever looks may see.
pub(super) async fn show_tokens(Acting { app, actor }: Acting) -> Result<Response, Error> {
    shown(&app, None, None, NewTokenForm { owner: actor, ..NewTokenForm::default() }).await
}

/// A token to be made. A browser sends of the boxes only those that are ticked.
#[derive(Default, Deserialize)]
pub(super) struct NewTokenForm {
    name: String,
    #[serde(default)]
    owner: String,
    #[serde(default)]
    kind: String,
    viewer: Option<String>,
    author: Option<String>,
    reviewer: Option<String>,
    operator: Option<String>,
    admin: Option<String>,
    #[serde(default)]
    catalogs: String,
    #[serde(default)]
    environments: String,
    /// The last day on which it counts.
    #[serde(default)]
    until: String,
}

impl NewTokenForm {
    fn has(&self, role: &Role) -> bool {
        match role {
            Role::Viewer => &self.viewer,
            Role::Author => &self.author,
            Role::Reviewer => &self.reviewer,
            Role::Operator => &self.operator,
            Role::Admin => &self.admin,
        }
        .is_some()
    }

    fn token(&self) -> Result<NewToken, AppError> {
        let kind = CallerKind::ALL.into_iter().find(|kind| kind.as_str() == self.kind);
        let kind = kind.ok_or_else(|| invalid(format!("`{}` is no kind of caller", self.kind)))?;
        let (catalogs, environments) = (words(&self.catalogs)?, words(&self.environments)?);
        Ok(NewToken {
            name: self.name.clone(),
            owner: self.owner.clone(),
            kind,
            roles: Role::ALL.into_iter().filter(|role| self.has(role)).collect(),
            scope: Scope {
                catalogs: (!catalogs.is_empty()).then(|| catalogs.into_iter().collect()),
                environments: (!environments.is_empty()).then(|| environments.into_iter().collect()),
            },
            expires_at: end_of(self.until.trim())?,
        })
    }
}

/// The end of a day; nothing where none is named.
fn end_of(day: &str) -> Result<Option<DateTime<Utc>>, AppError> {
    if day.is_empty() {
        return Ok(None);
    }
    let date: NaiveDate =
        day.parse().map_err(|_| invalid(format!("`{day}` is no date such as 2027-01-31")))?;
    let next = date.succ_opt().and_then(|next| next.and_hms_opt(0, 0, 0));
    Ok(Some(next.ok_or_else(|| invalid(format!("`{day}` is too far away")))?.and_utc()))
}

/// Makes a token and shows its secret, once.
pub(super) async fn create_token(
    Acting { app, actor }: Acting,
    Form(form): Form<NewTokenForm>,
) -> Result<Response, Error> {
    let made = match form.token() {
        Ok(new) => app.create_token(new, &actor).await,
        Err(e) => Err(e),
    };
    match made {
        Ok(made) => {
            shown(&app, None, Some(made), NewTokenForm { owner: actor, ..NewTokenForm::default() }).await
        }
        Err(e) => shown(&app, Some(e), None, form).await,
    }
}

/// Takes a token back, then shows what is left.
pub(super) async fn revoke_token(
    Acting { app, actor }: Acting,
    Path(id): Path<String>,
) -> Result<Response, Error> {
    match app.revoke_token(&id, &actor).await {
        Ok(_) => Ok(see("/tokens")),
        Err(e) => shown(&app, Some(e), None, NewTokenForm { owner: actor, ..NewTokenForm::default() }).await,
    }
}

async fn shown(
    app: &App,
    failure: Option<AppError>,
    made: Option<(Token, String)>,
    typed: NewTokenForm,
) -> Result<Response, Error> {
    let now = app.now();
    let mut all = app.tokens().await?;
    all.reverse();
    let counts = |token: &Token| token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now < end);
    let (mut standing, mut ended): (Vec<_>, Vec<_>) = all.into_iter().partition(counts);
    let left_out = standing.len().saturating_sub(SHOWN) + ended.len().saturating_sub(SHOWN);
    standing.truncate(SHOWN);
    ended.truncate(SHOWN);
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let notice = failure.map(error::told);
    let frame = Frame::new(app, "/tokens");
    let tokens = Tokens { frame, admin: administers(app), standing, ended, left_out, made, notice, typed };
    Ok(page(status, &tokens))
}

fn invalid(message: String) -> AppError {
    AppError::new(Kind::Invalid, "invalid-request", message)
}
