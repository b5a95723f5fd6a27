//! Who acts, and whether they may: a use case asks here before it does anything.
//!
//! The faces find out who calls ([`App::authenticate`], [`App::session`]) and act as them ([`App::acting`]). An app that acts
//! as nobody is that of whoever can open the database: a command, a test, the poller.

pub mod oidc;
pub mod sessions;
pub mod teams;
pub mod tokens;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use chrono::{DateTime, TimeDelta, Utc};

use super::{App, AppError, Kind};
pub use crate::access::{Auth, Caller, CallerKind, Lacks, Object, Refusal, Right, Role, Scope};
use crate::{
    catalog::event::Origin,
    json::sha256,
    name::{CatalogName, EnvironmentName},
    store::{Owned, Session, Token},
};

/// How long it may take until a token that was taken back at another process is refused at this one.
pub const REMEMBERED: TimeDelta = TimeDelta::seconds(5);

/// How exactly it is kept when a token was used.
const USE_NOTED: TimeDelta = TimeDelta::minutes(1);

/// More callers than this are looked up each time.
const MOST_REMEMBERED: usize = 10_000;

/// Who asks for something, and as which request.
#[derive(Debug, Clone)]
pub struct By {
    /// Who.
    pub caller: Arc<Caller>,
    /// What the log calls the request.
    pub request: Option<String>,
    /// The caller's own name for it.
    pub idempotency_key: Option<String>,
}

impl By {
    /// As an event keeps it.
    pub(super) fn origin(&self) -> Origin {
        Origin {
            auth: self.caller.auth.to_string(),
            on_behalf_of: self.caller.on_behalf_of.clone(),
            request_id: self.request.clone(),
            idempotency_key: self.idempotency_key.clone(),
        }
    }
}

/// Callers that were looked up a moment ago, by the SHA-256 of what they showed.
#[derive(Default)]
pub(super) struct Known {
    table: Mutex<HashMap<[u8; 32], Remembered>>,
    /// Grows when something is taken back: what was read before is not remembered any more.
    forgotten: AtomicU64,
}

/// Until when, and who.
type Remembered = (DateTime<Utc>, Arc<Caller>);

impl Known {
    fn get(&self, digest: &[u8; 32], now: DateTime<Utc>) -> Option<Arc<Caller>> {
        let known = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(digest).filter(|(until, _)| now < *until).map(|(_, caller)| Arc::clone(caller))
    }

    /// How often something was taken back; asked for before a caller is looked up.
    fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::SeqCst)
    }

    /// Remembers a caller who was looked up after so much was taken back.
    fn put(&self, forgotten: u64, digest: [u8; 32], until: DateTime<Utc>, caller: &Arc<Caller>) {
        let mut known = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if self.forgotten() != forgotten {
            return;
        }
        if known.len() >= MOST_REMEMBERED {
            known.clear();
        }
        known.insert(digest, (until, Arc::clone(caller)));
    }

    fn forget(&self) {
        let mut known = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        known.clear();
    }
}

impl App {
    /// The same for this caller: it may do what they may, and the history says that they did.
    #[must_use]
    pub fn acting(&self, by: By) -> Self {
        Self { by: Some(Arc::new(by)), ..self.clone() }
    }

    /// The same for a request of somebody who is not known yet: what it leads to is told under the request's name.
    #[must_use]
    pub fn asked(&self, request: Option<String>) -> Self {
        Self { asked: request.map(Arc::from), ..self.clone() }
    }

    /// Who acts, where that is known.
    #[must_use]
    pub fn caller(&self) -> Option<&Caller> {
        self.by.as_deref().map(|by| by.caller.as_ref())
    }

    /// Who calls with this token; nothing where it is none, was taken back or has ended.
    ///
    /// What was found is remembered for [`REMEMBERED`], and so is its end at most that long unknown to other processes.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn authenticate(&self, secret: &str) -> Result<Option<Arc<Caller>>, AppError> {
        let Some(digest) = crate::access::token::digest(secret) else { return Ok(None) };
        let (now, shown) = (self.now(), sha256(secret.as_bytes()));
        if let Some(caller) = self.known.get(&shown, now) {
            return Ok(Some(caller));
        }
        let forgotten = self.known.forgotten();
        let Some(token) = self.store.token_of(&digest).await?.filter(|token| is_valid(token, now)) else {
            return Ok(None);
        };
        if token.last_used_at.is_none_or(|at| now - at >= USE_NOTED) {
            // Nobody waits for it, and where it fails nothing is lost: a database that only reads still lets people look.
            let (store, id) = (Arc::clone(&self.store), token.id.clone());
            tokio::spawn(async move { store.note_token_use(&id, now).await });
        }
        let until = token.expires_at.map_or(now + REMEMBERED, |end| end.min(now + REMEMBERED));
        let caller = Arc::new(holder(token, Auth::Token));
        self.known.put(forgotten, shown, until, &caller);
        Ok(Some(caller))
    }

    /// Who called with this token a moment ago, and may still.
    #[must_use]
    pub fn remembered(&self, secret: &str) -> Option<Arc<Caller>> {
        // Only of what is a token was a caller remembered, so its checksum is not asked for again.
        self.known.get(&sha256(secret.as_bytes()), self.now())
    }

    /// Refuses what the caller may not do to this.
    pub(super) fn permit(&self, right: Right, object: Object<'_>) -> Result<(), AppError> {
        self.caller().map_or(Ok(()), |caller| Ok(caller.may(right, object)?))
    }

    /// Refuses what the caller may not do to everything there is.
    pub(super) fn permit_whole(&self, right: Right) -> Result<(), AppError> {
        let Some(caller) = self.caller() else { return Ok(()) };
        caller.has(right)?;
        if caller.scope.is_everything() { Ok(()) } else { Err(caller.beyond_scope(right).into()) }
    }

    /// The same for what holds in all environments of a catalog, or in this one.
    pub(super) fn permit_in_all(
        &self,
        right: Right,
        catalog: &CatalogName,
        environment: Option<&EnvironmentName>,
    ) -> Result<(), AppError> {
        self.permit(right, Object { catalog: Some(catalog), environment })?;
        match self.caller() {
            Some(caller) if environment.is_none() && caller.scope.environments.is_some() => {
                Err(caller.beyond_scope(right).into())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether the caller is who they were, still: what they showed was not taken back and has not ended.
    ///
    /// A session without a token cannot be asked for from here: until it ends, it is good.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn is_good_still(&self) -> Result<bool, AppError> {
        let Some(caller) = self.caller() else { return Ok(true) };
        let now = self.now();
        Ok(match &caller.auth {
            Auth::Token(id) | Auth::Session(id) => {
                self.store.token(id).await?.is_some_and(|token| is_valid(&token, now))
            }
            Auth::Oidc(_) | Auth::Link | Auth::Local => caller.until.is_none_or(|end| now < end),
        })
    }

    /// The same for a decision on what a catalog holds, which is its owners' where a team owns it.
    pub(super) async fn permit_decision(
        &self,
        catalog: &CatalogName,
        environment: Option<&EnvironmentName>,
    ) -> Result<(), AppError> {
        self.permit_in_all(Right::Review, catalog, environment)?;
        let Some(caller) = self.caller() else { return Ok(()) };
        let Some(team) = self.store.owner(Owned::Catalog, catalog.as_str()).await? else { return Ok(()) };
        if team.members.contains(&caller.name) || caller.roles.contains(&Role::Admin) {
            return Ok(());
        }
        let (name, kind) = (caller.name.clone(), caller.kind);
        Err(Refusal { caller: name, kind, right: Right::Review, lacks: Lacks::Team(team.name) }.into())
    }
}

impl From<Refusal> for AppError {
    fn from(refusal: Refusal) -> Self {
        Self::new(Kind::Forbidden, refusal.code(), refusal.to_string()).help(refusal.help())
    }
}

/// Whether a token is one still.
fn is_valid(token: &Token, now: DateTime<Utc>) -> bool {
    token.revoked_at.is_none() && token.expires_at.is_none_or(|end| now < end)
}

/// Whoever holds a token.
fn holder(token: Token, auth: impl FnOnce(String) -> Auth) -> Caller {
    Caller {
        name: actor_name(token.kind, &token.owner),
        kind: token.kind,
        roles: token.roles,
        scope: token.scope,
        auth: auth(token.id),
        on_behalf_of: None,
        until: token.expires_at,
    }
}

/// The name in the history: what is no person says so.
fn actor_name(kind: CallerKind, owner: &str) -> String {
    match kind {
        CallerKind::Human => owner.to_owned(),
        CallerKind::Ci | CallerKind::Agent => format!("{kind}:{owner}"),
    }
}

/// Whoever is signed in without a token.
fn signed_in(session: Session) -> Caller {
    Caller {
        name: session.name,
        kind: CallerKind::Human,
        roles: session.roles,
        scope: Scope::default(),
        auth: session.issuer.map_or(Auth::Link, Auth::Oidc),
        on_behalf_of: None,
        until: Some(session.expires_at),
    }
}

/// So many random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N], AppError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| {
        AppError::new(Kind::Internal, "no-randomness", format!("the system gives no random bytes: {e}"))
    })?;
    Ok(bytes)
}
