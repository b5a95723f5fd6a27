//! Decisions on single changes: made, listed, and found by what a person names.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{findings, unknown_change};
use crate::{
    access::person,
    app::{App, AppError, Kind, owner, reason},
    catalog::{
        Catalog,
        check::Check,
        review::{Decision, Ruling, told},
    },
    diff::{Finding, ToolReport},
    json::Digest,
    name::{CatalogName, EnvironmentName},
};

/// The most changes that one request names one by one.
const MAX_CHANGES: usize = 1_000;

/// What is asked to be decided of changes.
#[derive(Debug, Clone)]
pub struct DecideRequest {
    /// In which catalog.
    pub catalog: CatalogName,
    /// Which changes.
    pub changes: Changes,
    /// What is decided.
    pub ruling: Ruling,
    /// The only environment that it counts for.
    pub environment: Option<EnvironmentName>,
    /// Why.
    pub reason: String,
    /// Who answers for it, of a waiver; whoever decides, where nobody is named.
    pub owner: Option<String>,
    /// When it ends, which makes it a waiver.
    pub expires: Option<DateTime<Utc>>,
    /// Who decides.
    pub actor: String,
}

/// Changes, as a person names them.
#[derive(Debug, Clone)]
pub enum Changes {
    /// One by one: whole fingerprints, or their first hex digits where the draft or environment tells them apart.
    Fingerprints(Vec<String>),
    /// All of a draft that one rule found.
    Rule {
        /// The draft.
        draft: i64,
        /// The rule.
        rule: String,
    },
    /// One by one, of a check of a build.
    Check {
        /// The check.
        check: i64,
        /// As above.
        fingerprints: Vec<String>,
    },
}

impl App {
    /// Decides on changes, all or none. Decisions stick to the changes: where the same change comes again it is decided
    /// already. A later decision takes the place of an earlier one.
    ///
    /// # Errors
    /// Where a change or the environment is not known, a change is never accepted, or a waiver would end before it begins.
    pub async fn decide(&self, request: &DecideRequest) -> Result<Vec<Decision>, AppError> {
        let why = reason(&request.reason)?;
        self.permit_decision(&request.catalog, request.environment.as_ref()).await?;
        let catalog = self.known_catalog(&request.catalog).await?;
        let now = self.now();
        if let Some(end) = request.expires
            && (request.ruling != Ruling::Accept || end <= now)
        {
            let message = if end <= now {
                format!("the waiver would end on {}, which is not in the future", crate::app::shown(end))
            } else {
                format!("only an acceptance can end by itself, not `{}`", request.ruling.as_str())
            };
            return Err(AppError::new(Kind::Invalid, "bad-expiry", message).help("give a later end, or none"));
        }
        if request.owner.is_some() && request.expires.is_none() {
            let message = "an owner is named for a decision that never ends";
            return Err(AppError::new(Kind::Invalid, "owner-without-expiry", message)
                .help("say until when it is waived, or leave the owner out"));
        }
        let owned = request.owner.as_deref().map(owner).transpose()?;
        if let Some(environment) = &request.environment {
            self.known_environment(environment).await?;
        }
        let changes = self.named_changes(&catalog, &request.changes, &request.actor).await?;
        let decisions: Vec<Decision> = changes
            .iter()
            .map(|change| Decision {
                id: 0, // given by the store
                catalog: catalog.name.clone(),
                fingerprint: change.fingerprint.clone(),
                environment: request.environment.clone(),
                ruling: request.ruling,
                reason: why.clone(),
                owner: request.expires.map(|_| owned.clone().unwrap_or_else(|| request.actor.clone())),
                expires: request.expires,
                change: change.told.clone(),
                actor: request.actor.clone(),
                at: now,
            })
            .collect();
        if request.ruling == Ruling::Accept
            && let Some(change) = changes.iter().find(|c| c.absolute)
        {
            return Err(AppError::new(
                Kind::Blocked,
                "absolute-finding",
                format!("this is never accepted: {}", change.told),
            )
            .help("the server has to be mended and listed again"));
        }
        if request.ruling == Ruling::Accept {
            by_others(&catalog, request, &changes)?;
        }
        let event = self.decided(&catalog.name, &request.actor, &decisions);
        Ok(self.store.decide(decisions, event).await?)
    }

    /// Everything that was decided on changes of a catalog, newest first; those that count no more as well.
    ///
    /// # Errors
    /// Where the catalog does not exist.
    pub async fn decisions(&self, catalog: &CatalogName) -> Result<Vec<Decision>, AppError> {
        self.known_catalog(catalog).await?;
        let mut all = self.store.decisions(catalog).await?;
        all.reverse();
        Ok(all)
    }

    /// The waivers of all catalogs, those that end first before the others; those that have ended stand in the way again.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn waivers(&self) -> Result<Vec<Decision>, AppError> {
        Ok(self.store.waivers().await?)
    }

    async fn named_changes(
        &self,
        catalog: &Catalog,
        changes: &Changes,
        actor: &str,
    ) -> Result<Vec<Named>, AppError> {
        match changes {
            Changes::Rule { draft, rule } => {
                let draft = self.get_draft(&catalog.name, *draft).await?;
                let named: Vec<Named> =
                    unique(findings(&draft).filter(|(_, f)| f.rule == *rule).map(Named::of));
                if named.is_empty() {
                    let mut known: Vec<String> = findings(&draft).map(|(_, f)| f.rule.clone()).collect();
                    known.sort();
                    known.dedup();
                    return Err(AppError::unknown("rule", "unknown-rule", rule, &known));
                }
                Ok(named)
            }
            Changes::Fingerprints(texts) => {
                named_some(texts)?;
                let mut known = self.near_changes(catalog, actor).await?;
                let mut named = Vec::new();
                for text in texts {
                    let of = format!("catalog `{}`", catalog.name);
                    let change = match known.one_of(text, &of) {
                        Err(e) if e.kind == Kind::NotFound && !known.all => {
                            self.far_changes(catalog, texts, &mut known).await?;
                            known.one_of(text, &of)
                        }
                        found => found,
                    };
                    named.push(change?);
                }
                Ok(unique(named.into_iter()))
            }
            Changes::Check { check, fingerprints } => {
                named_some(fingerprints)?;
                let check = self.get_check(*check).await?.check;
                let of = format!("check `{}` of catalog `{}`", check.id, catalog.name);
                let mut known = Known::default();
                if check.catalog == catalog.name {
                    known.extend(named_in(&check));
                }
                let named: Result<Vec<_>, _> = fingerprints.iter().map(|t| known.one_of(t, &of)).collect();
                Ok(unique(named?.into_iter()))
            }
        }
    }

    /// The changes that cost nothing to find: of the newest draft, and those that somebody else accepted before.
    async fn near_changes(&self, catalog: &Catalog, actor: &str) -> Result<Known, AppError> {
        let mut known = Known::default();
        if let Some(draft) = self.store.latest_draft(&catalog.name).await? {
            known.extend(findings(&draft).map(Named::of));
        }
        // What was only refused so far may be something that is never accepted.
        let decisions = self.store.decisions(&catalog.name).await?.into_iter();
        let by_others = |d: &Decision| d.ruling == Ruling::Accept && person(&d.actor) != person(actor);
        known.extend(decisions.filter(by_others).map(Named::before));
        Ok(known)
    }

    /// The others that can be decided on: of what an approved version would bring to an environment, for which many are
    /// compared, those of checks of builds that begin like these texts, and whatever was decided before.
    async fn far_changes(
        &self,
        catalog: &Catalog,
        texts: &[String],
        known: &mut Known,
    ) -> Result<(), AppError> {
        for report in self.promotable_reports(catalog).await? {
            known.extend(report.findings().map(Named::of));
        }
        // Before what was decided: who had a change checked has not made it somebody else's by a decision on it.
        let mut checks = BTreeSet::new();
        for hex in texts.iter().filter_map(|text| hex(text)) {
            checks.extend(self.store.checks_holding(&catalog.name, &hex).await?);
        }
        // The newest first: whose a change is, the last who had it checked says.
        for id in checks.into_iter().rev() {
            if let Some(check) = self.store.check(id).await? {
                known.extend(named_in(&check));
            }
        }
        known.extend(self.store.decisions(&catalog.name).await?.into_iter().map(Named::before));
        known.all = true;
        Ok(())
    }

    pub(super) fn decided(
        &self,
        catalog: &CatalogName,
        actor: &str,
        decisions: &[Decision],
    ) -> crate::catalog::event::NewEvent {
        let first = decisions.first();
        let changes: Vec<Value> =
            decisions.iter().map(|d| json!({ "fingerprint": d.fingerprint, "change": d.change })).collect();
        let data = json!({
            "ruling": first.map(|d| d.ruling), "reason": first.map(|d| &d.reason),
            "environment": first.and_then(|d| d.environment.as_ref()),
            "owner": first.and_then(|d| d.owner.as_ref()), "expires": first.and_then(|d| d.expires),
            "changes": changes,
        });
        self.event(actor, "change.decided", format!("catalog/{catalog}"), data)
    }
}

/// A change, ready to be decided on.
#[derive(Debug, Clone)]
struct Named {
    fingerprint: Digest,
    told: String,
    absolute: bool,
    /// Who registered the check, where nothing else tells of it.
    checked_by: Option<String>,
}

impl Named {
    fn of((tool, finding): (&ToolReport, &Finding)) -> Self {
        Self {
            fingerprint: finding.fingerprint.clone(),
            told: told(tool, finding),
            absolute: finding.absolute,
            checked_by: None,
        }
    }

    fn before(Decision { fingerprint, change, .. }: Decision) -> Self {
        Self { fingerprint, told: change, absolute: false, checked_by: None }
    }
}

/// The changes of a check.
fn named_in(check: &Check) -> impl Iterator<Item = Named> {
    check.findings().map(|change| Named { checked_by: Some(check.created_by.clone()), ..Named::of(change) })
}

/// Refuses a list of changes that is empty or endless.
fn named_some(texts: &[String]) -> Result<(), AppError> {
    if texts.is_empty() {
        return Err(AppError::new(Kind::Invalid, "no-change", "no change is named")
            .help("name changes by their fingerprints, or by a draft and a rule"));
    }
    if texts.len() > MAX_CHANGES {
        let message = format!("{} changes are named; one request decides on {MAX_CHANGES}", texts.len());
        return Err(AppError::new(Kind::Invalid, "too-many-changes", message)
            .help("name fewer at once, or all of a rule by a draft and the rule"));
    }
    Ok(())
}

/// Refuses that somebody accepts what their own pipeline had checked, where others have to approve what they make.
fn by_others(catalog: &Catalog, request: &DecideRequest, changes: &[Named]) -> Result<(), AppError> {
    let approvals = match &request.environment {
        Some(environment) => catalog.policy_in(environment).approvals,
        // It counts wherever more is asked for, too.
        None => {
            let of_environments = catalog.environments.keys().map(|name| catalog.policy_in(name).approvals);
            of_environments.fold(catalog.policy.approvals, Ord::max)
        }
    };
    let own = |c: &&Named| c.checked_by.as_deref().is_some_and(|by| person(by) == person(&request.actor));
    match changes.iter().find(own) {
        Some(change) if approvals > 0 => {
            let message =
                format!("{} had it checked, and others have to accept it: {}", request.actor, change.told);
            Err(AppError::new(Kind::Blocked, "own-check", message)
                .help("let somebody decide who did not register the check, nor owns the token that did"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Fewer digits name no change.
const SHORTEST: usize = 6;

/// The digits of a fingerprint, or its first ones.
fn hex(text: &str) -> Option<String> {
    let hex = text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
    let digits = (SHORTEST..=64).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit());
    digits.then_some(hex)
}

fn unique(named: impl Iterator<Item = Named>) -> Vec<Named> {
    let mut seen = BTreeSet::new();
    named.filter(|n| seen.insert(n.fingerprint.clone())).collect()
}

/// Changes by the digits of their fingerprints. Of one that is found twice the first counts.
#[derive(Default)]
struct Known {
    by_hex: BTreeMap<String, Named>,
    /// Whether there are no others.
    all: bool,
}

impl Known {
    fn extend(&mut self, named: impl Iterator<Item = Named>) {
        for change in named {
            self.by_hex.entry(change.fingerprint.hex().to_owned()).or_insert(change);
        }
    }

    /// The change that a fingerprint, or its first digits, names.
    fn one_of(&self, text: &str, of: &str) -> Result<Named, AppError> {
        let Some(hex) = hex(text) else {
            let message =
                format!("`{text}` is no fingerprint of a change, nor its first {SHORTEST} or more digits");
            return Err(AppError::new(Kind::Invalid, "bad-fingerprint", message)
                .help("a draft shows the fingerprint of each of its changes"));
        };
        let mut found = self.by_hex.range(hex.clone()..).take_while(|(known, _)| known.starts_with(&hex));
        match (found.next(), found.next()) {
            (Some((_, only)), None) => Ok(only.clone()),
            (Some(_), Some(_)) => {
                let message = format!("`{text}` fits several changes of {of}");
                Err(AppError::new(Kind::Invalid, "ambiguous-fingerprint", message).help("write more of it"))
            }
            (None, _) => Err(unknown_change(text, of)),
        }
    }
}
