//! What another policy would have said of the drafts there were. Nothing is decided and nothing is written.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    App, AppError, Kind,
    access::{Object, Right},
    check::compared,
    review::within_budget,
    sides,
};
use crate::{
    catalog::{
        Catalog, Draft, Policy,
        review::{self, Decisions, Judging},
    },
    diff::{Level, Options, Report},
    name::CatalogName,
    store::DraftRow,
};

/// How far back is looked.
pub const WINDOW: TimeDelta = TimeDelta::days(90);
/// The most drafts that are looked at, the newest.
const DRAFTS: usize = 200;
/// The most that are judged anew, because a policy takes callers or formats for something else than was done then.
const ANEW: usize = 40;

/// How one draft fares under two policies.
#[derive(Debug, Clone)]
pub struct Simulated {
    /// The draft.
    pub draft: DraftRow,
    /// What blocks it under the policy as it stands.
    pub before: Option<String>,
    /// What blocks it under the one that is tried.
    pub after: Option<String>,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// Since when drafts are looked at.
    pub since: DateTime<Utc>,
    /// Every draft that was judged under both, the newest first.
    pub drafts: Vec<Simulated>,
    /// How many were not judged: there are too many, or what they hold cannot be read any more.
    pub left_out: usize,
    /// Rules that found something in these drafts under the policy that is tried: how often, and the worst level.
    pub hits: BTreeMap<String, (usize, Level)>,
}

impl Simulation {
    /// Drafts that pass as things stand and would be blocked.
    pub fn blocked(&self) -> impl Iterator<Item = &Simulated> {
        self.drafts.iter().filter(|d| d.before.is_none() && d.after.is_some())
    }

    /// Drafts that are blocked as things stand and would pass.
    pub fn freed(&self) -> impl Iterator<Item = &Simulated> {
        self.drafts.iter().filter(|d| d.before.is_some() && d.after.is_none())
    }

    /// How many are blocked either way.
    #[must_use]
    pub fn blocked_anyway(&self) -> usize {
        self.drafts.iter().filter(|d| d.before.is_some() && d.after.is_some()).count()
    }
}

impl App {
    /// Judges the drafts of the last 90 days under a catalog's policy as it stands and under another. What was decided on
    /// single changes is left out of it: it says what would stand in the way before anybody decides.
    ///
    /// # Errors
    /// Where the catalog does not exist.
    pub async fn simulate(&self, catalog: &CatalogName, policy: &Policy) -> Result<Simulation, AppError> {
        self.permit(Right::Read, Object::catalog(catalog))?;
        let settings = self.known_catalog(catalog).await?;
        let since = self.now() - WINDOW;
        let mut rows = self.store.draft_rows(catalog, None, None, DRAFTS + 1).await?;
        rows.retain(|row| row.created_at >= since);
        let mut simulation = Simulation {
            since,
            drafts: Vec::new(),
            left_out: rows.len().saturating_sub(DRAFTS),
            hits: BTreeMap::new(),
        };
        rows.truncate(DRAFTS);
        let mut anew = 0;
        for row in rows {
            let Some(draft) = self.store.draft(catalog, row.id).await? else { continue };
            match self.under_both(&settings, policy, &draft, &mut anew).await? {
                Some((before, after, report)) => {
                    for (_, finding) in report.findings() {
                        let hit = simulation.hits.entry(finding.rule.clone()).or_insert((0, finding.level));
                        *hit = (hit.0 + 1, hit.1.max(finding.level));
                    }
                    simulation.drafts.push(Simulated { draft: row, before, after });
                }
                None => simulation.left_out += 1,
            }
        }
        Ok(simulation)
    }

    /// What blocks a draft under both policies, with its report under the second; nothing where it is not judged.
    async fn under_both(
        &self,
        settings: &Catalog,
        policy: &Policy,
        draft: &Draft,
        anew: &mut usize,
    ) -> Result<Option<(Option<String>, Option<String>, Report)>, AppError> {
        let Some(now) = self.judged_under(settings.policy.options(), draft, anew).await? else {
            return Ok(None);
        };
        let then = if policy.options() == settings.policy.options() {
            now.clone()
        } else {
            match self.judged_under(policy.options(), draft, anew).await? {
                Some(report) => report,
                None => return Ok(None),
            }
        };
        let before = self.blocked(&settings.policy, draft, &now).await?;
        let after = self.blocked(policy, draft, &then).await?;
        Ok(Some((before, after, then)))
    }

    /// What blocks, in a line: the first finding that does and was not announced for as long as is promised when the draft was
    /// decided, or too many tools.
    async fn blocked(
        &self,
        policy: &Policy,
        draft: &Draft,
        report: &Report,
    ) -> Result<Option<String>, AppError> {
        let reports = || std::iter::once(report).chain(&draft.earlier);
        let announced = self.announced_to(policy, draft, reports()).await?;
        let (decisions, announced) = (&Decisions::default(), &announced);
        let now = draft.decided_at.unwrap_or_else(|| self.now());
        let judging = Judging { policy, decisions, announced, environment: None, now };
        let mut findings = reports().flat_map(Report::findings);
        let first = findings.find(|(tool, finding)| {
            policy.blocks_finding(finding) && !judging.notice(tool, finding).is_some_and(|n| n.over)
        });
        let told = first.map(|(tool, finding)| review::told(tool, finding));
        Ok(told.or_else(|| within_budget(policy, &draft.content, "the draft").err().map(|e| e.message)))
    }

    /// A draft's report under these options: the stored one where it was judged so.
    async fn judged_under(
        &self,
        options: Options,
        draft: &Draft,
        anew: &mut usize,
    ) -> Result<Option<Report>, AppError> {
        if draft.report.options() == options {
            return Ok(Some(draft.report.clone()));
        }
        *anew += 1;
        if *anew > ANEW {
            return Ok(None);
        }
        match self.draft_under(draft, options).await {
            Ok(report) => Ok(Some(report)),
            Err(e) if matches!(e.kind, Kind::NotFound | Kind::Conflict) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// A draft's content against its base, judged again.
    pub(super) async fn draft_under(&self, draft: &Draft, options: Options) -> Result<Report, AppError> {
        let base = match draft.base {
            Some(number) => Some(self.version(&draft.catalog, number).await?),
            None => None,
        };
        let (baseline, releases) =
            tokio::try_join!(self.baseline(base.as_ref()), self.releases_of(&draft.content))?;
        compared(baseline, sides::candidate(draft.report.candidate.clone(), &releases), options).await
    }
}
