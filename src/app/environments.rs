//! Environments: where they point, what is held and what is frozen there.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    App, AppError, Kind, ReleaseRequest,
    access::{Object, Right},
    moves::{keyed, stale},
    reason,
    view::{EnvironmentPage, SHOWN},
};
use crate::{
    catalog::{CatalogVersion, EnvironmentPointer, Freeze},
    json::Digest,
    name::{CatalogName, EnvironmentName},
    store::{Idempotency, NewRelease, StoreError},
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

    /// Where every environment points, by name and catalog.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn pointers(&self) -> Result<Vec<EnvironmentPointer>, AppError> {
        Ok(self.store.pointers().await?)
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

    /// Lets a held version be promoted again. It may be left out where it is the only one: a release does not count as a
    /// move, so a retry would otherwise release the next one.
    ///
    /// # Errors
    /// Where the version is not held, several are and none is named, or the caller saw another generation.
    pub async fn release_hold(&self, request: &ReleaseRequest) -> Result<(), AppError> {
        self.permit_move(Right::Promote, &request.environment, request.catalog.as_ref()).await?;
        let key = keyed(request.idempotency_key.as_deref(), || release_fingerprint(request))?;
        match (self.try_release(request, key.clone()).await, key) {
            // A retry finds nothing held any more, or the pointer moved since.
            (Err(e), Some(key)) if !e.kind.is_ours() => self.answered_instead(e, &key).await.map(|_| ()),
            (answer, _) => answer,
        }
    }

    async fn try_release(&self, request: &ReleaseRequest, key: Option<Idempotency>) -> Result<(), AppError> {
        let ReleaseRequest { environment, version, generation, .. } = request;
        let (version, generation) = (*version, *generation);
        let why = reason(&request.reason)?;
        let catalog = self.chosen_catalog(request.catalog.as_ref()).await?;
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
        let event = self.event(
            &request.actor,
            "environment.hold-released",
            format!("environment/{environment}"),
            data,
        );
        let release =
            NewRelease { environment: environment.clone(), catalog: catalog.clone(), generation, held, key };
        match self.store.release_hold(release, event).await {
            // The generation stands, so it is the hold that somebody else released.
            Err(StoreError::Moved(Some(now))) if now.generation == generation => {
                Err(not_held(environment, &catalog, Some(held)))
            }
            Err(StoreError::Moved(now)) => Err(stale(environment, &catalog, generation, now.as_deref())),
            done => Ok(done?),
        }
    }

    /// Refuses what the caller may not do there to one catalog or, where none is named, to all.
    fn permit_everywhere(
        &self,
        right: Right,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
    ) -> Result<(), AppError> {
        self.permit(right, Object { catalog, environment: Some(environment) })?;
        match self.caller() {
            Some(caller) if catalog.is_none() && caller.scope.catalogs.is_some() => {
                Err(caller.beyond_scope(right).into())
            }
            Some(_) | None => Ok(()),
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
            known.sort_unstable();
            known.dedup();
            return Err(AppError::unknown("environment", "unknown-environment", name.as_str(), &known));
        }
        Ok(here)
    }

    /// Whether an environment is one: something is live there, or the settings of a catalog name it. What is decided for
    /// any other name would protect nothing.
    pub(super) async fn known_environment(&self, name: &EnvironmentName) -> Result<(), AppError> {
        let mut known: BTreeSet<EnvironmentName> =
            self.store.pointers().await?.into_iter().map(|p| p.environment).collect();
        for catalog in self.store.catalogs().await? {
            known.extend(catalog.environments.into_keys());
        }
        if known.contains(name) {
            return Ok(());
        }
        let known: Vec<String> = known.into_iter().map(Into::into).collect();
        Err(AppError::unknown("environment", "unknown-environment", name.as_str(), &known))
    }

    /// The error for a pointer that was never set: no such environment, or not for this catalog.
    pub(super) async fn never_used(
        &self,
        name: &EnvironmentName,
        catalog: &CatalogName,
    ) -> Result<AppError, AppError> {
        self.pointers_of(name).await?;
        let message = format!("no version of catalog `{catalog}` was ever live in `{name}`");
        Ok(AppError::new(Kind::Conflict, "never-live", message).help("promote one first"))
    }

    /// Freezes an environment, or one catalog in it: nothing moves there until it is unfrozen, but for an emergency.
    ///
    /// # Errors
    /// Where it is frozen already, the catalog does not exist, or nothing names such an environment.
    pub async fn freeze(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        why: &str,
        actor: &str,
    ) -> Result<Freeze, AppError> {
        let why = reason(why)?;
        self.permit_everywhere(Right::RollBack, environment, catalog)?;
        if let Some(catalog) = catalog {
            self.known_catalog(catalog).await?;
        }
        self.known_environment(environment).await?;
        let data = json!({ "catalog": catalog, "reason": why });
        let event = self.event(actor, "environment.frozen", format!("environment/{environment}"), data);
        let freeze = Freeze {
            environment: environment.clone(),
            catalog: catalog.cloned(),
            reason: why,
            actor: actor.to_owned(),
            at: event.at,
        };
        if self.store.freeze(&freeze, event).await? {
            return Ok(freeze);
        }
        let message = format!("{} is frozen already", frozen_place(environment, catalog));
        Err(AppError::new(Kind::Conflict, "frozen-already", message).help("nothing has to be done"))
    }

    /// Ends a freeze.
    ///
    /// # Errors
    /// Where there is none.
    pub async fn unfreeze(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        why: &str,
        actor: &str,
    ) -> Result<(), AppError> {
        let why = reason(why)?;
        self.permit_everywhere(Right::Promote, environment, catalog)?;
        let data = json!({ "catalog": catalog, "reason": why });
        let event = self.event(actor, "environment.unfrozen", format!("environment/{environment}"), data);
        if self.store.unfreeze(environment, catalog, event).await? {
            return Ok(());
        }
        let message = format!("{} is not frozen", frozen_place(environment, catalog));
        let here = self.freezes_of(environment).await?;
        let help = match here.as_slice() {
            [] => "nothing has to be done".to_owned(),
            here => {
                let names = here.iter().map(|f| frozen_place(environment, f.catalog.as_ref()));
                format!("frozen is: {}", names.collect::<Vec<_>>().join(", "))
            }
        };
        Err(AppError::new(Kind::Conflict, "not-frozen", message).help(help))
    }

    /// What is frozen in an environment.
    pub(super) async fn freezes_of(&self, environment: &EnvironmentName) -> Result<Vec<Freeze>, AppError> {
        let mut all = self.store.freezes().await?;
        all.retain(|f| f.environment == *environment);
        Ok(all)
    }

    pub(super) async fn page(&self, pointer: EnvironmentPointer) -> Result<EnvironmentPage, AppError> {
        let history = self.store.moves(&pointer.environment, Some(&pointer.catalog), None, SHOWN).await?;
        let holds = self.store.holds(&pointer.environment, &pointer.catalog).await?;
        let free = |v: &CatalogVersion| *v != pointer.version && !holds.contains(v);
        let versions = self.store.version_rows(&pointer.catalog, None, SHOWN).await?;
        let promotable = versions.into_iter().map(|v| v.version).filter(&free).collect();
        let mut rollback_targets: Vec<CatalogVersion> = Vec::new();
        for version in history.iter().map(|m| m.to).filter(&free) {
            if !rollback_targets.contains(&version) {
                rollback_targets.push(version);
            }
        }
        let freezes = self.freezes_of(&pointer.environment).await?;
        let freezes =
            freezes.into_iter().filter(|f| f.catalog.as_ref().is_none_or(|c| *c == pointer.catalog));
        let freezes = freezes.collect();
        Ok(EnvironmentPage { pointer, history, holds, freezes, promotable, rollback_targets })
    }
}

/// What a retry has to repeat to be the same request, as for moves.
fn release_fingerprint(request: &ReleaseRequest) -> Digest {
    Digest::of(&json!({
        "kind": "release-hold", "environment": request.environment, "catalog": request.catalog,
        "version": request.version, "generation": request.generation, "reason": request.reason,
        "actor": request.actor,
    }))
}

/// What a freeze is of.
pub(super) fn frozen_place(environment: &EnvironmentName, catalog: Option<&CatalogName>) -> String {
    match catalog {
        Some(catalog) => format!("catalog `{catalog}` in environment `{environment}`"),
        None => format!("environment `{environment}`"),
    }
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
