//! Moves of pointers: what stands in their way, and the move itself.
//!
//! A move is judged by gates, in one place for promotions, rollbacks and their rehearsals: whoever rehearses sees what the
//! move will say.

mod gates;

use serde_json::json;

use super::{
    App, AppError, Kind, MoveRequest, Overrides, TRIES,
    access::{Object, Right},
    reason, shown,
    view::Preflight,
};
use crate::{
    catalog::{CatalogVersion, EnvironmentPointer, Move, MoveKind},
    json::Digest,
    name::{CatalogName, EnvironmentName},
    store::{Basis, Idempotency, NewMove, StoreError},
};

/// The longest idempotency key: it is the key of an index.
const MAX_KEY: usize = 128;

impl App {
    /// Moves a pointer to an approved version.
    ///
    /// # Errors
    /// Where the caller saw another generation, the version is live already, is held, or does not exist.
    pub async fn promote(&self, request: &MoveRequest) -> Result<Move, AppError> {
        self.move_to(MoveKind::Promote, request).await
    }

    /// Moves a pointer back to a version that was live there before, and holds the version that was left.
    ///
    /// # Errors
    /// Where the caller saw another generation, or the version was never live there, is live now, or is held.
    pub async fn rollback(&self, request: &MoveRequest) -> Result<Move, AppError> {
        self.move_to(MoveKind::Rollback, request).await
    }

    /// Everything that a move would be judged on, without moving. What stands in the way is told by its gates.
    ///
    /// # Errors
    /// Where the move makes no sense: another generation, a version that does not exist, is live already or is held, or,
    /// of a rollback, was never live.
    pub async fn preflight(&self, kind: MoveKind, request: &MoveRequest) -> Result<Preflight, AppError> {
        no_emergency(kind, request)?;
        self.permit_move(Right::Read, &request.environment, request.catalog.as_ref()).await?;
        Ok(self.examined(kind, request).await?.0)
    }

    async fn move_to(&self, kind: MoveKind, request: &MoveRequest) -> Result<Move, AppError> {
        no_emergency(kind, request)?;
        let right = match kind {
            // Whoever overrides the gates opens what they close.
            MoveKind::Rollback if !request.overrides.emergency => Right::RollBack,
            MoveKind::Rollback | MoveKind::Promote => Right::Promote,
        };
        // Before anything else: what was answered before is not told to whoever may not ask.
        self.permit_move(right, &request.environment, request.catalog.as_ref()).await?;
        let key = keyed(request.idempotency_key.as_deref(), || fingerprint(kind, request))?;
        match (self.try_move(kind, request, key.clone()).await, key) {
            // A retry finds the pointer moved by the first try, so what it asks for may make no sense any more.
            (Err(e), Some(key)) if !e.kind.is_ours() => self.answered_instead(e, &key).await,
            (answer, _) => answer,
        }
    }

    /// What was answered under a key whose request is refused by now; the refusal where nothing was.
    pub(super) async fn answered_instead(
        &self,
        refusal: AppError,
        key: &Idempotency,
    ) -> Result<Move, AppError> {
        match self.store.answered(&key.key).await? {
            Some((request, answer)) if request == key.request => Ok(answer),
            Some(_) => Err(StoreError::KeyReused.into()),
            None => Err(refusal),
        }
    }

    async fn try_move(
        &self,
        kind: MoveKind,
        request: &MoveRequest,
        key: Option<Idempotency>,
    ) -> Result<Move, AppError> {
        let why = reason(&request.reason)?;
        for _ in 0..TRIES {
            let (preflight, basis) = self.examined(kind, request).await?;
            if let Some(gate) = preflight.gates.iter().find(|gate| gate.blocks()) {
                let refusal = gate.refusal(kind);
                return Err(AppError { preflight: Some(Box::new(preflight)), ..refusal });
            }
            match self.write_move(kind, request, &why, preflight, basis, key.clone()).await? {
                Some(done) => return Ok(done),
                None => continue,
            }
        }
        let message =
            format!("others write all the time to what a move of `{}` is judged on", request.environment);
        Err(AppError::new(Kind::Conflict, "busy", message).help("try again; nothing was written"))
    }

    /// Nothing, where somebody wrote meanwhile and it has to be judged again.
    async fn write_move(
        &self,
        kind: MoveKind,
        request: &MoveRequest,
        why: &str,
        preflight: Preflight,
        basis: Basis,
        key: Option<Idempotency>,
    ) -> Result<Option<Move>, AppError> {
        let Preflight { environment, catalog, from, to, digest, grounds, report, .. } = preflight;
        let left = match from {
            Some(number) => Some(self.version(&catalog, number).await?.digest),
            None => None,
        };
        let (name, verb) = match kind {
            MoveKind::Promote => ("environment.promoted", "promoted"),
            MoveKind::Rollback => ("environment.rolled-back", "rolled back"),
        };
        let hold = from.filter(|_| kind == MoveKind::Rollback);
        let generation = request.generation + 1;
        let data = json!({
            "catalog": catalog, "from": from, "to": to, "digest": digest, "fromDigest": left,
            "ruleSet": report.map(|r| r.rule_set),
            "before": request.generation, "generation": generation, "hold": hold, "reason": why, "grounds": grounds,
        });
        let event = self.event(&request.actor, name, format!("environment/{environment}"), data);
        let order = Move {
            environment: environment.clone(),
            catalog: catalog.clone(),
            generation,
            kind,
            from,
            to,
            reason: why.to_owned(),
            actor: request.actor.clone(),
            at: event.at,
            grounds,
        };
        let event = event.sealed(self.seal_move(&order, &digest));
        let moved = self.store.move_pointer(NewMove { basis, order, key }, event).await;
        // Whether or not it was answered: who asks next, asks what stands.
        self.cache.changed();
        match moved {
            Err(StoreError::Shifted) => Ok(None),
            Err(StoreError::Moved(now)) => {
                let error = stale(&environment, &catalog, request.generation, now.as_deref());
                Err(error.caused_by(format!("lost a race; nothing was {verb}")))
            }
            done => Ok(Some(done?)),
        }
    }

    /// Refuses a move of this catalog, or of the only one, that the caller may not make there.
    pub(super) async fn permit_move(
        &self,
        right: Right,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
    ) -> Result<(), AppError> {
        let Some(caller) = self.caller() else { return Ok(()) };
        caller.may(right, Object { catalog, environment: Some(environment) })?;
        let catalog = self.chosen_catalog(catalog).await?;
        self.permit(right, Object { catalog: Some(&catalog), environment: Some(environment) })
    }

    /// Whether a move is one at all, as the pointer stands.
    async fn makes_sense(
        &self,
        kind: MoveKind,
        request: &MoveRequest,
        catalog: &CatalogName,
        pointer: Option<&EnvironmentPointer>,
        to: CatalogVersion,
    ) -> Result<(), AppError> {
        let environment = &request.environment;
        match (pointer, kind) {
            (Some(pointer), _) if pointer.generation != request.generation => {
                Err(stale(environment, catalog, request.generation, Some(pointer)))
            }
            // What is decided here stays true until the write: it succeeds only at this very generation.
            (Some(pointer), _) => {
                let was_live = self.store.was_live(environment, catalog, to).await?;
                let holds = self.store.holds(environment, catalog).await?;
                may_move(kind, pointer, was_live, &holds, to)
            }
            (None, MoveKind::Promote) if request.generation == 0 => Ok(()),
            (None, MoveKind::Promote) => {
                // Whoever mistyped the name is told so: "stale" would say that somebody else moved it.
                self.pointers_of(environment).await.map_err(|e| {
                    let help = format!("{}; a first promotion is made from generation 0", e.help);
                    e.help(help)
                })?;
                Err(stale(environment, catalog, request.generation, None))
            }
            (None, MoveKind::Rollback) => Err(self.never_used(environment, catalog).await?),
        }
    }
}

/// Refuses a promotion that is called an emergency.
fn no_emergency(kind: MoveKind, request: &MoveRequest) -> Result<(), AppError> {
    if !request.overrides.emergency || kind == MoveKind::Rollback {
        return Ok(());
    }
    let message = "only a rollback can be an emergency";
    Err(AppError::new(Kind::Invalid, "emergency-promotion", message)
        .help("roll back, or let the gates be met"))
}

/// A caller's key with the digest of what it stands for.
///
/// # Errors
/// Where the key is none.
pub(super) fn keyed(
    key: Option<&str>,
    request: impl FnOnce() -> Digest,
) -> Result<Option<Idempotency>, AppError> {
    let Some(key) = key else { return Ok(None) };
    if (1..=MAX_KEY).contains(&key.len()) {
        return Ok(Some(Idempotency { key: key.to_owned(), request: request() }));
    }
    let message = format!("an idempotency key has 1 to {MAX_KEY} bytes");
    Err(AppError::new(Kind::Invalid, "invalid-idempotency-key", message))
}

/// Whether a pointer may be moved to a version.
fn may_move(
    kind: MoveKind,
    pointer: &EnvironmentPointer,
    was_live: bool,
    holds: &[CatalogVersion],
    to: CatalogVersion,
) -> Result<(), AppError> {
    let EnvironmentPointer { environment, catalog, .. } = pointer;
    if pointer.version == to {
        return Err(already_live(pointer));
    }
    if kind == MoveKind::Rollback && !was_live {
        let message = format!("version {to} of catalog `{catalog}` was never live in `{environment}`");
        return Err(AppError::new(Kind::Conflict, "never-live", message)
            .help("a rollback goes to a version that was live there; promote another one"));
    }
    if holds.contains(&to) {
        return Err(held(environment, to));
    }
    Ok(())
}

fn already_live(pointer: &EnvironmentPointer) -> AppError {
    let EnvironmentPointer { environment, version, generation, .. } = pointer;
    let message = format!("version {version} is live in `{environment}` already, at generation {generation}");
    AppError::new(Kind::Conflict, "already-live", message).help("nothing has to be done")
}

fn held(environment: &EnvironmentName, version: CatalogVersion) -> AppError {
    let message = format!("version {version} is held in `{environment}`: it was left by a rollback");
    AppError::new(Kind::Conflict, "held", message).help("release the hold first, if what was wrong is mended")
}

/// The caller looked at an older state: who moved the pointer since, and where it is now.
pub(super) fn stale(
    environment: &EnvironmentName,
    catalog: &CatalogName,
    seen: i64,
    now: Option<&EnvironmentPointer>,
) -> AppError {
    let message = match now {
        Some(p) => format!(
            "`{environment}` is at generation {} of catalog `{catalog}`, not {seen}: {} moved it to {} on {}",
            p.generation,
            p.moved_by,
            p.version,
            shown(p.moved_at)
        ),
        None => format!(
            "`{environment}` is at generation 0 of catalog `{catalog}`, not {seen}: nothing was ever live there"
        ),
    };
    AppError::new(Kind::Stale, "stale-generation", message)
        .help("look at the environment again, then repeat with its generation")
}

/// What a retry has to repeat to be the same request: what was sent, not what it came to. A catalog that was left out
/// may have to be named by now. What is not insisted on is left out, as it was before there was anything to insist on:
/// keys are kept for ever.
fn fingerprint(kind: MoveKind, request: &MoveRequest) -> Digest {
    let mut sent = json!({
        "kind": kind, "environment": request.environment, "catalog": request.catalog, "version": request.version,
        "generation": request.generation, "reason": request.reason, "actor": request.actor,
    });
    if request.overrides != Overrides::default() {
        sent["overrides"] = json!(request.overrides);
    }
    Digest::of(&sent)
}
