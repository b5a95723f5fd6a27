//! Since when what goes was announced: read from what was live in an environment, or approved into a catalog.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{App, AppError, sides::contract_of};
use crate::{
    catalog::{
        CatalogVersion, Draft, Member, Policy, ReleaseStatus, Version,
        announced::{Announced, Said, Since, covering, places},
    },
    diff::{Report, ToolReport},
    json::Digest,
    name::{CatalogName, EnvironmentName},
};

/// Moves that are read at once.
const PAGE: usize = 50;

impl App {
    /// What was announced, of what goes in these reports, to whoever uses an environment: the day on which a version that says
    /// so became live there, and has been followed by none that does not.
    pub(super) async fn announced_in<'r>(
        &self,
        environment: &EnvironmentName,
        catalog: &CatalogName,
        policy: &Policy,
        reports: impl Iterator<Item = &'r Report>,
    ) -> Result<Announced, AppError> {
        let mut search = Search::of(policy, reports);
        let mut behind = None;
        while !search.is_done() {
            let page = self
                .store
                .moves(environment, Some(catalog), behind.map(|(at, nth)| (at, catalog, nth)), PAGE)
                .await?;
            for order in &page {
                if !search.is_done() {
                    let version = self.version(catalog, order.to).await?;
                    search.before(self, &version, order.at).await?;
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE => behind = Some((last.at, last.generation)),
                Some(_) | None => break,
            }
        }
        Ok(search.found())
    }

    /// The same of what goes in a draft, to whoever uses the catalog.
    pub(super) async fn announced_before(
        &self,
        policy: &Policy,
        draft: &Draft,
    ) -> Result<Announced, AppError> {
        self.announced_to(policy, draft, draft.reports()).await
    }

    /// The same of reports on a draft: the day on which a version that says so was approved, and has been followed by none
    /// that does not, up to the one that the draft was made on.
    pub(super) async fn announced_to<'r>(
        &self,
        policy: &Policy,
        draft: &Draft,
        reports: impl Iterator<Item = &'r Report>,
    ) -> Result<Announced, AppError> {
        let mut search = Search::of(policy, reports);
        if let (Some(base), false) = (draft.base, search.is_done()) {
            let mut numbers: Vec<CatalogVersion> = self.store.version_numbers(&draft.catalog).await?;
            numbers.retain(|number| *number <= base);
            for number in numbers {
                if search.is_done() {
                    break;
                }
                let version = self.version(&draft.catalog, number).await?;
                search.before(self, &version, version.approved_at).await?;
            }
        }
        Ok(search.found())
    }
}

/// What is looked for, and what was read on the way.
struct Search {
    /// The places by server (empty where nobody says), tool and place.
    places: BTreeMap<(String, String, String), Since>,
    /// Tools by raw digest, as far as their texts are in this database, with what they announce.
    tools: HashMap<Digest, (Value, Vec<String>)>,
}

impl Search {
    /// For what goes in these reports, would block, and may pass where it was announced.
    fn of<'r>(policy: &Policy, reports: impl Iterator<Item = &'r Report>) -> Self {
        let key = |(tool, place): (&ToolReport, String)| (tool.server.clone(), tool.tool.clone(), place);
        let asked = reports.filter(|_| policy.deprecation_days.is_some()).flat_map(Report::findings);
        let asked = asked.filter(|(_, finding)| policy.blocks_finding(finding));
        let places = asked.filter_map(|(tool, finding)| Some((tool, covering(finding)?)));
        let places = places.map(|asked| (key(asked), Since::default())).collect();
        Self { places, tools: HashMap::new() }
    }

    fn is_done(&self) -> bool {
        self.places.values().all(|since| since.is_known)
    }

    /// Goes back to a version that came at that time.
    async fn before(&mut self, app: &App, version: &Version, at: DateTime<Utc>) -> Result<(), AppError> {
        let open = self.places.iter().filter(|(_, since)| !since.is_known);
        let members = open.filter_map(|((server, tool, _), _)| member(version, server, tool));
        let is_new = |m: &&Member| m.digests.as_ref().is_some_and(|d| !self.tools.contains_key(&d.raw));
        let members: Vec<&Member> = members.filter(is_new).collect();
        let mut texts = app.pinned_texts(members.iter().copied()).await?;
        for raw in members.iter().filter_map(|m| m.digests.as_ref()).map(|d| &d.raw) {
            if let Some(text) = texts.remove(raw) {
                let tool = contract_of(0, text)?.tool().clone();
                let announced = places(&tool);
                self.tools.insert(raw.clone(), (tool, announced));
            }
        }
        for ((server, tool, place), since) in self.places.iter_mut().filter(|(_, since)| !since.is_known) {
            since.before(said(version, &self.tools, (server, tool, place)), at);
        }
        Ok(())
    }

    fn found(self) -> Announced {
        let mut found = Announced::new();
        for ((server, tool, place), since) in self.places {
            if let Some(at) = since.at {
                found.entry((server, tool)).or_default().insert(place, at.date_naive());
            }
        }
        found
    }
}

/// What a version holds of a tool; what names no server stands for any.
fn member<'v>(version: &'v Version, server: &str, tool: &str) -> Option<&'v Member> {
    let named = |m: &&Member| m.tool == tool && m.server.as_ref().map_or("", |s| s.as_str()) == server;
    let members = &version.content.members;
    members.iter().find(named).or_else(|| members.iter().find(|m| m.tool == tool && m.server.is_none()))
}

/// What a version says of a place: the tool itself, or the catalog, which may call it deprecated.
fn said(
    version: &Version,
    tools: &HashMap<Digest, (Value, Vec<String>)>,
    (server, tool, place): (&str, &str, &str),
) -> Said {
    let Some(member) = member(version, server, tool) else { return Said::Gone };
    if place.is_empty() && member.status == ReleaseStatus::Deprecated {
        return Said::Goes;
    }
    let known = member.digests.as_ref().and_then(|digests| tools.get(&digests.raw));
    known.map_or(Said::Unknown, |(tool, announced)| Said::among(tool, announced, place))
}
