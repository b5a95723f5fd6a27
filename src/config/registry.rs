//! The MCP Registry: its `server.json` documents, and any service that speaks its API.
//!
//! A registry names packages and URLs and never tools: those are only known from the server itself.

mod client;
pub(super) mod server_json;

pub use client::{Client, Limits, RegistryError};

use serde_json::Value;

use super::{ConfigError, Found, Host, entry, named};

/// Reads what a registry answered. What cannot be registered is skipped, whatever is wrong with it: one odd entry of a
/// registry must not hide the others.
///
/// # Errors
/// Where two servers would have one name here.
pub fn read(answers: &[Value], package: bool) -> Result<Found, ConfigError> {
    let mut all: Vec<(String, entry::Read)> = Vec::new();
    for answer in answers {
        let (name, read) = server_json::read(answer, package).unwrap_or_else(|error| {
            let name = server_json::name(answer).unwrap_or("?").to_owned();
            (name, entry::Read::Skipped(error.to_string()))
        });
        all.push((name, read));
    }
    named(all, Host::Registry)
}
