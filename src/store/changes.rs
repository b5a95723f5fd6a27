//! Pointers that move, told to whoever remembers where they stand.

use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::name::{CatalogName, EnvironmentName};

/// What is told. A move may be told more than once, and late, when the pointer stands further on already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PointerChange {
    /// A pointer reached this generation.
    Moved(Moved),
    /// Nothing is heard any more: what is remembered from here on may be old.
    Lost,
    /// Moves are heard again; what was remembered before may be old.
    Regained,
}

/// A pointer, and the generation that it reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The environment.
    pub environment: EnvironmentName,
    /// The catalog.
    pub catalog: CatalogName,
    /// The generation.
    pub generation: i64,
}

/// What happened to pointers since this was asked for.
#[derive(Debug)]
pub struct PointerChanges(broadcast::Receiver<PointerChange>);

impl PointerChanges {
    /// The next change; nothing where the store is gone. May be given up at any time.
    pub async fn next(&mut self) -> Option<PointerChange> {
        match self.0.recv().await {
            Ok(change) => Some(change),
            // More moved than was kept for a slow listener.
            Err(RecvError::Lagged(_)) => Some(PointerChange::Regained),
            Err(RecvError::Closed) => None,
        }
    }
}

/// Tells everybody in this process.
#[derive(Debug, Clone)]
pub(super) struct Teller(broadcast::Sender<PointerChange>);

impl Default for Teller {
    fn default() -> Self {
        /// More moves at once than this are told as [`PointerChange::Regained`].
        const KEPT: usize = 1024;
        Self(broadcast::channel(KEPT).0)
    }
}

impl Teller {
    /// Tells it; nobody may be listening.
    pub(super) fn tell(&self, change: PointerChange) {
        _ = self.0.send(change);
    }

    /// What is told from now on.
    pub(super) fn listen(&self) -> PointerChanges {
        PointerChanges(self.0.subscribe())
    }
}
