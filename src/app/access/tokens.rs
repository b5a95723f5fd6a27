//! Tokens: made, shown once, looked at, taken back.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

pub use crate::store::Token;

use super::{Auth, CallerKind, Right, Role, Scope, actor_name, random};
use crate::{
    access::token,
    app::{App, AppError, Kind, Text, shown, text},
};

/// The longest that a token may be good for.
const LONGEST: TimeDelta = TimeDelta::days(3_650);

/// Whom the first token of a service is for.
const FIRST_OWNER: &str = "admin";

/// A token to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// What it is for; 1 to 100 characters.
    pub name: String,
    /// Who acts with it; 1 to 64 visible ASCII characters.
    pub owner: String,
    /// What its holder is.
    pub kind: CallerKind,
    /// What its holder may do; at least one.
    pub roles: BTreeSet<Role>,
    /// And where.
    pub scope: Scope,
    /// From when it is refused; never where there is none.
    pub expires_at: Option<DateTime<Utc>>,
}

impl App {
    /// Makes a token; answers it with its secret, which nobody can ask for again.
    ///
    /// Admins make tokens for anybody and anything; admins within a scope make them for programs and for themselves, within it: who a
    /// person is, is said for the whole service. Other people make them for themselves, and give away no more than they have and for
    /// no longer; such a token ends with that which it was made with.
    ///
    /// # Errors
    /// Where the caller may not, or what is asked for makes no sense.
    pub async fn create_token(&self, new: NewToken, actor: &str) -> Result<(Token, String), AppError> {
        self.permit_token(&new).await?;
        self.made(new, actor, false)
            .await?
            .ok_or_else(|| AppError::new(Kind::Internal, "internal", "a token was not kept"))
    }

    /// The token that a new service begins with, for an admin; nothing where there ever was one.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn first_token(&self) -> Result<Option<(Token, String)>, AppError> {
        if !self.store.tokens().await?.is_empty() {
            return Ok(None);
        }
        let new = NewToken {
            name: "first token".to_owned(),
            owner: FIRST_OWNER.to_owned(),
            kind: CallerKind::Human,
            roles: BTreeSet::from([Role::Admin]),
            scope: Scope::default(),
            expires_at: None,
        };
        self.made(new, "toolpact", true).await
    }

    async fn made(
        &self,
        new: NewToken,
        actor: &str,
        first: bool,
    ) -> Result<Option<(Token, String)>, AppError> {
        let now = self.now();
        let name = text(("token's name", "invalid-name"), &new.name, Text::Name)?;
        let owner = owner(&new)?;
        if new.roles.is_empty() {
            return Err(AppError::new(Kind::Invalid, "no-role", "a token without a role can do nothing")
                .help("give it one of viewer, author, reviewer, operator, admin"));
        }
        if let Some(end) = new.expires_at
            && (end <= now || end > now + LONGEST)
        {
            let message = format!("a token cannot end at {}; now it is {}", shown(end), shown(now));
            return Err(AppError::new(Kind::Invalid, "bad-expiry", message)
                .help("name a time in the future, within ten years"));
        }
        let secret = token::written(&random()?);
        let digest = token::digest(&secret)
            .ok_or_else(|| AppError::new(Kind::Internal, "internal", "a token was written wrongly"))?;
        let token = Token {
            id: token::id(&digest),
            name,
            owner,
            kind: new.kind,
            roles: new.roles,
            scope: new.scope,
            created_by: actor.to_owned(),
            created_at: now,
            expires_at: new.expires_at,
            last_used_at: None,
            revoked_by: None,
            revoked_at: None,
            parent: self.parent(),
        };
        let data = json!({
            "token": token.id, "name": token.name, "owner": actor_name(token.kind, &token.owner), "kind": token.kind,
            "roles": token.roles, "scope": token.scope, "expiresAt": token.expires_at.map(shown),
        });
        let event = self.event(actor, "token.created", format!("token/{}", token.id), data);
        let kept = self.store.add_token(&token, &digest, first, event).await?;
        Ok(kept.then_some((token, secret)))
    }

    /// The token that ends what is made with it: the caller's, unless it is an admin's.
    fn parent(&self) -> Option<String> {
        let caller = self.caller().filter(|caller| caller.has(Right::Administer).is_err())?;
        match &caller.auth {
            Auth::Token(id) | Auth::Session(id) => Some(id.clone()),
            Auth::Local | Auth::Oidc(_) | Auth::Link => None,
        }
    }

    /// Whether the caller may give this away.
    async fn permit_token(&self, new: &NewToken) -> Result<(), AppError> {
        let Some(caller) = self.caller() else { return Ok(()) };
        let own = caller.kind == CallerKind::Human
            && new.kind == CallerKind::Human
            && caller.name == new.owner
            && !new.roles.contains(&Role::Admin)
            && new.roles.iter().all(|role| *role == Role::Viewer || caller.roles.contains(role))
            && caller.scope.covers(&new.scope);
        if own {
            // What somebody else can end must end what came of it.
            return match (caller.until, new.expires_at) {
                (Some(end), Some(at)) if at <= end => Ok(()),
                (None, _) => Ok(()),
                (Some(end), _) => {
                    let message = format!(
                        "what you show is good until {}; a token of it is not good longer",
                        shown(end)
                    );
                    Err(AppError::new(Kind::Invalid, "bad-expiry", message)
                        .help("let it end by then, or ask an admin for one that lasts"))
                }
            };
        }
        caller.has(Right::Administer)?;
        if caller.scope.is_everything() {
            return Ok(());
        }
        // What a program does counts as done by the person whose name it has.
        let names_somebody = caller.name != new.owner
            && (new.kind == CallerKind::Human || self.is_somebody(new.owner.trim()).await?);
        if caller.scope.covers(&new.scope) && !names_somebody {
            Ok(())
        } else {
            Err(caller.beyond_scope(Right::Administer).into())
        }
    }

    /// Whether a person is known by this name.
    async fn is_somebody(&self, name: &str) -> Result<bool, AppError> {
        let tokens = self.store.tokens().await?;
        let owns = tokens.iter().any(|token| token.kind == CallerKind::Human && token.owner == name);
        Ok(owns || self.store.is_bound(name).await?)
    }

    /// The tokens that the caller may see, the oldest first: an admin all of them, everybody else their own, as far as they may do
    /// what those may.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn tokens(&self) -> Result<Vec<Token>, AppError> {
        let mut tokens = self.store.tokens().await?;
        tokens.retain(|token| self.sees(token));
        Ok(tokens)
    }

    /// One of them.
    ///
    /// # Errors
    /// Where there is none of this id that the caller may see.
    pub async fn get_token(&self, id: &str) -> Result<Token, AppError> {
        let token = self.store.token(id).await?.filter(|token| self.sees(token));
        token.ok_or_else(|| {
            AppError::new(Kind::NotFound, "unknown-token", format!("token `{id}` does not exist"))
                .help("`toolpact tokens list` has those that exist")
        })
    }

    /// Takes a token back, and ends the sessions that it began.
    ///
    /// # Errors
    /// Where there is none of this id that the caller may see, or it was taken back before.
    pub async fn revoke_token(&self, id: &str, actor: &str) -> Result<Token, AppError> {
        let token = self.get_token(id).await?;
        let data = json!({ "token": token.id, "owner": actor_name(token.kind, &token.owner) });
        let event = self.event(actor, "token.revoked", format!("token/{}", token.id), data);
        if !self.store.revoke_token(id, actor, self.now(), event).await? {
            let message = format!("token `{id}` was taken back before");
            return Err(AppError::new(Kind::Conflict, "token-revoked", message));
        }
        self.known.forget();
        self.get_token(id).await
    }

    fn sees(&self, token: &Token) -> bool {
        let Some(caller) = self.caller() else { return true };
        let own = match &caller.auth {
            // A program sees what it shows, and nothing that others of its name do.
            Auth::Token(id) if caller.kind != CallerKind::Human => *id == token.id,
            _ => {
                // Or whoever finds one that may do little could take back those that may do much.
                let may = |role: &Role| *role == Role::Viewer || caller.roles.contains(role);
                let shown = matches!(&caller.auth, Auth::Token(id) | Auth::Session(id) if *id == token.id);
                let less = caller.scope.covers(&token.scope) && token.roles.iter().all(may);
                caller.name == actor_name(token.kind, &token.owner) && (shown || less)
            }
        };
        own || caller.has(Right::Administer).is_ok() && caller.scope.covers(&token.scope)
    }
}

/// The owner as the history will show it. A person must not be taken for a pipeline, nor the other way round.
fn owner(new: &NewToken) -> Result<String, AppError> {
    let owner = new.owner.trim();
    let plain = (1..=64).contains(&owner.len()) && owner.bytes().all(|b| b.is_ascii_graphic() && b != b':');
    if plain {
        return Ok(owner.to_owned());
    }
    let message = format!("`{owner}` cannot own a token");
    Err(AppError::new(Kind::Invalid, "invalid-owner", message)
        .help("name who acts with it, in 1 to 64 visible ASCII characters without a colon"))
}
