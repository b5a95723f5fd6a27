//! What happened, told to webhooks.
//!
//! The log of events is the outbox: each webhook has a place in it, and whoever holds the webhook makes its deliveries and
//! moves the place on in one transaction. A webhook is *claimed* as a server is that is polled (`poll.rs`): a lease in the
//! database with a number, so that of many processes one sends, and what a killed one left is taken over when the lease has
//! ended. A delivery that was sent and not noted is sent again under the same id.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, Datelike as _, Days, TimeDelta, Utc};
use serde_json::{Map, Value, json};
use tokio::{task::JoinSet, time};

use super::{App, AppError, Reach, servers};
use crate::{
    catalog::{
        Event,
        webhook::{
            Attempt, Delivery, DeliveryStatus, Retries, State, WEEKLY, Webhook,
            message::{self, Message},
        },
    },
    deliver::{Answer, Sender},
    store::{Attempted, EventQuery, Planned, Sending},
};

/// Who tells, in the audit log.
const ACTOR: &str = "messenger";
/// Between two looks into the database.
const LOOK: Duration = Duration::from_secs(1);
/// Between two looks at what is old, and at whether a week has ended.
const TIDY: TimeDelta = TimeDelta::minutes(10);
/// How long deliveries are kept that ended.
const KEPT: TimeDelta = TimeDelta::days(30);
/// Webhooks that one process sends to at once.
const WEBHOOKS: usize = 16;
/// Messages on the way to one webhook at once; a receiver is not to be run over.
const AT_ONCE: usize = 4;
/// Events that are looked at in one transaction.
const EVENTS: usize = 500;
/// Events of a week that are counted; more is a number without meaning.
const WEEK_EVENTS: usize = 100_000;
/// Moves and drafts that the digest of a week names.
const WEEK_NAMED: usize = 30;

/// How webhooks are told.
#[derive(Debug, Clone)]
pub struct Telling {
    /// When a delivery that failed is tried again.
    pub retries: Retries,
    /// How long a claim lasts that is not renewed.
    pub lease: Duration,
    /// How long a receiver may take.
    pub timeout: Duration,
}

impl Default for Telling {
    fn default() -> Self {
        let (lease, timeout) = (Duration::from_secs(30), Duration::from_secs(15));
        Self { retries: Retries::default(), lease, timeout }
    }
}

/// One process of those that tell.
#[derive(Clone)]
pub struct Messenger {
    app: App,
    holder: String,
    /// Claims made so far: each has a name of its own, as those of a poller have.
    claims: Arc<AtomicU64>,
    telling: Telling,
    sender: Arc<Sender>,
}

impl Messenger {
    /// A messenger. `holder` tells it from all others that work on the same database. It reaches as far as the app does.
    #[must_use]
    pub fn new(app: App, holder: String, telling: Telling) -> Self {
        let reach: Reach = app.limits.reach.clone();
        let sender = Arc::new(Sender::new(reach).within(telling.timeout));
        Self { app, holder, claims: Arc::default(), telling, sender }
    }

    /// Sends all that is due now and that nobody else is sending.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn turn(&self) -> Result<(), AppError> {
        self.tidy().await?;
        let mut told = JoinSet::new();
        loop {
            for claim in self.claim(WEBHOOKS.saturating_sub(told.len())).await? {
                told.spawn(self.clone().tell(claim));
            }
            if told.join_next().await.is_none() {
                return Ok(());
            }
        }
    }

    /// Tells for ever. Where it is dropped, what is on its way is given up, and its claims end by themselves.
    pub async fn run(self) {
        let mut told = JoinSet::new();
        let mut tidied: Option<DateTime<Utc>> = None;
        loop {
            let now = self.app.now();
            if tidied.is_none_or(|at| now - at >= TIDY) {
                tidied = Some(now);
                if let Err(error) = self.tidy().await {
                    tracing::error!("old deliveries are not forgotten: {error}");
                }
            }
            match self.claim_due(WEBHOOKS.saturating_sub(told.len())).await {
                Ok(claims) => {
                    for claim in claims {
                        told.spawn(self.clone().tell(claim));
                    }
                }
                Err(error) => tracing::error!("webhooks are not told: {error}"),
            }
            tokio::select! {
                Some(ended) = told.join_next() => {
                    if let Err(gone) = ended {
                        tracing::error!("telling a webhook ended out of turn: {gone}");
                    }
                }
                () = time::sleep(LOOK) => {}
            }
        }
    }

    /// Gives back what is held, for others to take over at once.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn release(&self) -> Result<(), AppError> {
        Ok(self.app.store.release_sendings(&self.holder).await?)
    }

    /// The same as [`Self::claim`], without a write where there is nothing to do.
    async fn claim_due(&self, most: usize) -> Result<Vec<Sending>, AppError> {
        let now = self.app.now();
        match self.app.store.next_sending(now).await? {
            Some(due) if due <= now => self.claim(most).await,
            Some(_) | None => Ok(Vec::new()),
        }
    }

    async fn claim(&self, most: usize) -> Result<Vec<Sending>, AppError> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let (now, nth) = (self.app.now(), self.claims.fetch_add(1, Ordering::Relaxed));
        let holder = format!("{}:{nth}", self.holder);
        Ok(self.app.store.claim_sendings(&holder, now, now + self.lease(), most).await?)
    }

    fn lease(&self) -> TimeDelta {
        TimeDelta::from_std(self.telling.lease).unwrap_or(TimeDelta::MAX)
    }

    /// Tells one webhook all that is due.
    async fn tell(self, claim: Sending) {
        let name = &claim.webhook.name;
        let told = tokio::select! {
            told = self.tell_held(&claim) => told,
            ended = self.keep(&claim) => ended,
        };
        let ended = match told {
            Ok(()) => self.app.store.end_sending(&claim).await.map_err(AppError::from),
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::error!("webhook `{name}` is not told: {error}");
        }
    }

    /// Renews a claim for as long as it is ours; ends where it is not.
    async fn keep(&self, claim: &Sending) -> Result<(), AppError> {
        loop {
            time::sleep(self.telling.lease / 3).await;
            if !self.app.store.renew_sending(claim, self.app.now() + self.lease()).await? {
                tracing::warn!("webhook `{}` was taken over, or removed", claim.webhook.name);
                return Ok(());
            }
        }
    }

    async fn tell_held(&self, claim: &Sending) -> Result<(), AppError> {
        let to = Arc::new(Addressee::of(claim, &self.app).await);
        let mut seen = claim.seen;
        loop {
            loop {
                let events = self.app.store.events_after(seen, EVENTS).await?;
                let Some(last) = events.last() else { break };
                let planned: Vec<Planned> = events
                    .iter()
                    .filter(|event| claim.webhook.takes(event))
                    .map(|event| Planned { event: event.seq, kind: event.kind.clone() })
                    .collect();
                if !self.app.store.plan(claim, &planned, last.seq, self.app.now()).await? {
                    return Ok(());
                }
                seen = last.seq;
            }
            let due = self.app.store.due_deliveries(claim, self.app.now(), AT_ONCE).await?;
            if due.is_empty() {
                return Ok(());
            }
            let mut sent = JoinSet::new();
            for delivery in due {
                sent.spawn(self.clone().deliver(claim.clone(), Arc::clone(&to), delivery));
            }
            let mut held = true;
            while let Some(ended) = sent.join_next().await {
                match ended {
                    Ok(noted) => held &= noted?,
                    Err(gone) => tracing::error!("a delivery ended out of turn: {gone}"),
                }
            }
            if !held {
                return Ok(());
            }
        }
    }

    /// Makes one attempt and notes what came of it; false where the claim is another's by now.
    async fn deliver(self, claim: Sending, to: Arc<Addressee>, delivery: Delivery) -> Result<bool, AppError> {
        let (store, webhook) = (&self.app.store, &claim.webhook);
        let Some(event) = store.events_after(delivery.event - 1, 1).await?.pop() else {
            // Nobody deletes events; whoever did is found by `audit verify`.
            tracing::error!("event {} is missing and not told to `{}`", delivery.event, webhook.name);
            return Ok(false);
        };
        let message = message::message(&event, webhook.shape);
        let id = message.id.clone();
        let answer = self.send(&to, message).await;
        let (now, attempts) = (self.app.now(), delivery.attempts.saturating_add(1));
        let (status, due) = match &answer {
            Ok(answer) if answer.took_it() => (DeliveryStatus::Delivered, None),
            Ok(answer) if answer.is_gone() => (DeliveryStatus::Failed, None),
            Ok(_) | Err(_) => match self.telling.retries.next(&id, attempts, delivery.since, now) {
                Some(due) => (DeliveryStatus::Waiting, Some(due)),
                None => (DeliveryStatus::Failed, None),
            },
        };
        let gone = matches!(&answer, Ok(answer) if answer.is_gone());
        let attempt = match answer {
            Ok(Answer { status, said }) => Attempt { at: now, status: Some(status), said },
            Err(cause) => Attempt { at: now, status: None, said: cause },
        };
        log(webhook, &id, &attempt, status, attempts);
        let attempted = Attempted { delivery: delivery.id, attempt, status, due };
        super::counts::delivery(status);
        if !store.note_attempt(&claim, &attempted).await? {
            return Ok(false);
        }
        if status == DeliveryStatus::Failed {
            let because = if gone {
                "the receiver answered 410: it wants no more messages".to_owned()
            } else if !store.was_heard(&webhook.name, delivery.since).await? {
                format!("nothing was taken since {}", super::shown(delivery.since))
            } else {
                return Ok(true);
            };
            let data = json!({ "because": because, "delivery": delivery.id, "event": delivery.event });
            let event = self.app.event(ACTOR, "webhook.disabled", webhook.subject(), data);
            if store.disable_webhook(&claim, &because, event).await? {
                tracing::warn!("webhook `{}` is disabled: {because}", webhook.name);
            }
        }
        Ok(true)
    }

    async fn send(&self, to: &Addressee, message: Message) -> Result<Answer, String> {
        let (url, keys) = (to.url.as_ref()?, to.keys.as_ref()?);
        let Message { id, content_type, body } = message;
        let timestamp = self.app.now().timestamp();
        let signatures = message::signatures(keys, &id, timestamp, &body);
        let headers = [
            ("webhook-id", id),
            ("webhook-timestamp", timestamp.to_string()),
            ("webhook-signature", signatures),
        ];
        self.sender.send(url, content_type, &headers, body).await
    }

    /// Forgets what is old, and notes the week that ended where somebody asks for it.
    async fn tidy(&self) -> Result<(), AppError> {
        let now = self.app.now();
        self.app.store.forget_deliveries(now - KEPT).await?;
        let asks = |webhook: &Webhook| {
            webhook.state == State::Active
                && webhook.filter.kinds.iter().any(|kind| WEEKLY.starts_with(&kind.to_string()))
        };
        let asked = self.app.store.webhooks(None, 1_000).await?.iter().any(asks);
        if asked {
            self.app.note_week(now).await?;
        }
        Ok(())
    }
}

/// Says in the log what a delivery came to: what is given up, and the first failure of many.
fn log(webhook: &Webhook, id: &str, attempt: &Attempt, status: DeliveryStatus, attempts: u32) {
    let Attempt { status: answered, said, .. } = attempt;
    let name = &webhook.name;
    match (status, attempts) {
        (DeliveryStatus::Delivered, _) => tracing::info!("webhook `{name}` took {id}"),
        (DeliveryStatus::Failed, _) => {
            tracing::warn!(
                answered,
                said,
                "webhook `{name}` did not take {id}, which is given up after {attempts} attempts"
            );
        }
        (DeliveryStatus::Waiting, 1) => {
            tracing::warn!(answered, said, "webhook `{name}` did not take {id}; it is tried again");
        }
        (DeliveryStatus::Waiting, _) => {
            tracing::info!(answered, said, "webhook `{name}` did not take {id} at attempt {attempts}");
        }
    }
}

/// Where a webhook's messages go and what they are signed with, as far as its references say so.
struct Addressee {
    url: Result<String, String>,
    keys: Result<Vec<Vec<u8>>, String>,
}

impl Addressee {
    async fn of(claim: &Sending, app: &App) -> Self {
        let webhook = &claim.webhook;
        let url = servers::said(&webhook.url, &*app.variables).await;
        let mut keys = Ok(Vec::new());
        for secret in webhook.standing(app.now()) {
            let said = servers::said(&secret.text, &*app.variables).await;
            let key = said.and_then(|text| {
                message::key(&text)
                    .map_err(|error| format!("what `{}` says is no secret: {error}", secret.text))
            });
            match (&mut keys, key) {
                (Ok(keys), Ok(key)) => keys.push(key),
                (Ok(_), Err(cause)) => keys = Err(cause),
                (Err(_), _) => {}
            }
        }
        Self { url: url.map_err(|cause| format!("the URL is not known: {cause}")), keys }
    }
}

impl App {
    /// Notes what happened in the week (ISO 8601, in UTC) that ended last, once.
    async fn note_week(&self, now: DateTime<Utc>) -> Result<(), AppError> {
        let today = now.date_naive();
        let monday = today - Days::new(u64::from(today.weekday().num_days_from_monday()));
        let end = monday.and_time(chrono::NaiveTime::MIN).and_utc();
        let start = end - TimeDelta::weeks(1);
        let week = start.iso_week();
        let subject = format!("week/{}-W{:02}", week.year(), week.week());
        let query = EventQuery {
            subject: Some(subject.clone()),
            kind: Some(WEEKLY.to_owned()),
            ..EventQuery::default()
        };
        if !self.store.events_before(&query, 1, i64::MAX, 1).await?.is_empty() {
            return Ok(());
        }
        let data = self.week(start, end).await?;
        let event = self.event(ACTOR, WEEKLY, subject, data);
        self.store.note_once(event).await?;
        Ok(())
    }

    /// What happened between two times, counted.
    async fn week(&self, start: DateTime<Utc>, end: DateTime<Utc>) -> Result<Value, AppError> {
        let (mut events, mut drafts, mut listings) =
            (Counts::default(), Counts::default(), Counts::default());
        let mut moves = Vec::new();
        let (mut before, mut looked) = (i64::MAX, 0);
        'events: while looked < WEEK_EVENTS {
            let page = self.store.events_before(&EventQuery::default(), 1, before, EVENTS).await?;
            let Some(last) = page.last() else { break };
            (before, looked) = (last.seq, looked + page.len());
            for event in page {
                if event.at < start {
                    break 'events;
                }
                if event.at < end {
                    events.add(&event.kind);
                    let said = |name: &str| event.data[name].as_str();
                    match event.kind.as_str() {
                        "draft.created" => drafts.add(said("verdict").unwrap_or("unknown")),
                        "snapshot.recorded" => listings.add(said("outcome").unwrap_or("unknown")),
                        "environment.promoted" | "environment.rolled-back" if moves.len() < WEEK_NAMED => {
                            moves.push(moved(&event));
                        }
                        _ => {}
                    }
                }
            }
        }
        let mut pending = Vec::new();
        for row in self.store.catalog_rows(None, 1_000).await? {
            if let Some((draft, verdict)) = row.pending
                && pending.len() < WEEK_NAMED
            {
                pending.push(json!({ "catalog": row.catalog.name, "draft": draft, "verdict": verdict }));
            }
        }
        Ok(json!({
            "from": start, "to": end, "events": events.value(), "drafts": drafts.value(),
            "listings": listings.value(), "moves": moves, "pending": pending,
        }))
    }
}

/// A move as the digest of a week names it.
fn moved(event: &Event) -> Value {
    let environment = event.subject.strip_prefix("environment/").unwrap_or(&event.subject);
    let kind = event.kind.strip_prefix("environment.").unwrap_or(&event.kind);
    json!({
        "environment": environment, "catalog": event.data["catalog"], "kind": kind, "to": event.data["to"],
    })
}

/// How often each word came.
#[derive(Default)]
struct Counts(std::collections::BTreeMap<String, u64>);

impl Counts {
    fn add(&mut self, word: &str) {
        *self.0.entry(word.to_owned()).or_default() += 1;
    }

    fn value(self) -> Value {
        self.0.into_iter().map(|(word, count)| (word, count.into())).collect::<Map<_, _>>().into()
    }
}
