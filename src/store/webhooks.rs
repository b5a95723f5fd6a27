//! What is kept of webhooks and of what was sent to them.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::Result;
use crate::{
    catalog::{
        event::NewEvent,
        webhook::{Attempt, Delivery, DeliveryStatus, Webhook},
    },
    name::WebhookName,
};

/// A webhook that one process sends to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sending {
    /// Under which name it is held.
    pub holder: String,
    /// Its number; a later claim of anything has a higher one.
    pub fence: i64,
    /// The webhook, as it stood when it was claimed.
    pub webhook: Webhook,
    /// The last event that was looked at for it.
    pub seen: i64,
}

/// An event that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Its number.
    pub event: i64,
    /// Its kind.
    pub kind: String,
}

/// How a delivery stands after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempted {
    /// The delivery.
    pub delivery: i64,
    /// What came of it.
    pub attempt: Attempt,
    /// How it stands.
    pub status: DeliveryStatus,
    /// When it is tried again; only while it waits.
    pub due: Option<DateTime<Utc>>,
}

/// How much there is to do, and who does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queue {
    /// Deliveries that wait.
    pub waiting: i64,
    /// Webhooks that a process holds.
    pub sending: i64,
    /// Servers that a process holds.
    pub polling: i64,
    /// Servers that are held although the lease has ended.
    pub overdue: i64,
}

/// Webhooks. What is told is the log of events: each webhook has a place in it, which moves on in the transaction that
/// makes its deliveries. So whatever ends the process, nothing is left out, and nothing is made twice.
#[async_trait]
pub trait Webhooks: Send + Sync {
    /// Webhooks by name, from the one after this.
    async fn webhooks(&self, after: Option<&WebhookName>, limit: usize) -> Result<Vec<Webhook>>;
    /// One webhook.
    async fn webhook(&self, name: &WebhookName) -> Result<Option<Webhook>>;
    /// Adds one, which is told what happens from now on; false, and no event, where the name is taken.
    async fn add_webhook(&self, webhook: &Webhook, event: NewEvent) -> Result<bool>;
    /// Puts a webhook in the place of the one of its name with the revision before; false, and no event, where that is
    /// another by now. One that was disabled and is not any more is told what happens from now on.
    async fn change_webhook(&self, webhook: &Webhook, event: NewEvent) -> Result<bool>;
    /// Forgets a webhook with its deliveries; false, and no event, where its revision is another by now.
    async fn remove_webhook(&self, name: &WebhookName, revision: i64, event: NewEvent) -> Result<bool>;
    /// Deliveries of a webhook, the newest first, from the one before this.
    async fn deliveries(
        &self,
        webhook: &WebhookName,
        status: Option<DeliveryStatus>,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<Delivery>>;
    /// One delivery.
    async fn delivery(&self, webhook: &WebhookName, id: i64) -> Result<Option<Delivery>>;
    /// Has a delivery made again, as if it were new; false, and no event, where it is not there.
    async fn resend(
        &self,
        webhook: &WebhookName,
        id: i64,
        now: DateTime<Utc>,
        event: NewEvent,
    ) -> Result<bool>;
    /// Adds an event unless there is one of its kind and subject.
    async fn note_once(&self, event: NewEvent) -> Result<bool>;

    /// When there is something to send next, now where events were not looked at yet; nothing where nobody waits.
    async fn next_sending(&self, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>>;
    /// Claims active webhooks that have something to send and that nobody holds.
    async fn claim_sendings(
        &self,
        holder: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
        most: usize,
    ) -> Result<Vec<Sending>>;
    /// Holds a claim for longer. `false` where it is not this holder's any more.
    async fn renew_sending(&self, claim: &Sending, until: DateTime<Utc>) -> Result<bool>;
    /// Gives a claim back; nothing where it is another's by now.
    async fn end_sending(&self, claim: &Sending) -> Result<()>;
    /// Gives back all claims of holders whose names begin so, a colon after it.
    async fn release_sendings(&self, holder: &str) -> Result<()>;
    /// Makes deliveries of what was found up to an event, and moves the webhook's place there. `false`, and nothing, where
    /// the claim is another's by now.
    async fn plan(&self, claim: &Sending, planned: &[Planned], seen: i64, now: DateTime<Utc>)
    -> Result<bool>;
    /// Deliveries that are due, the longest due first; none where the webhook is not active.
    async fn due_deliveries(&self, claim: &Sending, now: DateTime<Utc>, most: usize)
    -> Result<Vec<Delivery>>;
    /// Keeps what came of an attempt. `false`, and nothing, where the claim is another's by now.
    async fn note_attempt(&self, claim: &Sending, attempted: &Attempted) -> Result<bool>;
    /// Whether a delivery of the webhook was taken since then.
    async fn was_heard(&self, webhook: &WebhookName, since: DateTime<Utc>) -> Result<bool>;
    /// Sends nothing more to it; false, and no event, where the claim is another's by now.
    async fn disable_webhook(&self, claim: &Sending, because: &str, event: NewEvent) -> Result<bool>;
    /// Forgets deliveries that ended and are older than this.
    async fn forget_deliveries(&self, before: DateTime<Utc>) -> Result<u64>;
    /// How much there is to do.
    async fn queue(&self, now: DateTime<Utc>) -> Result<Queue>;
}
