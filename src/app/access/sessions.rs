//! Signed in at a browser: with a token, by a link that this process printed, or through an issuer.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::{Auth, Caller, CallerKind, REMEMBERED, Role, holder, is_valid, random, signed_in};
use crate::{
    access::token,
    app::{App, AppError, Kind, shown},
    catalog::event::Origin,
    json::{Digest, sha256},
    store::{Login, Session},
};

/// How long somebody stays signed in: a working day.
pub const SESSION: TimeDelta = TimeDelta::hours(12);

/// How long a printed link is good for.
const LINK: TimeDelta = TimeDelta::hours(1);

/// How long somebody may take at the issuer.
const LOGIN: TimeDelta = TimeDelta::minutes(10);

/// Links that this process printed and that nobody has followed, by the digest of their secret.
#[derive(Default)]
pub(in crate::app) struct Links(Mutex<HashMap<Digest, (DateTime<Utc>, String)>>);

/// Somebody whom an issuer vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouched {
    /// Who says so.
    pub issuer: String,
    /// The account, as the issuer tells it from all others for ever.
    pub subject: String,
    /// What people call it.
    pub name: String,
    /// Whether the name is an address that the issuer has verified: nobody else can have chosen it.
    pub verified: bool,
    /// What it may do.
    pub roles: BTreeSet<Role>,
}

/// What a login has to be sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// Comes back with the code.
    pub state: String,
    /// Stays with the browser.
    pub browser: String,
}

impl App {
    /// Signs somebody in with a token; answers the secret of the session.
    ///
    /// # Errors
    /// Where the token is none, has ended or was taken back, or is no person's.
    pub async fn sign_in(&self, secret: &str) -> Result<String, AppError> {
        let now = self.now();
        let found = match token::digest(secret.trim()) {
            Some(digest) => self.store.token_of(&digest).await?.filter(|token| is_valid(token, now)),
            None => None,
        };
        let token = found.ok_or_else(|| {
            AppError::new(Kind::Forbidden, "invalid-token", "this is no token, or it is not good any more")
                .help("a token begins with `tp_` and has 75 characters; ask an admin for a new one")
        })?;
        if token.kind != CallerKind::Human {
            let message =
                format!("token `{}` is of kind `{}`, and only people sign in", token.id, token.kind);
            return Err(AppError::new(Kind::Forbidden, "kind-forbidden", message)
                .help("ask an admin for a token of your own"));
        }
        let end = now + SESSION;
        self.begin_session(Session {
            name: token.owner.clone(),
            roles: token.roles.clone(),
            expires_at: token.expires_at.map_or(end, |e| e.min(end)),
            token: Some(token.id),
            issuer: None,
            created_at: now,
        })
        .await
    }

    /// Signs somebody in whom an issuer vouches for; answers the secret of the session.
    ///
    /// # Errors
    /// Where the account has no role, or its name is somebody else's.
    pub async fn sign_in_vouched(&self, vouched: Vouched) -> Result<String, AppError> {
        let now = self.now();
        if vouched.roles.is_empty() {
            let message = format!("`{}` is in no group that has a role here", vouched.name);
            return Err(AppError::new(Kind::Forbidden, "no-role", message)
                .help("ask an admin to put you into a group, or to give the group a role"));
        }
        let Vouched { issuer, subject, name, verified, roles } = vouched;
        // Whoever had the name first keeps it, tokens of their own included.
        if self.store.bound(&issuer, &subject).await?.is_none() {
            self.free_name(&name, verified).await?;
        }
        let data = json!({ "issuer": issuer, "subject": subject });
        let mut event = self.event(&name, "person.bound", format!("person/{name}"), data);
        event.origin = Some(self.origin_by(&Auth::Oidc(issuer.clone())));
        let known = self.store.person(&issuer, &subject, &name, now, event).await?;
        let name = known.ok_or_else(|| {
            let message = format!("the name `{name}` belongs to another account");
            AppError::new(Kind::Forbidden, "name-taken", message)
                .help("names are bound to the account that signed in with them first; ask an admin")
        })?;
        let (token, issuer) = (None, Some(issuer));
        self.begin_session(Session { token, name, issuer, roles, created_at: now, expires_at: now + SESSION })
            .await
    }

    /// Refuses the names of the service itself, and those of people who have tokens, unless they are addresses that the issuer has
    /// verified: others may be chosen by whoever has the account.
    async fn free_name(&self, name: &str, verified: bool) -> Result<(), AppError> {
        const OWN: [&str; 4] = ["toolpact", "poller", "messenger", "nobody"];
        let (tokens, now) = (self.store.tokens().await?, self.now());
        let tokens: Vec<_> = tokens.into_iter().filter(|token| is_valid(token, now)).collect();
        let owned = || tokens.iter().any(|token| token.kind == CallerKind::Human && token.owner == name);
        if !OWN.contains(&name) && (verified || !owned()) {
            return Ok(());
        }
        let message = format!("the name `{name}` is taken here");
        Err(AppError::new(Kind::Forbidden, "name-taken", message).help(
            "name people by their verified address (`--oidc-name-claim email`), or sign in with a token",
        ))
    }

    async fn begin_session(&self, session: Session) -> Result<String, AppError> {
        let secret = hex::encode(random::<32>()?);
        let how = match (&session.token, &session.issuer) {
            (Some(token), _) => Auth::Session(token.clone()),
            (None, Some(issuer)) => Auth::Oidc(issuer.clone()),
            (None, None) => Auth::Link,
        };
        let data =
            json!({ "auth": how.to_string(), "roles": session.roles, "until": shown(session.expires_at) });
        let mut event = self.event(&session.name, "session.began", format!("person/{}", session.name), data);
        event.origin = Some(self.origin_by(&how));
        self.store.add_session(&session, &Digest::of_bytes(secret.as_bytes()), event).await?;
        Ok(secret)
    }

    /// How a session that begins or ends is proved, and by which request.
    fn origin_by(&self, auth: &Auth) -> Origin {
        let request_id = self.asked.as_deref().map(ToOwned::to_owned);
        Origin { auth: auth.to_string(), on_behalf_of: None, request_id, idempotency_key: None }
    }

    /// Who is signed in under this secret; nothing where nobody is, or not any more.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn session(&self, secret: &str) -> Result<Option<Arc<Caller>>, AppError> {
        let (now, digest) = (self.now(), Digest::of_bytes(secret.as_bytes()));
        // Under a name that no header can hold: neither is a token that is shown as a session one, nor the other way round.
        let name = sha256(format!("session\n{secret}").as_bytes());
        if let Some(caller) = self.known.get(&name, now) {
            return Ok(Some(caller));
        }
        let forgotten = self.known.forgotten();
        let Some(session) = self.store.session_of(&digest).await?.filter(|s| now < s.expires_at) else {
            return Ok(None);
        };
        let until = session.expires_at.min(now + REMEMBERED);
        let ends = session.expires_at;
        let caller = match &session.token {
            None => signed_in(session),
            Some(id) => match self.store.token(id).await?.filter(|token| is_valid(token, now)) {
                Some(token) => Caller { until: Some(ends), ..holder(token, Auth::Session) },
                None => return Ok(None),
            },
        };
        let caller = Arc::new(caller);
        self.known.put(forgotten, name, until, &caller);
        Ok(Some(caller))
    }

    /// Signs out; nothing happens where nobody was signed in.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn sign_out(&self, secret: &str) -> Result<(), AppError> {
        let Some(caller) = self.session(secret).await? else { return Ok(()) };
        let data = json!({ "auth": caller.auth.to_string() });
        let mut event = self.event(&caller.name, "session.ended", format!("person/{}", caller.name), data);
        event.origin = Some(self.origin_by(&caller.auth));
        self.store.end_session(&Digest::of_bytes(secret.as_bytes()), event).await?;
        self.known.forget();
        Ok(())
    }

    /// A secret that signs an admin in once, at this process and within the hour. For whoever started it.
    ///
    /// # Errors
    /// Where the system has no randomness.
    pub fn link(&self, name: &str) -> Result<String, AppError> {
        let secret = hex::encode(random::<32>()?);
        let mut links = self.links.0.lock().unwrap_or_else(PoisonError::into_inner);
        links.insert(Digest::of_bytes(secret.as_bytes()), (self.now() + LINK, name.to_owned()));
        Ok(secret)
    }

    /// Follows a printed link; answers the secret of the session.
    ///
    /// # Errors
    /// Where there is no such link, or it was followed before.
    pub async fn follow_link(&self, secret: &str) -> Result<String, AppError> {
        let now = self.now();
        let taken = {
            let mut links = self.links.0.lock().unwrap_or_else(PoisonError::into_inner);
            links.remove(&Digest::of_bytes(secret.as_bytes()))
        };
        let name = taken.filter(|(until, _)| now < *until).map(|(_, name)| name).ok_or_else(|| {
            AppError::new(Kind::Forbidden, "invalid-link", "this link was used before, or is too old")
                .help("sign in with a token, or start the service again for a new link")
        })?;
        let roles = BTreeSet::from([Role::Admin]);
        self.begin_session(Session {
            token: None,
            name,
            issuer: None,
            roles,
            created_at: now,
            expires_at: now + SESSION,
        })
        .await
    }

    /// Notes a login that goes to an issuer. `nonce` and `verifier` are kept until the browser is back.
    ///
    /// # Errors
    /// Where the store fails.
    pub(super) async fn begin_login(
        &self,
        begun: &Begun,
        nonce: &str,
        verifier: &str,
        next: &str,
    ) -> Result<(), AppError> {
        let now = self.now();
        let login = Login {
            browser: Digest::of_bytes(begun.browser.as_bytes()),
            nonce: nonce.to_owned(),
            verifier: verifier.to_owned(),
            next: next.to_owned(),
            expires_at: now + LOGIN,
        };
        Ok(self.store.begin_login(&Digest::of_bytes(begun.state.as_bytes()), &login, now).await?)
    }

    /// What a login has to be sent with.
    pub(super) fn new_state(&self) -> Result<Begun, AppError> {
        Ok(Begun { state: hex::encode(random::<32>()?), browser: hex::encode(random::<32>()?) })
    }

    /// What a login was begun with, once, and only for the browser that began it.
    ///
    /// # Errors
    /// Where it was not begun, not by this browser, too long ago, or came back before.
    pub async fn finish_login(&self, state: &str, browser: &str) -> Result<Login, AppError> {
        let login = self.store.take_login(&Digest::of_bytes(state.as_bytes())).await?;
        let browser = Digest::of_bytes(browser.as_bytes());
        login.filter(|login| self.now() < login.expires_at && login.browser == browser).ok_or_else(|| {
            let message = "this sign-in was not begun in this browser, or too long ago";
            AppError::new(Kind::Forbidden, "invalid-login", message).help("begin it again")
        })
    }
}
