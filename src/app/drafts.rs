//! Drafts: how they form.

use std::collections::{BTreeMap, HashSet};

use serde_json::json;

use super::{
    App, AppError, Kind,
    access::{Object, Right},
    catalogs::settings,
    check::compared,
    earlier,
    sides::{self, Unpinned},
};
use crate::{
    catalog::{
        Catalog, CatalogServer, Content, Draft, DraftStatus, Policy, ServerPin, Version,
        draft::{self, Release},
        policy::Against,
    },
    diff::{Report, Side},
    name::{CatalogName, ServerName},
    store::{Basis, Closing, Ending, NewDraft, NewSettings, StoreError},
};

/// What a draft would hold, judged.
pub(super) struct Judged {
    pub(super) content: Content,
    pub(super) report: Report,
    pub(super) earlier: Vec<Report>,
}

/// What forming a draft led to.
pub(super) enum Formed {
    /// A new draft waits.
    New(Box<Draft>),
    /// This one waits already.
    Pending(Box<Draft>),
    /// Somebody is at work on this one, so what is newer waits behind it and is drafted when that is decided.
    Queued(Box<Draft>),
    /// This one was refused, and nothing changed since.
    Rejected(Box<NewDraft>),
    /// The catalog's newest version is what its servers offer.
    Nothing,
}

impl App {
    /// Makes a draft of a catalog from the latest snapshots of its servers. The catalog is created where it does not
    /// exist and `servers` names some.
    ///
    /// # Errors
    /// Where the catalog does not exist, a server has no snapshot, or nothing changed.
    pub async fn draft(
        &self,
        catalog: &CatalogName,
        servers: &[ServerName],
        actor: &str,
    ) -> Result<Draft, AppError> {
        self.permit(Right::Draft, Object::catalog(catalog))?;
        let catalog = self.catalog_with(catalog, servers, actor).await?;
        match self.form_draft(&catalog, actor).await? {
            Formed::New(draft) | Formed::Pending(draft) | Formed::Queued(draft) => Ok(*draft),
            // Asked for by name, what was refused is put up for review once more.
            Formed::Rejected(new) => self.open_draft(*new, actor).await,
            Formed::Nothing => {
                let message = format!(
                    "catalog `{}` has nothing to draft: its servers offer what its newest version holds",
                    catalog.name
                );
                Err(AppError::new(Kind::Conflict, "nothing-changed", message)
                    .help("snapshot a server first, if its release is newer than its last snapshot"))
            }
        }
    }

    /// One draft, with the report as it was judged when the draft was made.
    ///
    /// # Errors
    /// Where it does not exist.
    pub async fn get_draft(&self, catalog: &CatalogName, id: i64) -> Result<Draft, AppError> {
        if let Some(draft) = self.store.draft(catalog, id).await? {
            return Ok(draft);
        }
        self.known_catalog(catalog).await?;
        let help = match self.store.latest_draft(catalog).await? {
            Some(newest) => format!("its newest draft is d-{}", newest.id),
            None => "it has no draft yet".to_owned(),
        };
        let message = format!("catalog `{catalog}` has no draft `d-{id}`");
        Err(AppError::new(Kind::NotFound, "unknown-draft", message).help(help))
    }

    /// Forms the draft that a catalog's servers ask for, if they ask for one.
    pub(super) async fn form_draft(&self, catalog: &Catalog, actor: &str) -> Result<Formed, AppError> {
        let basis = self.basis([format!("catalog/{}", catalog.name)]).await?;
        // Once more, now that what others set later is noticed.
        let catalog = &self.known_catalog(&catalog.name).await?;
        let releases = self.releases(catalog).await?;
        let base = self.store.latest_version(&catalog.name).await?;
        let Judged { content, report, earlier } = self.judged(catalog, base.as_ref(), &releases).await?;
        let last = self.store.latest_draft(&catalog.name).await?;
        let under_review = match &last {
            // One that cannot be approved any more is nobody's work.
            Some(d)
                if d.status == DraftStatus::Pending
                    && d.base == base.as_ref().map(|b| b.version)
                    && d.report.options() == catalog.policy.options() =>
            {
                self.is_under_review(d).await?
            }
            Some(_) | None => false,
        };
        if base.as_ref().is_some_and(|b| b.content.same_contracts(&content)) && report.tools.is_empty() {
            return match last.filter(|d| d.status == DraftStatus::Pending) {
                Some(pending) if under_review => Ok(Formed::Queued(Box::new(pending))),
                Some(pending) => {
                    self.supersede(&pending, basis, actor).await?;
                    Ok(Formed::Nothing)
                }
                None => Ok(Formed::Nothing),
            };
        }
        let new = NewDraft {
            catalog: catalog.name.clone(),
            base: base.map(|b| b.version),
            content,
            report,
            earlier,
            basis,
            created_by: actor.to_owned(),
            created_at: self.now(),
        };
        let same = |d: &Draft| {
            d.base == new.base
                && d.digest == new.content.digest()
                && d.report.options() == new.report.options()
                && d.report.tools == new.report.tools
                && d.earlier == new.earlier
        };
        match last {
            Some(draft) if draft.status == DraftStatus::Pending && same(&draft) => {
                Ok(Formed::Pending(Box::new(draft)))
            }
            Some(draft) if under_review => Ok(Formed::Queued(Box::new(draft))),
            Some(draft) if draft.status == DraftStatus::Rejected && same(&draft) => {
                Ok(Formed::Rejected(Box::new(new)))
            }
            Some(_) | None => Ok(Formed::New(Box::new(self.open_draft(new, actor).await?))),
        }
    }

    /// What a draft of these releases holds, and what that means for whoever relies on `base` or on what was before it.
    pub(super) async fn judged(
        &self,
        catalog: &Catalog,
        base: Option<&Version>,
        releases: &[Release],
    ) -> Result<Judged, AppError> {
        let baseline = self.baseline(base).await?;
        let label = releases.iter().map(|r| format!("{}@{}", r.pin.server, r.pin.snapshot.short()));
        let candidate = sides::candidate(label.collect::<Vec<_>>().join(", "), releases);
        let options = catalog.policy.options();
        let report = compared(baseline, candidate.clone(), options).await?;
        let looks_back = catalog.policy.against != Against::Latest;
        let older = match base {
            Some(base) if looks_back || draft::has_newcomers(base, releases) => {
                self.store.versions(&catalog.name).await?
            }
            Some(_) | None => Vec::new(),
        };
        let returned = base.map(|base| draft::returned(base, &older, releases)).unwrap_or_default();
        let (was, is) = self.returned_sides(&returned).await?;
        let again = compared(was, is, options).await?;
        let content = draft::content(base, &older, releases, &report, &again);
        let earlier = match base {
            Some(base) if looks_back => {
                let live = self.ever_live(&catalog.name, None).await?;
                let older = earlier::scope(catalog.policy.against, base, &older, &live);
                self.against_earlier(&older, &candidate, options).await?
            }
            Some(_) | None => Vec::new(),
        };
        Ok(Judged { content, report, earlier })
    }

    /// Whether somebody is at work on a pending draft, so that a newer snapshot waits behind it.
    async fn is_under_review(&self, draft: &Draft) -> Result<bool, AppError> {
        Ok(!draft.edited_by.is_empty()
            || self.store.approvals(draft.id).await?.iter().any(|a| a.digest == draft.digest)
            || !self.store.comments(draft.id).await?.is_empty())
    }

    pub(super) async fn open_draft(&self, new: NewDraft, actor: &str) -> Result<Draft, AppError> {
        let catalog = new.catalog.clone();
        let data = json!({
            "base": new.base, "digest": new.content.digest(), "verdict": new.report.verdict, "ruleSet": new.report.rule_set,
            "requiredBump": new.report.required_bump, "changedTools": new.report.tools.len(),
        });
        let event = self.event(actor, "draft.created", format!("catalog/{catalog}"), data);
        match self.store.open_draft(new, event).await {
            Err(StoreError::DraftChanged | StoreError::Shifted) => {
                let message = format!(
                    "catalog `{catalog}` got a new version or decision, or one of its servers a newer snapshot, while its draft \
                     was made"
                );
                Err(AppError::new(Kind::Conflict, "stale-draft", message).help("draft again"))
            }
            done => Ok(done?),
        }
    }

    /// The servers are back at what is approved, so there is nothing left to review.
    async fn supersede(&self, draft: &Draft, basis: Basis, actor: &str) -> Result<(), AppError> {
        let reason = "the servers offer the newest version again".to_owned();
        let data = json!({ "draft": draft.id, "digest": draft.digest, "reason": reason });
        let event = self.event(actor, "draft.superseded", format!("catalog/{}", draft.catalog), data);
        let ending = Ending { actor: actor.to_owned(), at: event.at, reason };
        let closing = Closing {
            draft: draft.id,
            status: DraftStatus::Superseded,
            seen: draft.digest.clone(),
            ending,
            basis,
        };
        match self.store.close_draft(closing, event).await {
            Err(StoreError::DraftChanged | StoreError::Shifted) => Ok(()), // decided or worked on meanwhile
            done => Ok(done?),
        }
    }

    async fn catalog_with(
        &self,
        name: &CatalogName,
        servers: &[ServerName],
        actor: &str,
    ) -> Result<Catalog, AppError> {
        let basis = self.basis([format!("catalog/{name}")]).await?;
        let before = self.store.catalog(name).await?;
        if before.is_none() && servers.is_empty() {
            return self.known_catalog(name).await;
        }
        let mut catalog = before.clone().unwrap_or_else(|| Catalog {
            name: name.clone(),
            policy: Policy::default(),
            environments: BTreeMap::new(),
            servers: Vec::new(),
        });
        for server in servers {
            if !catalog.servers.iter().any(|known| known.name == *server) {
                catalog.servers.push(CatalogServer::all(server.clone()));
            }
        }
        if before.as_ref() != Some(&catalog) {
            // What a catalog holds is a setting of it, whoever makes the draft.
            self.permit_in_all(Right::Configure, name, None)?;
            // Before anything is written: a name that nothing was recorded of is a slip of the hand.
            self.releases(&catalog).await?;
            let data = settings(before.as_ref(), &catalog);
            let event = self.event(actor, "catalog.applied", format!("catalog/{name}"), data);
            let new = NewSettings { catalog: &catalog, applied: None, version: None, basis };
            self.store.apply(new, vec![event]).await?;
        }
        Ok(catalog)
    }

    /// What each server of a catalog offers now. All have to be known: a server without a snapshot would read as one
    /// without tools.
    async fn releases(&self, catalog: &Catalog) -> Result<Vec<Release>, AppError> {
        let mut releases = Vec::new();
        for CatalogServer { name: server, tools, .. } in &catalog.servers {
            let Some(digest) = self.store.last_ok(server).await?.and_then(|row| row.digest) else {
                return Err(self.no_snapshot(server).await?);
            };
            let (snapshot, mut contracts) = self.contracts(server, &digest).await?;
            let selected = tools.matcher();
            contracts.retain(|contract| selected.holds(&contract.name));
            let pin = ServerPin { server: server.clone(), snapshot: digest, provenance: snapshot.provenance };
            releases.push(Release { pin, contracts });
        }
        if releases.is_empty() {
            let message =
                format!("catalog `{}` holds no server, so there is nothing to draft from", catalog.name);
            return Err(AppError::new(Kind::Invalid, "no-servers", message)
                .help("name servers, or list them under `servers` in the catalog's document"));
        }
        Ok(releases)
    }

    /// The releases that a content pins, with the contracts that it holds and no others.
    pub(super) async fn releases_of(&self, content: &Content) -> Result<Vec<Release>, AppError> {
        let mut releases = Vec::new();
        for pin in &content.servers {
            let (_, mut contracts) = self.contracts(&pin.server, &pin.snapshot).await?;
            let of_it = content.members.iter().filter(|m| m.server.as_ref() == Some(&pin.server));
            let held: HashSet<_> = of_it.map(|m| m.tool.as_str()).collect();
            contracts.retain(|contract| held.contains(contract.name.as_str()));
            releases.push(Release { pin: pin.clone(), contracts });
        }
        Ok(releases)
    }

    async fn no_snapshot(&self, server: &ServerName) -> Result<AppError, AppError> {
        if self.store.listings(server, 1).await?.is_empty() {
            let unknown = self.unknown_server(server).await?;
            return Ok(
                unknown.help(format!("take a snapshot of it first: `toolpact snapshot {server} -- COMMAND`"))
            );
        }
        let message = format!("server `{server}` has no snapshot: none of its listings ended `ok`");
        Ok(AppError::new(Kind::Conflict, "no-snapshot", message).help("snapshot it again when it answers"))
    }

    /// What callers rely on now; nothing, where nothing is approved yet.
    pub(super) async fn baseline(&self, base: Option<&Version>) -> Result<Side, AppError> {
        match base {
            None => Ok(Side { label: "nothing".to_owned(), servers: Vec::new() }),
            Some(base) => {
                let label = format!("{}@{}", base.catalog, base.version);
                self.version_side(&label, base, Unpinned::LeaveOut).await
            }
        }
    }
}
