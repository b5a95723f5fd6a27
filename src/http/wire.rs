//! The API's JSON, built from the core's types so that these can change without changing what callers read. Times are
//! RFC 3339 in UTC; what does not apply is absent.
//!
//! Reports, digests, provenance and evidence stand here as the core writes them: their form is a promise already, and
//! `schema` describes it.

mod access;
mod catalogs;
mod checks;
mod environments;
mod events;
mod reviews;
pub(super) mod schema;
mod servers;
mod signatures;
mod verify;
mod webhooks;

use serde::Serialize;
use utoipa::ToSchema;

pub use access::{Caller, NewToken, Team, Token};
pub use catalogs::{Catalog, CatalogSummary, Draft, DraftSummary, Version, VersionSummary};
pub use checks::{Check, CheckSummary};
pub use environments::{Environment, Freeze, Gate, Move, Pointer, Preflight};
pub use events::Event;
pub use reviews::{Approved, ChangeDecision, Comment, Review, Standing};
pub use servers::{Listing, Server, ServerSummary};
pub use signatures::Signature;
pub use verify::Verified;
pub use webhooks::{Delivery, Webhook, WebhookWithSecret};

/// A list, or a page of one.
#[derive(Serialize, ToSchema)]
pub struct Items<T> {
    /// What was asked for.
    pub items: Vec<T>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next: Option<String>,
}

impl<T> Items<T> {
    /// Translates each.
    pub fn of<F>(items: Vec<F>) -> Self
    where
        T: From<F>,
    {
        Self { items: items.into_iter().map(T::from).collect(), next: None }
    }
}
