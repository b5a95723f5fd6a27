//! Environments: where they point, and how they are moved.

use serde_json::json;

use super::{App, AppError, Kind, MoveRequest, reason, shown, view::EnvironmentPage};
use crate::{
    catalog::{CatalogVersion, EnvironmentPointer, Move, MoveKind},
    json::Digest,
    name::{CatalogName, EnvironmentName},
    store::{Idempotency, NewMove, StoreError},
};

impl App {
    /// Every environment that a catalog was ever promoted to, by name and catalog.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn environments(&self) -> Result<Vec<EnvironmentPage>, AppError> {
        let mut pages = Vec::new();
        for pointer in self.store.pointers().await? {
            pages.push(self.page(pointer).await?);
        }
        Ok(pages)
    }

    /// One environment: a page per catalog that was ever live there.
    ///
    /// # Errors
    /// Where nothing was ever promoted to it.
    pub async fn environment(&self, name: &EnvironmentName) -> Result<Vec<EnvironmentPage>, AppError> {
        let mut pages = Vec::new();
        for pointer in self.pointers_of(name).await? {
            pages.push(self.page(pointer).await?);
        }
        Ok(pages)
    }

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

    /// Lets a held version be promoted again. It may be left out where it is the only one: a release does not count as a
    /// move, so a retry would otherwise release the next one.
    ///
    /// # Errors
    /// Where the version is not held, several are and none is named, or the caller saw another generation.
    pub async fn release_hold(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        version: Option<CatalogVersion>,
        generation: i64,
        why: &str,
        actor: &str,
    ) -> Result<(), AppError> {
        let why = reason(why)?;
        let catalog = self.chosen_catalog(catalog).await?;
        let pointer = self.store.pointer(environment, &catalog).await?;
        let Some(pointer) = pointer else { return Err(self.never_used(environment, &catalog).await?) };
        if pointer.generation != generation {
            return Err(stale(environment, &catalog, generation, Some(&pointer)));
        }
        let holds = self.store.holds(environment, &catalog).await?;
        let held = match (version, holds.as_slice()) {
            (Some(version), holds) if holds.contains(&version) => version,
            (Some(_), _) | (None, []) => return Err(not_held(environment, &catalog, version)),
            (None, [only]) => *only,
            (None, several) => return Err(which_hold(environment, &catalog, several)),
        };
        let data = json!({ "catalog": catalog, "released": held, "generation": generation, "reason": why });
        let event =
            self.event(actor, "environment.hold-released", format!("environment/{environment}"), data);
        match self.store.release_hold(environment, &catalog, generation, held, event).await {
            // The generation stands, so it is the hold that somebody else released.
            Err(StoreError::Moved(Some(now))) if now.generation == generation => {
                Err(not_held(environment, &catalog, Some(held)))
            }
            Err(StoreError::Moved(now)) => Err(stale(environment, &catalog, generation, now.as_deref())),
            done => Ok(done?),
        }
    }

    async fn move_to(&self, kind: MoveKind, request: &MoveRequest) -> Result<Move, AppError> {
        let key = request
            .idempotency_key
            .as_ref()
            .map(|key| Idempotency { key: key.clone(), request: fingerprint(kind, request) });
        match (self.try_move(kind, request, key.clone()).await, key) {
            // A retry finds the pointer moved by the first try, so what it asks for may make no sense any more.
            (Err(e), Some(key)) if !e.kind.is_ours() => match self.store.answered(&key.key).await? {
                Some((request, answer)) if request == key.request => Ok(answer),
                Some(_) => Err(StoreError::KeyReused.into()),
                None => Err(e),
            },
            (answer, _) => answer,
        }
    }

    async fn try_move(
        &self,
        kind: MoveKind,
        request: &MoveRequest,
        key: Option<Idempotency>,
    ) -> Result<Move, AppError> {
        let why = reason(&request.reason)?;
        let catalog = &self.chosen_catalog(request.catalog.as_ref()).await?;
        let environment = &request.environment;
        let target = self.version(catalog, request.version).await?;
        let pointer = self.store.pointer(environment, catalog).await?;
        match (&pointer, kind) {
            (Some(pointer), _) if pointer.generation != request.generation => {
                return Err(stale(environment, catalog, request.generation, Some(pointer)));
            }
            // What is decided here stays true until the write: it succeeds only at this very generation.
            (Some(pointer), _) => {
                let history = self.store.moves(environment, catalog).await?;
                let holds = self.store.holds(environment, catalog).await?;
                may_move(kind, pointer, &history, &holds, target.version)?;
            }
            (None, MoveKind::Promote) if request.generation == 0 => {}
            (None, MoveKind::Promote) => {
                // Whoever mistyped the name is told so: "stale" would say that somebody else moved it.
                self.pointers_of(environment).await.map_err(|e| {
                    let help = format!("{}; a first promotion is made from generation 0", e.help);
                    e.help(help)
                })?;
                return Err(stale(environment, catalog, request.generation, None));
            }
            (None, MoveKind::Rollback) => return Err(self.never_used(environment, catalog).await?),
        }
        let (name, verb) = match kind {
            MoveKind::Promote => ("environment.promoted", "promoted"),
            MoveKind::Rollback => ("environment.rolled-back", "rolled back"),
        };
        let from = pointer.as_ref().map(|p| p.version);
        let hold = from.filter(|_| kind == MoveKind::Rollback);
        let generation = request.generation + 1;
        let data = json!({
            "catalog": catalog, "from": from, "to": target.version, "digest": target.digest,
            "generation": generation, "hold": hold, "reason": why,
        });
        let event = self.event(&request.actor, name, format!("environment/{environment}"), data);
        let order = Move {
            environment: environment.clone(),
            catalog: catalog.clone(),
            generation,
            kind,
            from,
            to: target.version,
            reason: why,
            actor: request.actor.clone(),
            at: event.at,
        };
        match self.store.move_pointer(NewMove { order, key }, event).await {
            Err(StoreError::Moved(now)) => {
                let error = stale(environment, catalog, request.generation, now.as_deref());
                Err(error.caused_by(format!("lost a race; nothing was {verb}")))
            }
            done => Ok(done?),
        }
    }

    /// The pointers of an environment that has to exist.
    pub(super) async fn pointers_of(
        &self,
        name: &EnvironmentName,
    ) -> Result<Vec<EnvironmentPointer>, AppError> {
        let (here, others): (Vec<_>, Vec<_>) =
            self.store.pointers().await?.into_iter().partition(|p| &p.environment == name);
        if here.is_empty() {
            let mut known: Vec<String> = others.into_iter().map(|p| p.environment.into()).collect();
            known.dedup();
            return Err(AppError::unknown("environment", "unknown-environment", name.as_str(), &known));
        }
        Ok(here)
    }

    /// The error for a pointer that was never set: no such environment, or not for this catalog.
    async fn never_used(&self, name: &EnvironmentName, catalog: &CatalogName) -> Result<AppError, AppError> {
        self.pointers_of(name).await?;
        let message = format!("no version of catalog `{catalog}` was ever live in `{name}`");
        Ok(AppError::new(Kind::Conflict, "never-live", message).help("promote one first"))
    }

    async fn page(&self, pointer: EnvironmentPointer) -> Result<EnvironmentPage, AppError> {
        let history = self.store.moves(&pointer.environment, &pointer.catalog).await?;
        let holds = self.store.holds(&pointer.environment, &pointer.catalog).await?;
        let free = |v: &CatalogVersion| *v != pointer.version && !holds.contains(v);
        let promotable =
            self.store.version_numbers(&pointer.catalog).await?.into_iter().filter(&free).collect();
        let mut rollback_targets: Vec<CatalogVersion> = Vec::new();
        for version in history.iter().map(|m| m.to).filter(&free) {
            if !rollback_targets.contains(&version) {
                rollback_targets.push(version);
            }
        }
        Ok(EnvironmentPage { pointer, history, holds, promotable, rollback_targets })
    }
}

/// Whether a pointer may be moved to a version.
fn may_move(
    kind: MoveKind,
    pointer: &EnvironmentPointer,
    history: &[Move],
    holds: &[CatalogVersion],
    to: CatalogVersion,
) -> Result<(), AppError> {
    let EnvironmentPointer { environment, catalog, .. } = pointer;
    if pointer.version == to {
        return Err(already_live(pointer));
    }
    if kind == MoveKind::Rollback && !history.iter().any(|m| m.to == to) {
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

fn which_hold(environment: &EnvironmentName, catalog: &CatalogName, holds: &[CatalogVersion]) -> AppError {
    let names: Vec<String> = holds.iter().map(ToString::to_string).collect();
    let message = format!(
        "{} versions of catalog `{catalog}` are held in `{environment}`, so one has to be named",
        names.len()
    );
    AppError::new(Kind::Invalid, "version-needed", message).help(format!("name one of: {}", names.join(", ")))
}

fn not_held(
    environment: &EnvironmentName,
    catalog: &CatalogName,
    version: Option<CatalogVersion>,
) -> AppError {
    let what = version.map_or_else(|| "no version".to_owned(), |v| format!("version {v}"));
    let is = if version.is_some() { "is not held" } else { "is held" };
    let message = format!("{what} of catalog `{catalog}` {is} in `{environment}`");
    AppError::new(Kind::Conflict, "not-held", message).help("nothing has to be done")
}

/// The caller looked at an older state: who moved the pointer since, and where it is now.
fn stale(
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
/// may have to be named by now.
fn fingerprint(kind: MoveKind, request: &MoveRequest) -> Digest {
    Digest::of(&json!({
        "kind": kind, "environment": request.environment, "catalog": request.catalog, "version": request.version,
        "generation": request.generation, "reason": request.reason, "actor": request.actor,
    }))
}
