//! A raw MCP client: paged `tools/list` to a [`Listing`], every byte kept.
//!
//! Our own, because the official SDK drops fields, loses whole pages on one odd tool and hangs on bad lines. It asks,
//! it never acts: no tool is called, nothing a server names is fetched.

use std::time::Duration;

use crate::snapshot::{Evidence, Listing, Outcome, Provenance};

/// Where a server is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A command to run; speaks over stdin and stdout.
    Stdio {
        /// The program.
        program: String,
        /// Its arguments. Never seen by a shell.
        args: Vec<String>,
    },
    /// A Streamable HTTP endpoint.
    Http {
        /// The URL.
        url: String,
        /// Extra headers. Values are secrets: they are sent and never stored or printed.
        headers: Vec<(String, String)>,
    },
}

/// How much a listing may cost. Every limit ends in an outcome that names it.
#[derive(Debug, Clone)]
pub struct Limits {
    /// From start to the first answer; a cold `npx` can need 25 s.
    pub start: Duration,
    /// One request.
    pub request: Duration,
    /// The whole listing.
    pub total: Duration,
    /// Bytes of one message (a stdio line, an HTTP body, an SSE event).
    pub message_bytes: usize,
    /// Bytes of all pages.
    pub total_bytes: usize,
    /// Pages.
    pub pages: usize,
    /// Tools.
    pub tools: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(120),
            request: Duration::from_secs(30),
            total: Duration::from_secs(240),
            message_bytes: 16 << 20,
            total_bytes: 64 << 20,
            pages: 1_000,
            tools: 10_000,
        }
    }
}

/// Lists a server's tools. Never fails: how it ended is the listing's outcome.
pub async fn list(source: &Source, limits: &Limits) -> Listing {
    let _ = (source, limits);
    Listing {
        outcome: Outcome::Unavailable,
        evidence: Evidence::default(),
        provenance: Provenance::file(""),
        tools: Vec::new(),
    }
}
