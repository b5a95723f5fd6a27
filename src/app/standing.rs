//! How things stand, for whoever watches the service: counted on request, never kept.

use super::{App, AppError};
use crate::{catalog::EnvironmentPointer, catalog::webhook::State, store::Queue};

/// How much there is, and how much waits.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The number of the newest event.
    pub events: i64,
    /// Drafts that wait for review.
    pub pending_drafts: i64,
    /// Webhooks to which nothing is sent.
    pub webhooks_disabled: i64,
    /// What waits to be sent, and who is at work.
    pub queue: Queue,
    /// Every pointer.
    pub pointers: Vec<EnvironmentPointer>,
}

/// The most catalogs and webhooks that are counted.
const MOST: usize = 10_000;

impl App {
    /// How things stand.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn standing(&self) -> Result<Standing, AppError> {
        let catalogs = self.store.catalog_rows(None, MOST).await?;
        let webhooks = self.store.webhooks(None, MOST).await?;
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        Ok(Standing {
            events: self.store.last_event().await?,
            pending_drafts: count(catalogs.iter().filter(|row| row.pending.is_some()).count()),
            webhooks_disabled: count(webhooks.iter().filter(|w| w.state == State::Disabled).count()),
            queue: self.store.queue(self.now()).await?,
            pointers: self.store.pointers().await?,
        })
    }
}
