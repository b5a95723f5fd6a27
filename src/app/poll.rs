//! Registered servers asked again and again: when each is due, which of many processes asks it, and how it is heard when
//! a server says by itself that its list changed.
//!
//! A server is *claimed* before it is asked: the claim is a lease in the database, renewed while work goes on. A process
//! that is killed renews nothing, and another takes the server over once the lease has ended; nothing is lost, because
//! when a server is due stands in the database as well.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time,
};

use super::{App, AppError, view::Recorded};
use crate::{
    json::Digest,
    mcp::Ended,
    name::ServerName,
    snapshot::{Evidence, Outcome},
    store::{Claim, Next},
};

/// Who a poller is in the audit log.
const ACTOR: &str = "poller";
/// The longest pause after failures, in intervals: a server that was down for a day is not asked hourly any more, and one
/// that is back is seen within a few hours.
const MAX_BACKOFF: u32 = 8;
/// The longest pause between two looks into the database.
const LONGEST_LOOK: Duration = Duration::from_secs(30);

/// How servers are polled.
#[derive(Debug, Clone)]
pub struct Polling {
    /// Between two listings of a server whose spec says nothing else.
    pub interval: Duration,
    /// How long a claim lasts that is not renewed: after this time another process takes over.
    pub lease: Duration,
    /// Servers asked at once.
    pub jobs: usize,
    /// Servers listened to at once; others are polled only.
    pub listeners: usize,
}

impl Default for Polling {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(15 * 60),
            lease: Duration::from_secs(30),
            jobs: 64,
            listeners: 64,
        }
    }
}

/// One process of those that poll.
#[derive(Clone)]
pub struct Poller {
    app: App,
    holder: String,
    /// Claims made so far: each has a name of its own, so that one that ended by itself is not taken for a later one of
    /// the same process.
    claims: Arc<AtomicU64>,
    polling: Polling,
    jobs: Arc<Semaphore>,
    listeners: Arc<Semaphore>,
    told: Arc<Told>,
}

/// Is told of every server that was asked, or that told something by itself.
type Told = dyn Fn(&Polled) + Send + Sync;

/// What came of asking one server.
#[derive(Debug)]
pub struct Polled {
    /// The server.
    pub server: ServerName,
    /// What was recorded, or why nothing was.
    pub recorded: Result<Recorded, AppError>,
    /// When it is asked again.
    pub due: DateTime<Utc>,
}

/// What was learnt of a server by asking it.
struct Asked {
    next: Next,
    listens: bool,
}

impl Poller {
    /// A poller. `holder` tells it from all others that work on the same database; `told` hears what came of it.
    #[must_use]
    pub fn new(
        app: App,
        holder: String,
        polling: Polling,
        told: impl Fn(&Polled) + Send + Sync + 'static,
    ) -> Self {
        let (jobs, listeners) = (polling.jobs.max(1), polling.listeners);
        Self {
            app,
            holder,
            claims: Arc::default(),
            polling,
            jobs: Arc::new(Semaphore::new(jobs)),
            listeners: Arc::new(Semaphore::new(listeners)),
            told: Arc::new(told),
        }
    }

    /// Asks every server that is due now and that nobody else is asking.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn turn(&self) -> Result<(), AppError> {
        let mut asked = JoinSet::new();
        loop {
            for claim in self.claim(self.polling.jobs.saturating_sub(asked.len())).await? {
                let poller = self.clone();
                asked.spawn(async move {
                    tokio::select! {
                        asked = poller.ask(&claim, claim.failures) => {
                            poller.app.store.end_claim(&claim, asked.next).await?;
                            Ok::<_, AppError>(())
                        }
                        ended = poller.keep(&claim) => ended,
                    }
                });
            }
            match asked.join_next().await {
                None => return Ok(()),
                Some(Err(gone)) => tracing::error!("a listing ended out of turn: {gone}"),
                Some(Ok(ended)) => ended?,
            }
        }
    }

    /// Polls and listens for ever. Where it is dropped, what is being asked is given up, and its claim ends by itself.
    pub async fn run(self) {
        let mut followed = JoinSet::new();
        loop {
            match self.claim(self.jobs.available_permits()).await {
                Ok(claims) => {
                    for claim in claims {
                        followed.spawn(self.clone().follow(claim));
                    }
                }
                Err(error) => tracing::error!("servers are not polled: {error}"),
            }
            let pause = self.pause().await;
            tokio::select! {
                Some(ended) = followed.join_next() => {
                    if let Err(gone) = ended {
                        tracing::error!("polling a server ended out of turn: {gone}");
                    }
                }
                () = time::sleep(pause) => {}
            }
        }
    }

    /// Claims servers that are due.
    async fn claim(&self, most: usize) -> Result<Vec<Claim>, AppError> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let (now, nth) = (self.app.now(), self.claims.fetch_add(1, Ordering::Relaxed));
        let holder = format!("{}:{nth}", self.holder);
        Ok(self.app.store.claim_due(&holder, now, now + delta(self.polling.lease), most).await?)
    }

    /// Gives back what is held, for others to take over at once.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn release(&self) -> Result<(), AppError> {
        Ok(self.app.store.release_claims(&self.holder, self.app.now()).await?)
    }

    /// Until somebody has to look into the database again.
    async fn pause(&self) -> Duration {
        let now = self.app.now();
        let longest = LONGEST_LOOK.min(self.polling.lease);
        match self.app.store.next_due().await {
            Ok(Some(due)) => {
                (due - now).to_std().unwrap_or_default().clamp(Duration::from_millis(50), longest)
            }
            Ok(None) | Err(_) => longest,
        }
    }

    /// Asks one server, and listens to it until it is due again where it says what changes.
    async fn follow(self, claim: Claim) {
        let server = &claim.server;
        tokio::select! {
            ended = self.follow_held(&claim) => {
                if let Err(error) = ended {
                    tracing::error!("server `{server}` is not polled: {error}");
                }
            }
            ended = self.keep(&claim) => match ended {
                Ok(()) => tracing::warn!("server `{server}` was taken over, or registered anew"),
                Err(error) => tracing::error!("server `{server}` is not polled any more: {error}"),
            },
        }
    }

    async fn follow_held(&self, claim: &Claim) -> Result<(), AppError> {
        let asked = self.ask(claim, claim.failures).await;
        let next = match self.listeners.try_acquire() {
            Ok(_permit) if asked.listens => self.listen(claim, asked.next).await?,
            Ok(_) | Err(_) => asked.next,
        };
        self.app.store.end_claim(claim, next).await?;
        Ok(())
    }

    /// Listens to a server until its connection ends; what it lists meanwhile is recorded at once. It is asked when it is
    /// due as well, for a server may forget to tell.
    async fn listen(&self, claim: &Claim, mut next: Next) -> Result<Next, AppError> {
        let server = &claim.server;
        let spec = self.app.registered_server(server).await?;
        let (sender, mut listings) = mpsc::channel(1);
        let mut following = std::pin::pin!(self.app.follow(server, &sender));
        loop {
            let left = (next.due - self.app.now()).to_std().unwrap_or_default();
            let listing = tokio::select! {
                biased;
                Some(listing) = listings.recv() => Some(listing),
                ended = &mut following => match ended {
                    // The connection is gone: the server is asked when it is due, and listened to again then.
                    Ok(Ended::Lost(listing)) => {
                        tracing::debug!("server `{server}` is listened to no more: {}", listing.evidence.message);
                        return Ok(next);
                    }
                    Ok(Ended::Unheard | Ended::Unsupported(_)) => return Ok(next),
                    Err(error) => {
                        tracing::warn!("server `{server}` is not listened to: {error}");
                        return Ok(next);
                    }
                },
                () = time::sleep(left) => None,
            };
            // It may be found elsewhere by now, or be told under other credentials.
            if self.app.registered_server(server).await? != spec {
                return Ok(Next { due: self.app.now(), ..next });
            }
            next = match listing {
                Some(listing) => {
                    let recorded = self.app.under(claim).record_news(server, listing, ACTOR).await;
                    self.learnt(claim, recorded, next.failures).await.next
                }
                None => self.ask(claim, next.failures).await.next,
            };
        }
    }

    async fn ask(&self, claim: &Claim, failures: u32) -> Asked {
        // Never closed.
        let _permit = self.jobs.acquire().await;
        let recorded = self.app.under(claim).ask_registered(&claim.server, true, ACTOR).await;
        self.learnt(claim, recorded, failures).await
    }

    /// When a server is due again, by what it said; and tells it.
    async fn learnt(&self, claim: &Claim, recorded: Result<Recorded, AppError>, failures: u32) -> Asked {
        let (server, now) = (&claim.server, self.app.now());
        let interval = match self.app.registered_server(server).await {
            Ok(spec) => spec.interval.map_or(self.polling.interval, |s| Duration::from_secs(s.into())),
            Err(_) => self.polling.interval,
        };
        let mut next = Next { asked: now, due: now, failures: failures.saturating_add(1) };
        let mut listens = false;
        let (mut ttl, mut at_least) = (None, None);
        if let Ok(Recorded { listing, .. }) = &recorded {
            if listing.outcome == Outcome::Ok {
                next.failures = 0;
                listens = says_what_changes(listing.provenance.capabilities.as_ref());
                ttl = listing.provenance.ttl_ms;
            }
            at_least = retry_after(&listing.evidence, now);
        }
        next.due = next_due(server, now, interval, next.failures, ttl, at_least);
        if let Err(error) = self.app.store.note_poll(claim, next).await {
            tracing::error!("when server `{server}` was asked could not be written: {error}");
        }
        (self.told)(&Polled { server: server.clone(), recorded, due: next.due });
        Asked { next, listens }
    }

    /// Renews a claim for as long as it is ours; ends where it is not.
    async fn keep(&self, claim: &Claim) -> Result<(), AppError> {
        loop {
            time::sleep(self.polling.lease / 3).await;
            let until = self.app.now() + delta(self.polling.lease);
            if !self.app.store.renew_claim(claim, until).await? {
                return Ok(());
            }
        }
    }
}

/// Whether a server says that it tells when its tools change.
fn says_what_changes(capabilities: Option<&serde_json::Value>) -> bool {
    let said = capabilities.and_then(|c| c.get("tools")?.get("listChanged")?.as_bool());
    said == Some(true)
}

/// When a server is to be asked again that failed so often in a row.
#[must_use]
pub fn due(
    server: &ServerName,
    now: DateTime<Utc>,
    interval: Duration,
    failures: u32,
    evidence: &Evidence,
) -> DateTime<Utc> {
    next_due(server, now, interval, failures, None, retry_after(evidence, now))
}

/// When a server is to be asked again: after its interval, doubled with each failure in a row; never before its list is
/// stale (`ttlMs`) or it wants to be asked (`Retry-After`); and not all servers at once (specification 2026-07-28,
/// server/utilities/caching: "MUST apply jitter and backoff").
fn next_due(
    server: &ServerName,
    now: DateTime<Utc>,
    interval: Duration,
    failures: u32,
    ttl_ms: Option<u64>,
    at_least: Option<DateTime<Utc>>,
) -> DateTime<Utc> {
    let factor = 1_u32.checked_shl(failures).unwrap_or(MAX_BACKOFF).clamp(1, MAX_BACKOFF);
    let interval = interval.saturating_mul(factor);
    // A server's word, and no more than a day of it: a wrong unit must not end the polling.
    let ttl = Duration::from_millis(ttl_ms.unwrap_or(0)).min(MAX_TTL);
    let pause = interval.max(ttl);
    let due = now + delta(pause + pause.mul_f64(JITTER * share(server, now)));
    at_least.filter(|at| *at > due).map_or(due, |at| at.min(now + delta(MAX_TTL)))
}

/// The longest that a server may ask not to be asked.
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest span that is counted.
const MAX_SPAN: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// The part of a pause that differs from server to server.
const JITTER: f64 = 0.1;

/// A share between 0 and 1 that differs by server and time, and is the same for the same.
fn share(server: &ServerName, now: DateTime<Utc>) -> f64 {
    let digest = Digest::of_bytes(format!("{server} {now}").as_bytes());
    let digits = digest.as_str().trim_start_matches("sha256:").get(..4).unwrap_or_default();
    f64::from(u16::from_str_radix(digits, 16).unwrap_or(0)) / f64::from(u16::MAX)
}

/// `Retry-After`: seconds or a date (RFC 9110, 10.2.3).
fn retry_after(evidence: &Evidence, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    let text = evidence.retry_after.as_deref()?.trim();
    match text.parse::<u32>() {
        Ok(seconds) => Some(now + TimeDelta::seconds(seconds.into())),
        Err(_) => DateTime::parse_from_rfc2822(text).ok().map(|at| at.to_utc()),
    }
}

/// A span of time in the calendar's terms.
fn delta(span: Duration) -> TimeDelta {
    // Longer than anything here is meant to last, and short enough to be added to a date.
    TimeDelta::from_std(span.min(MAX_SPAN)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_due_after_its_interval_and_later_with_each_failure() {
        let now: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().expect("a time");
        let server: ServerName = "orders".parse().expect("a name");
        let minute = Duration::from_secs(60);
        let evidence = |text: &str| Evidence { retry_after: Some(text.to_owned()), ..Evidence::default() };
        for (failures, ttl_ms, wants, least) in [
            (0, None, None, 60),
            (0, Some(1_000), None, 60),
            (0, Some(600_000), None, 600),
            (0, Some(u64::MAX), None, 86_400),
            (1, None, None, 120),
            (2, None, None, 240),
            (3, None, None, 480),
            (40, None, None, 480),
            (1, None, Some("7"), 120),
            (1, None, Some("600"), 600),
            (1, None, Some("Mon, 30 Nov 2026 13:00:00 GMT"), 3_600),
            (1, None, Some("4000000000"), 86_400),
            (1, None, Some("soon"), 120),
        ] {
            let wanted = wants.and_then(|text| retry_after(&evidence(text), now));
            let pause = (next_due(&server, now, minute, failures, ttl_ms, wanted) - now).num_seconds();
            let most = least + least / 10;
            assert!((least..=most).contains(&pause), "{failures} {ttl_ms:?} {wants:?}: {pause} s");
        }
    }

    #[test]
    fn servers_of_one_interval_are_not_due_at_once() {
        let now: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().expect("a time");
        let mut all: Vec<_> = (0..100)
            .map(|i| {
                let server: ServerName = format!("s{i}").parse().expect("a name");
                next_due(&server, now, Duration::from_secs(900), 0, None, None)
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 90, "{} different times", all.len());
    }
}
