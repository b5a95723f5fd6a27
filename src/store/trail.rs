//! What the audit log is checked and passed on by.

use async_trait::async_trait;

use super::Result;
use crate::{
    catalog::{Event, sign::Envelope},
    json::Digest,
};

/// A row of the log that no toolpact wrote so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its number, where it has one.
    pub seq: Option<i64>,
    /// What is wrong with it.
    pub cause: String,
}

/// What was signed of a version or a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// The event that it was signed with.
    pub seq: i64,
    /// The key, by id.
    pub key: Digest,
    /// The statement.
    pub envelope: Envelope,
}

/// The log as it is checked, signed and sent. Signatures are added by the writes that they are about.
#[async_trait]
pub trait Trail: Send + Sync {
    /// Rows in order, from the first behind this number, or from the very first: each as an event, or what is wrong with
    /// it. Unlike [`Events`](super::Events), which read what they can, nothing is passed over.
    async fn stored_events(
        &self,
        behind: Option<i64>,
        limit: usize,
    ) -> Result<Vec<std::result::Result<Event, Unreadable>>>;
    /// How many rows have this number or a lower one.
    async fn count_events(&self, until: i64) -> Result<i64>;
    /// What was signed under a [name](crate::catalog::statement::Seal::name), the first first.
    async fn signatures(&self, name: &str) -> Result<Vec<Signed>>;
    /// The number of the last event that a receiver was sent.
    async fn cursor(&self, receiver: &str) -> Result<Option<i64>>;
    /// Notes it; never goes back.
    async fn set_cursor(&self, receiver: &str, seq: i64) -> Result<()>;
}
