//! Catalogs and their versions: documents in and out.

use serde_json::{Value, json};

use super::{
    App, AppError, Kind, TRIES,
    access::Right,
    review::busy,
    servers,
    view::{Applied, CatalogPage, CatalogSummary, SHOWN},
};
use crate::{
    catalog::{
        Catalog, CatalogServer, CatalogVersion, ServerSpec, Version,
        document::{self, Document},
        policy,
    },
    config,
    json::Digest,
    name::{CatalogName, ServerName},
    store::{NewSettings, StoreError},
};

/// How a document is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Apply {
    /// Nothing is written; the answer says what would be.
    pub dry_run: bool,
    /// What others set since the last document is undone.
    pub overwrite: bool,
}

impl App {
    /// Applies a catalog document: the catalog, its policy and servers; and, where it has tools and a
    /// `catalogVersion`, that version as approved. The servers that it says where to find are registered. `name` is where the document comes from: errors begin with it, and
    /// where the document names no catalog, the catalog is called as the file is, without folder and `.yaml`.
    ///
    /// A version that comes so was reviewed where the document was: its changes are not judged here, and are judged like any
    /// other's before it is promoted to an environment of which the catalog's settings say something.
    ///
    /// What others set since the last document was applied is not undone without being told to: the document is refused
    /// where both changed the same part.
    pub async fn apply(&self, name: &str, text: &str, actor: &str) -> Result<Applied, AppError> {
        self.apply_as(name, text, Apply::default(), actor).await
    }

    /// The same, as told.
    ///
    /// # Errors
    /// As [`App::apply`].
    pub async fn apply_as(
        &self,
        name: &str,
        text: &str,
        how: Apply,
        actor: &str,
    ) -> Result<Applied, AppError> {
        let invalid = |message: String| AppError::new(Kind::Invalid, "invalid-document", message);
        let document = document::read(text).map_err(|e| invalid(format!("{name}:{e}")))?;
        let catalog = match &document.catalog {
            Some(catalog) => catalog.clone(),
            None => stem(name).parse().map_err(|e| {
                invalid(format!("{name}: {e}")).help("name the catalog in the document: `catalog: NAME`")
            })?,
        };
        self.permit_in_all(Right::Configure, &catalog, None)?;
        let mut registered = Vec::new();
        for _ in 0..TRIES {
            let tried = self.try_apply((name, &document), &catalog, how, &mut registered, actor).await?;
            if let Some(applied) = tried {
                return Ok(Applied { registered, ..applied });
            }
        }
        Err(busy(&catalog))
    }

    /// Nothing, where somebody wrote meanwhile and it has to be looked at again; `registered` is what was registered by then.
    async fn try_apply(
        &self,
        (name, document): (&str, &Document),
        catalog: &CatalogName,
        how: Apply,
        registered: &mut Vec<ServerName>,
        actor: &str,
    ) -> Result<Option<Applied>, AppError> {
        let basis = self.basis([format!("catalog/{catalog}")]).await?;
        let before = self.store.catalog(catalog).await?;
        let after = applied(before.as_ref(), catalog.clone(), document);
        let last = self.store.applied(&after.name).await?;
        if let Some(now) = before.as_ref().filter(|_| !how.overwrite) {
            let undone = undone(last.as_ref(), now, &after);
            if !undone.is_empty() {
                return Err(changed_elsewhere(name, &now.name, &undone));
            }
        }
        let changes = difference(before.as_ref(), &after);
        let version = self.imported(&after, document, name, actor).await?;
        let unchanged = before.as_ref() == Some(&after) && version.is_none();
        let (specs, notes) = self.to_register(document).await?;
        registered.extend(specs.iter().map(|spec| spec.name.clone()));
        if how.dry_run {
            let version = version.map(|v| v.version);
            let registered = Vec::new();
            return Ok(Some(Applied { catalog: after, version, unchanged, changes, registered, notes }));
        }
        // First, for what fails after the catalog is written would be told of nothing.
        if !specs.is_empty() {
            self.register(specs, actor).await?;
        }
        let said = said_so(last.as_ref(), document, &after);
        if !unchanged || last.as_ref() != Some(&said) {
            let subject = format!("catalog/{}", after.name);
            let mut events = Vec::new();
            if before.as_ref() != Some(&after) {
                let data = settings(before.as_ref(), &after);
                let event = self.event(actor, "catalog.applied", subject.clone(), data);
                events.push(event.with("source", name));
            }
            if let Some(version) = &version {
                let data = json!({
                    "source": name, "version": version.version, "digest": version.digest, "reason": version.reason,
                });
                let event = self.event(actor, "version.imported", subject, data);
                events.push(event.sealed(self.seal_version(version)));
            }
            let new = NewSettings { catalog: &after, applied: Some(&said), version: version.as_ref(), basis };
            match self.store.apply(new, events).await {
                Err(StoreError::Shifted) => return Ok(None),
                Err(StoreError::VersionExists) => return Err(version_exists(&after.name, document.version)),
                done => done?,
            }
        }
        let (version, registered) = (document.version, Vec::new());
        Ok(Some(Applied { catalog: after, version, unchanged, changes, registered, notes }))
    }

    /// Sets a catalog's policy, environments and servers with their selections, or makes the catalog. Where a server is
    /// found stays as it was: that comes by documents and by configurations only.
    ///
    /// # Errors
    /// Where the catalog stands otherwise than `seen` (nothing: it must not be there), a server is not known, or the
    /// environments have no order.
    pub async fn put_catalog(
        &self,
        settings: Catalog,
        seen: Option<&Digest>,
        actor: &str,
    ) -> Result<Catalog, AppError> {
        self.permit_in_all(Right::Configure, &settings.name, None)?;
        for _ in 0..TRIES {
            if let Some(set) = self.try_put(&settings, seen, actor).await? {
                return Ok(set);
            }
        }
        Err(busy(&settings.name))
    }

    /// Nothing, where somebody wrote meanwhile and it has to be looked at again: whoever only said or decided something of a
    /// draft is in nobody's way.
    async fn try_put(
        &self,
        settings: &Catalog,
        seen: Option<&Digest>,
        actor: &str,
    ) -> Result<Option<Catalog>, AppError> {
        let name = settings.name.clone();
        let basis = self.basis([format!("catalog/{name}")]).await?;
        let before = self.store.catalog(&name).await?;
        if before.as_ref().map(Catalog::digest).as_ref() != seen {
            return Err(moved_settings(&name, before.as_ref()));
        }
        if let Err((environment, cause)) = policy::order(&settings.environments) {
            let message = format!("environment `{environment}` {cause}");
            return Err(AppError::new(Kind::Invalid, "bad-environments", message));
        }
        let mut after = settings.clone();
        for server in &mut after.servers {
            let known = before.as_ref().and_then(|c| c.servers.iter().find(|s| s.name == server.name));
            server.source = known.and_then(|s| s.source.clone());
            let listed = !self.store.listings(&server.name, 1).await?.is_empty();
            if known.is_none() && !listed && self.store.registration(&server.name).await?.is_none() {
                return Err(self.unknown_server(&server.name).await?);
            }
        }
        if before.as_ref() == Some(&after) {
            return Ok(Some(after));
        }
        let event = self.event(
            actor,
            "catalog.applied",
            format!("catalog/{name}"),
            self::settings(before.as_ref(), &after),
        );
        let new = NewSettings { catalog: &after, applied: None, version: None, basis };
        match self.store.apply(new, vec![event]).await {
            Err(StoreError::Shifted) => Ok(None),
            done => {
                done?;
                Ok(Some(after))
            }
        }
    }

    /// The servers that a document says where to find, but for those that are registered so already. Second, what was kept
    /// out because it looks like a secret.
    async fn to_register(&self, document: &Document) -> Result<(Vec<ServerSpec>, Vec<String>), AppError> {
        let (mut specs, mut notes) = (Vec::new(), Vec::new());
        for server in &document.servers {
            let Some(source) = &server.source else { continue };
            let mut spec = ServerSpec::new(server.name.clone(), source.clone());
            notes.extend(
                config::clear(&mut spec).iter().map(|note| format!("server `{}`: {note}", server.name)),
            );
            match self.store.registration(&server.name).await?.map(|r| r.spec) {
                Some(known) if known.source == spec.source => {}
                Some(known) => specs.push(ServerSpec { source: spec.source, ..known }),
                None => specs.push(spec),
            }
        }
        Ok((specs, notes))
    }

    /// The version that a document brings, where it is not here yet.
    async fn imported(
        &self,
        catalog: &Catalog,
        document: &Document,
        source: &str,
        actor: &str,
    ) -> Result<Option<Version>, AppError> {
        let (Some(number), Some(content)) = (document.version, document.content(source)) else {
            return Ok(None);
        };
        let digest = content.digest();
        if let Some(known) = self.store.version(&catalog.name, number).await? {
            return if known.digest == digest {
                Ok(None)
            } else {
                Err(version_exists(&catalog.name, Some(number)))
            };
        }
        Ok(Some(Version {
            catalog: catalog.name.clone(),
            version: number,
            digest,
            content,
            draft: None,
            approved_by: actor.to_owned(),
            reason: format!("imported from {source}"),
            approved_at: self.now(),
        }))
    }

    /// The document of a version (the newest where none is given), or of a catalog without versions.
    ///
    /// # Errors
    /// Where the catalog or the version does not exist.
    pub async fn export(
        &self,
        catalog: &CatalogName,
        version: Option<CatalogVersion>,
    ) -> Result<String, AppError> {
        let settings = self.known_catalog(catalog).await?;
        let version = match version {
            Some(number) => Some(self.version(catalog, number).await?),
            None => self.store.latest_version(catalog).await?,
        };
        Ok(Document::of(&settings, version.as_ref()).write())
    }

    /// Every catalog, by name.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn catalogs(&self) -> Result<Vec<CatalogSummary>, AppError> {
        let rows = self.store.catalog_rows(None, usize::MAX).await?;
        Ok(rows.into_iter().map(CatalogSummary::from).collect())
    }

    /// One catalog with its newest versions and drafts.
    ///
    /// # Errors
    /// Where it does not exist.
    pub async fn catalog(&self, name: &CatalogName) -> Result<CatalogPage, AppError> {
        let catalog = self.known_catalog(name).await?;
        let versions = self.store.version_rows(name, None, SHOWN).await?;
        let drafts = self.store.draft_rows(name, None, None, SHOWN).await?;
        let pointers = self.store.pointers().await?.into_iter().filter(|p| &p.catalog == name).collect();
        Ok(CatalogPage { catalog, versions, drafts, pointers })
    }

    /// One version.
    ///
    /// # Errors
    /// Where the catalog or the version does not exist.
    pub async fn version(&self, catalog: &CatalogName, version: CatalogVersion) -> Result<Version, AppError> {
        if let Some(version) = self.store.version(catalog, version).await? {
            return Ok(version);
        }
        self.known_catalog(catalog).await?;
        let known = self.store.version_numbers(catalog).await?;
        let newest = known.first().map_or_else(
            || "it has no approved version yet".to_owned(),
            |newest| format!("its newest version is {newest}"),
        );
        let message = format!("catalog `{catalog}` has no version {version}");
        Err(AppError::new(Kind::NotFound, "unknown-version", message).help(newest))
    }

    /// A catalog that has to exist.
    pub(super) async fn known_catalog(&self, name: &CatalogName) -> Result<Catalog, AppError> {
        match self.store.catalog(name).await? {
            Some(catalog) => Ok(catalog),
            None => {
                let scope = self.caller().and_then(|caller| caller.scope.catalogs.as_ref());
                // What there is outside of a scope is not told.
                let told = |c: &Catalog| scope.is_none_or(|within| within.contains(&c.name));
                let known: Vec<String> =
                    self.store.catalogs().await?.into_iter().filter(told).map(|c| c.name.into()).collect();
                Err(AppError::unknown("catalog", "unknown-catalog", name.as_str(), &known))
            }
        }
    }

    /// The catalog that was named, or the only one.
    pub(super) async fn chosen_catalog(&self, name: Option<&CatalogName>) -> Result<CatalogName, AppError> {
        if let Some(name) = name {
            return Ok(self.known_catalog(name).await?.name);
        }
        if let Some(catalogs) = self.caller().and_then(|caller| caller.scope.catalogs.as_ref()) {
            // What there is outside of a scope is not told, nor does it make the only one within doubtful.
            if let (Some(only), 1) = (catalogs.first(), catalogs.len()) {
                return Ok(only.clone());
            }
            let names: Vec<&str> = catalogs.iter().map(CatalogName::as_str).collect();
            return Err(AppError::new(Kind::Invalid, "catalog-needed", "a catalog has to be named")
                .help(format!("name one of your scope: {}", names.join(", "))));
        }
        let mut all = self.store.catalogs().await?;
        match (all.pop(), all.len()) {
            (Some(only), 0) => Ok(only.name),
            (None, _) => {
                let help = "create one with a document: `toolpact apply FILE`";
                Err(AppError::new(Kind::NotFound, "unknown-catalog", "there is no catalog yet").help(help))
            }
            (Some(last), _) => {
                all.push(last);
                let names: Vec<&str> = all.iter().map(|c| c.name.as_str()).collect();
                let message = format!("there are {} catalogs, so one has to be named", names.len());
                Err(AppError::new(Kind::Invalid, "catalog-needed", message)
                    .help(format!("name one of: {}", names.join(", "))))
            }
        }
    }
}

/// The catalog's settings after a document: `policy` and `servers` replace what was there, or stay where the document
/// leaves them out. Where a server is found is not forgotten by a document that does not say.
fn applied(before: Option<&Catalog>, name: CatalogName, document: &Document) -> Catalog {
    let known = |name: &ServerName| before.and_then(|c| c.servers.iter().find(|s| s.name == *name));
    let mut servers: Vec<CatalogServer> = document
        .servers
        .iter()
        .map(|said| {
            let known = known(&said.name);
            CatalogServer {
                name: said.name.clone(),
                source: said.source.clone().or_else(|| known?.source.clone()),
                tools: said.selection.clone().or_else(|| Some(known?.tools.clone())).unwrap_or_default(),
            }
        })
        .collect();
    if servers.is_empty() {
        servers = before.map(|c| c.servers.clone()).unwrap_or_default();
    }
    for named in document.tools.iter().flatten().filter_map(|m| m.server.as_ref()) {
        if !servers.iter().any(|server| server.name == *named) {
            servers.push(known(named).cloned().unwrap_or_else(|| CatalogServer::all(named.clone())));
        }
    }
    let policy = document.policy.clone().or_else(|| before.map(|c| c.policy.clone()));
    let environments = document.environments.clone().or_else(|| before.map(|c| c.environments.clone()));
    Catalog {
        name,
        policy: policy.unwrap_or_default(),
        environments: environments.unwrap_or_default(),
        servers,
    }
}

/// What the next document is compared with: what documents said last of each part, for what others set is not theirs.
fn said_so(last: Option<&Catalog>, document: &Document, after: &Catalog) -> Catalog {
    let Some(last) = last else { return after.clone() };
    let mut said = Catalog { name: after.name.clone(), ..last.clone() };
    if document.policy.is_some() {
        said.policy = after.policy.clone();
    }
    if document.environments.is_some() {
        said.environments = after.environments.clone();
    }
    if !document.servers.is_empty() {
        said.servers = after.servers.clone();
    }
    said
}

/// The parts of a catalog that somebody set otherwise since the last document, and that `after` would set to something
/// else again.
fn undone(last: Option<&Catalog>, now: &Catalog, after: &Catalog) -> Vec<String> {
    let Some(last) = last else { return Vec::new() };
    let mut parts = Vec::new();
    if now.policy != last.policy && after.policy != now.policy {
        parts.push("`policy`".to_owned());
    }
    if now.environments != last.environments && after.environments != now.environments {
        parts.push("`environments`".to_owned());
    }
    let of = |catalog: &Catalog, name: &ServerName| catalog.servers.iter().find(|s| s.name == *name).cloned();
    let mut names: Vec<&ServerName> = last.servers.iter().chain(&now.servers).map(|s| &s.name).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (was, is, will) = (of(last, name), of(now, name), of(after, name));
        if is != was && will != is {
            parts.push(format!("server `{name}`"));
        }
    }
    parts
}

fn changed_elsewhere(file: &str, catalog: &CatalogName, parts: &[String]) -> AppError {
    let message = format!(
        "{file} would undo what others set in catalog `{catalog}` since a document was applied to it: {}",
        parts.join(", ")
    );
    AppError::new(Kind::Conflict, "changed-elsewhere", message).help(format!(
        "look at `toolpact export {catalog}` and take it over, or apply the file with `--overwrite`"
    ))
}

fn moved_settings(name: &CatalogName, now: Option<&Catalog>) -> AppError {
    let message = match now {
        Some(_) => {
            format!("catalog `{name}` is set otherwise by now than you saw, or it was not to be there yet")
        }
        None => format!("catalog `{name}` does not exist"),
    };
    AppError::new(Kind::Stale, "stale-settings", message)
        .help("read it again, then repeat the change on that")
}

/// The lines of the settings that differ, as a document writes them.
fn difference(before: Option<&Catalog>, after: &Catalog) -> Vec<String> {
    let text = |catalog: &Catalog| Document::of(catalog, None).write();
    let (was, is) = (before.map(text).unwrap_or_default(), text(after));
    let lines = similar::TextDiff::from_lines(&was, &is);
    let changed = lines.iter_all_changes().filter(|c| c.tag() != similar::ChangeTag::Equal);
    changed.map(|c| format!("{} {}", c.tag(), c.value().trim_end())).collect()
}

/// A catalog's settings as its event tells them: where servers are found without what may be secret in it, because the
/// log is kept for ever.
pub(super) fn settings(before: Option<&Catalog>, catalog: &Catalog) -> Value {
    let servers: Vec<Value> = catalog
        .servers
        .iter()
        .map(|server| {
            let source = server.source.as_ref().map(servers::shown);
            if server.tools.is_all() {
                json!({ "name": server.name, "source": source })
            } else {
                json!({ "name": server.name, "source": source, "tools": server.tools })
            }
        })
        .collect();
    let mut settings = json!({
        "before": before.map(Catalog::digest), "digest": catalog.digest(),
        "policy": catalog.policy, "servers": servers,
    });
    if !catalog.environments.is_empty() {
        settings["environments"] = json!(catalog.environments);
    }
    settings
}

fn version_exists(catalog: &CatalogName, version: Option<CatalogVersion>) -> AppError {
    let number = version.map(|v| v.to_string()).unwrap_or_default();
    let message =
        format!("catalog `{catalog}` has a version {number} with other content, and versions never change");
    AppError::new(Kind::Conflict, "version-exists", message)
        .help("give the document the next free catalogVersion")
}

/// A path or a name, without folder and `.yaml`.
fn stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.strip_suffix(".yaml").or_else(|| file.strip_suffix(".yml")).unwrap_or(file)
}
