//! Lists, a page at a time. A page begins after a key, not at a number, so that what is added meanwhile moves nothing.
//! The store reads a page in the order of an index, so that it costs the same however long the list is.

use std::{cmp::Reverse, collections::HashSet};

use chrono::{DateTime, Utc};

use super::{
    App, AppError,
    view::{CatalogSummary, DraftRow, EnvironmentPage, ListingRow, ServerSummary, VersionRow},
};
use crate::{
    catalog::{
        CatalogVersion, DraftStatus, EnvironmentPointer, Event, Move,
        review::{Decision, Ruling},
    },
    name::{CatalogName, EnvironmentName, ServerName, TeamName},
    snapshot::Outcome,
    store::{EventQuery, Team, Token},
};

/// How many events are looked at for one page where more than one thing is asked of them: where few fit, a page is shorter
/// than it may be, and goes on.
const EVENTS_PER_PAGE: i64 = 20_000;

/// Which part of a list.
#[derive(Debug, Clone)]
pub struct Slice<K> {
    /// The key of the last item that was seen.
    pub after: Option<K>,
    /// How many at most; at least one.
    pub limit: usize,
}

/// A part of a list.
#[derive(Debug, Clone)]
pub struct Page<T, K> {
    /// The items, in the list's order.
    pub items: Vec<T>,
    /// The key after which the list goes on; nothing at its end.
    pub next: Option<K>,
}

impl<T, K> Page<T, K> {
    /// A page from its items and one more, where there is one more.
    pub(super) fn of(mut items: Vec<T>, limit: usize, key: impl Fn(&T) -> K) -> Self {
        let more = items.len() > limit;
        items.truncate(limit);
        let next = if more { items.last().map(key) } else { None };
        Self { items, next }
    }
}

/// The place of a token in their list.
pub type TokenKey = (DateTime<Utc>, String);

impl<T, K: Ord> Page<T, K> {
    /// Cuts a page from a whole list in ascending order of its keys.
    fn cut(all: impl IntoIterator<Item = T>, slice: &Slice<K>, key: impl Fn(&T) -> K) -> Self {
        let rest = all.into_iter().filter(|item| slice.after.as_ref().is_none_or(|after| key(item) > *after));
        Self::of(rest.take(slice.and_one()).collect(), slice.limit, key)
    }
}

impl<K> Slice<K> {
    /// The items of a page and one more, which tells whether the list goes on.
    pub(super) fn and_one(&self) -> usize {
        self.limit.saturating_add(1)
    }
}

/// Which events are asked for; all that is given has to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// The object, exactly: `catalog/orders`.
    pub subject: Option<String>,
    /// What happened, exactly, or what it begins with where it ends in a period: `draft.`.
    pub kind: Option<String>,
    /// Who, exactly.
    pub actor: Option<String>,
    /// Not older than this.
    pub since: Option<DateTime<Utc>>,
}

impl EventFilter {
    fn query(&self) -> EventQuery {
        let (kind, family) = match &self.kind {
            Some(kind) if kind.ends_with('.') => (None, Some(kind.clone())),
            kind => (kind.clone(), None),
        };
        EventQuery { subject: self.subject.clone(), kind, family, actor: self.actor.clone() }
    }
}

/// Which decisions on changes are asked for; all that is given has to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFilter {
    /// What was decided.
    pub ruling: Option<Ruling>,
    /// The change: the first hex digits of its fingerprint, or all of them.
    pub change: Option<String>,
    /// Made for this environment alone.
    pub environment: Option<EnvironmentName>,
    /// Waivers that count still, and will have ended by then.
    pub expires_before: Option<DateTime<Utc>>,
}

impl DecisionFilter {
    /// `newest` where no later decision took its place.
    fn fits(&self, decision: &Decision, newest: bool, now: DateTime<Utc>) -> bool {
        let ends = |before: DateTime<Utc>| decision.expires.is_some_and(|end| end <= before);
        let open = newest && decision.ruling == Ruling::Accept && !decision.is_expired(now);
        self.ruling.is_none_or(|ruling| decision.ruling == ruling)
            && self.change.as_ref().is_none_or(|hex| decision.fingerprint.hex().starts_with(hex.as_str()))
            && self.environment.as_ref().is_none_or(|e| decision.environment.as_ref() == Some(e))
            && self.expires_before.is_none_or(|before| open && ends(before))
    }
}

/// Where a move stands among all of its environment: the newest first, then by catalog.
pub type MoveKey = (Reverse<DateTime<Utc>>, CatalogName, Reverse<i64>);

impl App {
    /// A page of the tokens that the caller may see, the oldest first.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn tokens_page(&self, slice: &Slice<TokenKey>) -> Result<Page<Token, TokenKey>, AppError> {
        Ok(Page::cut(self.tokens().await?, slice, |token| (token.created_at, token.id.clone())))
    }

    /// A page of the teams, by name.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn teams_page(&self, slice: &Slice<TeamName>) -> Result<Page<Team, TeamName>, AppError> {
        Ok(Page::cut(self.teams().await?, slice, |team| team.name.clone()))
    }

    /// Servers by name, whose newest listing ended so where that is asked.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn servers_page(
        &self,
        outcome: Option<Outcome>,
        slice: &Slice<ServerName>,
    ) -> Result<Page<ServerSummary, ServerName>, AppError> {
        let rows = self.store.server_rows(slice.after.as_ref(), outcome, slice.and_one()).await?;
        let Page { items: rows, next } = Page::of(rows, slice.limit, |row| row.name.clone());
        let mut items = Vec::new();
        for row in rows {
            items.push(self.server_summary(row).await?);
        }
        Ok(Page { items, next })
    }

    /// A server's listings, the newest first.
    ///
    /// # Errors
    /// Where nobody registered it and nothing was ever recorded of it.
    pub async fn listings_page(
        &self,
        server: &ServerName,
        outcome: Option<Outcome>,
        slice: &Slice<Reverse<i64>>,
    ) -> Result<Page<ListingRow, Reverse<i64>>, AppError> {
        let before = slice.after.map(|Reverse(id)| id);
        let rows = self.store.listings_before(server, outcome, before, slice.and_one()).await?;
        if rows.is_empty()
            && self.store.listings(server, 1).await?.is_empty()
            && self.store.registration(server).await?.is_none()
        {
            return Err(self.unknown_server(server).await?);
        }
        Ok(Page::of(rows, slice.limit, |row| Reverse(row.id)))
    }

    /// Catalogs by name.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn catalogs_page(
        &self,
        slice: &Slice<CatalogName>,
    ) -> Result<Page<CatalogSummary, CatalogName>, AppError> {
        let rows = self.store.catalog_rows(slice.after.as_ref(), slice.and_one()).await?;
        let all = rows.into_iter().map(CatalogSummary::from).collect();
        Ok(Page::of(all, slice.limit, |c: &CatalogSummary| c.catalog.name.clone()))
    }

    /// A catalog's versions, the newest first.
    ///
    /// # Errors
    /// Where the catalog does not exist.
    pub async fn versions_page(
        &self,
        catalog: &CatalogName,
        slice: &Slice<Reverse<CatalogVersion>>,
    ) -> Result<Page<VersionRow, Reverse<CatalogVersion>>, AppError> {
        self.known_catalog(catalog).await?;
        let before = slice.after.map(|Reverse(version)| version);
        let rows = self.store.version_rows(catalog, before, slice.and_one()).await?;
        Ok(Page::of(rows, slice.limit, |row| Reverse(row.version)))
    }

    /// A catalog's drafts, the newest first.
    ///
    /// # Errors
    /// Where the catalog does not exist.
    pub async fn drafts_page(
        &self,
        catalog: &CatalogName,
        status: Option<DraftStatus>,
        slice: &Slice<Reverse<i64>>,
    ) -> Result<Page<DraftRow, Reverse<i64>>, AppError> {
        self.known_catalog(catalog).await?;
        let before = slice.after.map(|Reverse(id)| id);
        let rows = self.store.draft_rows(catalog, status, before, slice.and_one()).await?;
        Ok(Page::of(rows, slice.limit, |row| Reverse(row.id)))
    }

    /// What was decided on changes of a catalog, the newest first; what counts no more as well.
    ///
    /// # Errors
    /// Where the catalog does not exist.
    pub async fn decisions_page(
        &self,
        catalog: &CatalogName,
        filter: &DecisionFilter,
        slice: &Slice<Reverse<i64>>,
    ) -> Result<Page<Decision, Reverse<i64>>, AppError> {
        let (mut all, now) = (self.decisions(catalog).await?, self.now());
        let mut seen = HashSet::new();
        all.retain(|decision| {
            let newest = seen.insert((decision.fingerprint.clone(), decision.environment.clone()));
            filter.fits(decision, newest, now)
        });
        Ok(Page::cut(all, slice, |decision| Reverse(decision.id)))
    }

    /// Environments, by name and catalog.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn environments_page(
        &self,
        slice: &Slice<(EnvironmentName, CatalogName)>,
    ) -> Result<Page<EnvironmentPage, (EnvironmentName, CatalogName)>, AppError> {
        let key = |p: &EnvironmentPointer| (p.environment.clone(), p.catalog.clone());
        // There are as many as environments and catalogs, whatever happened in them.
        let mut rest = self.store.pointers().await?;
        rest.retain(|p| slice.after.as_ref().is_none_or(|after| key(p) > *after));
        rest.truncate(slice.and_one());
        let Page { items: pointers, next } = Page::of(rest, slice.limit, key);
        let mut items = Vec::new();
        for pointer in pointers {
            items.push(self.page(pointer).await?);
        }
        Ok(Page { items, next })
    }

    /// The moves of an environment, the newest first.
    ///
    /// # Errors
    /// Where nothing was ever promoted to it, or nothing of that catalog.
    pub async fn moves_page(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        slice: &Slice<MoveKey>,
    ) -> Result<Page<Move, MoveKey>, AppError> {
        match catalog {
            Some(_) => _ = self.live(environment, catalog).await?,
            None => _ = self.pointers_of(environment).await?,
        }
        let behind = slice.after.as_ref().map(|(at, catalog, generation)| (at.0, catalog, generation.0));
        let moves = self.store.moves(environment, catalog, behind, slice.and_one()).await?;
        Ok(Page::of(moves, slice.limit, |m| (Reverse(m.at), m.catalog.clone(), Reverse(m.generation))))
    }

    /// Events, the newest first. Where few fit the filter a page may hold fewer than its limit and still go on.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn events_page(
        &self,
        filter: &EventFilter,
        slice: &Slice<Reverse<i64>>,
    ) -> Result<Page<Event, Reverse<i64>>, AppError> {
        let end = self.store.last_event().await?.saturating_add(1);
        let before = slice.after.map_or(end, |Reverse(seq)| seq.min(end));
        let query = filter.query();
        let asked = [&query.subject, &query.kind, &query.actor].into_iter().flatten().count();
        // What is asked of one thing is read in the order of an index; otherwise there is an end to what is looked at.
        let first = if asked <= 1 && query.family.is_none() { 1 } else { (before - EVENTS_PER_PAGE).max(1) };
        let mut events = self.store.events_before(&query, first, before, slice.and_one()).await?;
        if let Some(since) = filter.since
            && let Some(older) = events.iter().position(|event| event.at < since)
        {
            events.truncate(older);
            events.truncate(slice.limit);
            return Ok(Page { items: events, next: None });
        }
        let mut page = Page::of(events, slice.limit, |event| Reverse(event.seq));
        if page.next.is_none() && first > 1 {
            page.next = Some(Reverse(first));
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_whether_there_is_more() {
        for (items, limit, expected, next) in [
            (vec![1, 3, 5], 2, vec![1, 3], Some(3)),
            (vec![5, 7], 2, vec![5, 7], None),
            (vec![3, 5], 1, vec![3], Some(3)),
            (vec![], 2, vec![], None),
        ] {
            let page = Page::of(items.clone(), limit, |n| *n);
            assert_eq!((page.items, page.next), (expected, next), "{items:?}");
        }
    }
}
