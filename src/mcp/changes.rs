//! Follows a server: lists its tools, and again whenever it says that a list changed, on the same connection.
//!
//! On the same one, because a list may depend on the session (up to 2025-11-25), and because starting a server anew can
//! take longer than a change may go unseen. Nothing is missed: what is said while a list is read has it read again, and
//! where something may have been missed it is read as well.

use std::convert::Infallible;

use serde_json::Value;
use tokio::{
    sync::mpsc::Sender,
    time::{Duration, Instant, sleep},
};

use super::{
    Limits, Source, http, judge,
    pages::{self, Peer},
    process::Start,
    record::{Changed, Failure, Record},
    stdio,
};
use crate::snapshot::Listing;

/// Between two listings, at least: what a server says in one breath is one change.
const PAUSE: Duration = Duration::from_millis(250);
/// Between two listings, at most, of a server that says "changed" all the time.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// For so long a server says nothing that has come to rest.
const QUIET: Duration = Duration::from_secs(5);

/// How following a server ended.
#[derive(Debug)]
pub enum Ended {
    /// Nobody takes listings any more.
    Unheard,
    /// The server was listed once, and cannot or will not tell when its tools change; says why. Poll it.
    Unsupported(String),
    /// The connection failed or ended: a listing without tools, with its outcome and evidence. Follow it again.
    Lost(Box<Listing>),
}

/// Why following ends.
pub(super) enum Stop {
    Unheard,
    Unsupported(String),
    Failed(Box<Failure>),
}

impl From<Box<Failure>> for Stop {
    fn from(failure: Box<Failure>) -> Self {
        Self::Failed(failure)
    }
}

/// A server that can be followed once its era is settled.
pub(super) trait Followed: Peer {
    /// Asks to be told; says why that cannot be, where it cannot.
    async fn subscribe(&mut self) -> Result<Option<String>, Stop>;
    /// Waits until the server said that something changed.
    async fn told(&mut self) -> Result<(), Stop>;
    /// Takes in what the server has said meanwhile, without waiting for anything.
    async fn overhear(&mut self) -> Result<(), Stop> {
        Ok(self.catch_up().await?)
    }
    /// When the connection has to be done with what it does.
    fn deadline(&mut self) -> &mut Instant;
}

/// Lists the server's tools, and what else it declares to have, now and whenever it says that they changed: over a legacy
/// connection's own messages, or `subscriptions/listen` (2026-07-28). Each listing is sent, whatever its outcome; changes
/// that come while one is waiting to be taken are one. Streams that may be resumed are.
///
/// Ends where the receiver is dropped, the server cannot tell, or the connection ends. `limits.total` is for one listing.
/// Dropping the future ends a server that was started for it, children included.
pub async fn changes(source: &Source, limits: &Limits, listings: &Sender<Listing>) -> Ended {
    let mut record = Record::of(source, limits);
    record.everything = true;
    let stop = match source {
        Source::Stdio { program, args, env, cwd } => {
            let start = Start { program, args, env, cwd: cwd.as_deref() };
            stdio::follow(&start, limits, &mut record, listings).await
        }
        Source::Http { url, headers, oauth, transport } => {
            let to = http::To { url, headers, oauth: oauth.as_deref(), transport: *transport };
            http::follow(&to, limits, &mut record, listings).await
        }
    };
    match stop {
        Stop::Unheard => Ended::Unheard,
        Stop::Unsupported(why) => Ended::Unsupported(record.hidden(&why)),
        Stop::Failed(failure) => {
            record.answered();
            Ended::Lost(Box::new(record.into_listing(Err(failure))))
        }
    }
}

/// Follows a server whose era is settled.
pub(super) async fn follow(peer: &mut impl Followed, listings: &Sender<Listing>) -> Result<Infallible, Stop> {
    let silent = peer.subscribe().await?;
    let mut pace = Pace::default();
    loop {
        *peer.deadline() = Instant::now() + peer.limits().total;
        // What was said until now is answered by what is read now.
        peer.record().heard.clear();
        let ended = pages::read(peer).await;
        let record = peer.record();
        record.answered();
        let ended = ended.and_then(|()| judge(record));
        if listings.send(record.cut_listing(ended)).await.is_err() {
            return Err(Stop::Unheard);
        }
        if let Some(why) = silent {
            return Err(Stop::Unsupported(why));
        }
        *peer.deadline() = never();
        tokio::select! {
            () = listings.closed() => return Err(Stop::Unheard),
            due = pace.until_due(peer) => due?,
        }
        peer.record().began();
    }
}

/// How soon a server that says "changed" is listed again: at once after a quiet time, later each time otherwise, for a
/// server that says so whenever it is asked must not be asked without end.
#[derive(Debug)]
struct Pace {
    /// The least time between the last listing and the next, where the server is not quiet.
    pause: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { pause: PAUSE }
    }
}

impl Pace {
    /// Waits until the server said that something changed and may be listed again, which it just was.
    async fn until_due(&mut self, peer: &mut impl Followed) -> Result<(), Stop> {
        let listed = Instant::now();
        sleep(PAUSE).await;
        peer.told().await?;
        // Where nothing was said but may have been, there is no next word to wait for.
        let said = peer.record().heard.iter().any(|changed| *changed != Changed::Perhaps);
        let wait = if said { self.wait(listed.elapsed()) } else { Duration::ZERO };
        let mut heard = Instant::now();
        let due = heard + wait;
        // Heard meanwhile as well: else each word of a long speech would have the lists read once more after it.
        loop {
            peer.record().heard.clear();
            peer.overhear().await?;
            let now = Instant::now();
            if !peer.record().heard.is_empty() {
                heard = now;
            }
            if now >= due {
                return Ok(());
            }
            if now - heard >= QUIET {
                *self = Self::default();
                return Ok(());
            }
            sleep(PAUSE.min(due - now)).await;
        }
    }

    /// How long a change has to wait that was said so long after the last listing.
    fn wait(&mut self, since: Duration) -> Duration {
        if since >= QUIET {
            *self = Self::default();
        }
        let wait = self.pause.saturating_sub(since);
        self.pause = (2 * self.pause).min(MAX_PAUSE);
        wait
    }
}

/// Why a legacy server is not listened to: it declares no capability to tell.
pub(super) fn undeclared(record: &Record) -> Option<String> {
    let declares = |what: &str| {
        let capabilities = record.provenance.capabilities.as_ref();
        capabilities.and_then(|c| c.get(what)?.get("listChanged")?.as_bool()) == Some(true)
    };
    let any = ["tools", "prompts", "resources"].into_iter().any(declares);
    (!any).then(|| format!("{} does not declare that it says when its tools change", record.name()))
}

/// Why a modern server is not listened to, by its answer to the subscription.
pub(super) fn refused(record: &Record, how: &str) -> String {
    format!("{} does not tell when its tools change: {how}", record.name())
}

/// What a subscription asks for (specification 2026-07-28, basic/patterns/subscriptions).
pub(super) const FILTER: [&str; 3] = ["toolsListChanged", "promptsListChanged", "resourcesListChanged"];

/// Whether an acknowledgement of a subscription honours any of it.
pub(super) fn honours(params: &Value) -> bool {
    let filter = params.get("notifications");
    FILTER.iter().any(|key| filter.and_then(|f| f.get(*key)?.as_bool()) == Some(true))
}

/// Later than anything here lasts.
pub(super) fn never() -> Instant {
    Instant::now() + Duration::from_secs(30 * 365 * 24 * 60 * 60)
}

impl Record {
    /// Something may have been missed.
    pub(super) fn suspect(&mut self) {
        self.heard.insert(Changed::Perhaps);
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Pace};

    #[test]
    fn a_server_that_says_so_all_the_time_is_asked_ever_more_seldom_until_it_is_quiet() {
        let ms = Duration::from_millis;
        let mut pace = Pace::default();
        // After the last listing: when it said so again, and how long that waits.
        for (since, waits) in [
            (300, 0),
            (250, 250),
            (250, 750),
            (600, 1_400),
            (250, 3_750),
            (4_999, 3_001),
            (250, 15_750),
            (250, 31_750),
            (250, 59_750),
            (250, 59_750),
            (5_000, 0),
            (250, 250),
        ] {
            assert_eq!(pace.wait(ms(since)), ms(waits), "{since} ms, then {pace:?}");
        }
    }
}
