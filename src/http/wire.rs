//! The API's JSON, built from the core's types so that these can change without changing what callers read. Times are
//! RFC 3339 in UTC; what does not apply is absent.
//!
//! Reports, digests, provenance and evidence stand here as the core writes them: their form is a promise already.

mod catalogs;
mod environments;
mod events;
mod servers;

use serde::Serialize;

pub use catalogs::{Approved, Catalog, CatalogSummary, Draft, Version};
pub use environments::{Environment, Move, Pointer};
pub use events::Event;
pub use servers::{Server, ServerSummary};

/// A list. An object, so that paging can be added without breaking anybody.
#[derive(Serialize)]
pub struct Items<T> {
    /// What was asked for.
    pub items: Vec<T>,
}

impl<T> Items<T> {
    /// Translates each.
    pub fn of<F>(items: Vec<F>) -> Self
    where
        T: From<F>,
    {
        Self { items: items.into_iter().map(T::from).collect() }
    }
}
