//! Lists, a page at a time. A page begins after a key, not at a number, so that what is added meanwhile moves nothing.
//!
//! Where the store has no query for a page yet, the page is cut here from what it gives; the answers are the same.

use std::{cmp::Reverse, collections::HashSet};

use chrono::{DateTime, Utc};

use super::{
    App, AppError,
    view::{CatalogSummary, EnvironmentPage, ListingRow, ServerSummary},
};
use crate::{
    catalog::{
        CatalogVersion, Draft, DraftStatus, EnvironmentPointer, Event, Move, Version,
        review::{Decision, Ruling},
    },
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::Outcome,
};

/// How many events are read at a time where only some of them are asked for.
const EVENTS_AT_ONCE: usize = 1_000;

/// How many are looked at for one page at most: where few fit, a page is shorter than it may be, and goes on.
const EVENTS_PER_PAGE: usize = 20_000;

/// How many listings of a server are looked at.
const LISTINGS: usize = 100_000;

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

impl<T, K: Ord> Page<T, K> {
    /// Cuts a page from a whole list in ascending order of its keys.
    fn cut(all: impl IntoIterator<Item = T>, slice: &Slice<K>, key: impl Fn(&T) -> K) -> Self {
        let rest = all.into_iter().filter(|item| slice.after.as_ref().is_none_or(|after| key(item) > *after));
        let mut items: Vec<T> = rest.take(slice.limit.saturating_add(1)).collect();
        let more = items.len() > slice.limit;
        items.truncate(slice.limit);
        let next = if more { items.last().map(key) } else { None };
        Self { items, next }
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
    fn fits(&self, event: &Event) -> bool {
        let kind = |kind: &String| match kind.strip_suffix('.') {
            Some(_) => event.kind.starts_with(kind.as_str()),
            None => event.kind == *kind,
        };
        self.subject.as_ref().is_none_or(|subject| event.subject == *subject)
            && self.actor.as_ref().is_none_or(|actor| event.actor == *actor)
            && self.since.is_none_or(|since| event.at >= since)
            && self.kind.as_ref().is_none_or(kind)
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
    /// Servers by name, whose newest listing ended so where that is asked.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn servers_page(
        &self,
        outcome: Option<Outcome>,
        slice: &Slice<ServerName>,
    ) -> Result<Page<ServerSummary, ServerName>, AppError> {
        let mut all = self.servers().await?;
        all.retain(|s| outcome.is_none_or(|o| s.last.as_ref().is_some_and(|last| last.outcome == o)));
        Ok(Page::cut(all, slice, |s| s.name.clone()))
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
        let mut all = self.store.listings(server, LISTINGS).await?;
        if all.is_empty() && self.store.registration(server).await?.is_none() {
            return Err(self.unknown_server(server).await?);
        }
        all.sort_by_key(|row| Reverse(row.id));
        all.retain(|row| outcome.is_none_or(|o| row.outcome == o));
        Ok(Page::cut(all, slice, |row| Reverse(row.id)))
    }

    /// Catalogs by name.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn catalogs_page(
        &self,
        slice: &Slice<CatalogName>,
    ) -> Result<Page<CatalogSummary, CatalogName>, AppError> {
        Ok(Page::cut(self.catalogs().await?, slice, |c| c.catalog.name.clone()))
    }

    /// A catalog's versions, the newest first.
    ///
    /// # Errors
    /// Where the catalog does not exist.
    pub async fn versions_page(
        &self,
        catalog: &CatalogName,
        slice: &Slice<Reverse<CatalogVersion>>,
    ) -> Result<Page<Version, Reverse<CatalogVersion>>, AppError> {
        self.known_catalog(catalog).await?;
        let numbers = self.store.version_numbers(catalog).await?;
        let Page { items: numbers, next } = Page::cut(numbers, slice, |number| Reverse(*number));
        let mut items = Vec::new();
        for number in numbers {
            items.push(self.version(catalog, number).await?);
        }
        Ok(Page { items, next })
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
    ) -> Result<Page<Draft, Reverse<i64>>, AppError> {
        self.known_catalog(catalog).await?;
        let mut all = self.store.drafts(catalog).await?;
        all.retain(|draft| status.is_none_or(|s| draft.status == s));
        Ok(Page::cut(all, slice, |draft| Reverse(draft.id)))
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
        let mut all = self.store.pointers().await?;
        all.sort_by_key(key);
        let Page { items: pointers, next } = Page::cut(all, slice, key);
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
        let pointers = match catalog {
            Some(_) => vec![self.live(environment, catalog).await?],
            None => self.pointers_of(environment).await?,
        };
        let key = |m: &Move| (Reverse(m.at), m.catalog.clone(), Reverse(m.generation));
        let mut all = Vec::new();
        for pointer in pointers {
            all.extend(self.store.moves(environment, &pointer.catalog).await?);
        }
        all.sort_by_key(key);
        Ok(Page::cut(all, slice, key))
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
        let end = self.store.events(1).await?.first().map_or(1, |newest| newest.seq.saturating_add(1));
        let end = slice.after.map_or(end, |Reverse(seq)| seq.min(end));
        let at_once = if *filter == EventFilter::default() { slice.limit } else { EVENTS_AT_ONCE };
        let (mut items, mut before, mut seen) = (Vec::new(), end, 0);
        // Numbers have no gaps, so the events before one are those that follow the number that is so much smaller.
        while before > 1 && seen < EVENTS_PER_PAGE {
            let batch = at_once.min(usize::try_from(before - 1).unwrap_or(at_once));
            let first = before - i64::try_from(batch).unwrap_or(i64::MAX);
            let mut events = self.store.events_after(first - 1, batch).await?;
            events.retain(|event| event.seq < before);
            seen += batch;
            for event in events.into_iter().rev() {
                if filter.since.is_some_and(|since| event.at < since) {
                    return Ok(Page { items, next: None });
                }
                before = event.seq;
                if filter.fits(&event) {
                    items.push(event);
                }
                if items.len() == slice.limit {
                    return Ok(Page { items, next: (before > 1).then_some(Reverse(before)) });
                }
            }
            before = before.min(first);
        }
        Ok(Page { items, next: (before > 1).then_some(Reverse(before)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_begins_after_a_key_and_says_whether_there_is_more() {
        for (after, limit, expected, next) in [
            (None, 2, vec![1, 3], Some(3)),
            (Some(3), 2, vec![5, 7], None),
            (Some(2), 1, vec![3], Some(3)),
            (Some(7), 2, vec![], None),
            (None, 4, vec![1, 3, 5, 7], None),
        ] {
            let page = Page::cut([1, 3, 5, 7], &Slice { after, limit }, |n| *n);
            assert_eq!((page.items, page.next), (expected, next), "after {after:?}");
        }
    }
}
