//! toolpact: the governance catalog and contract-diff service for MCP tools.
//!
//! MCP versions the protocol and the server, never the tool. toolpact snapshots a server's `tools/list` verbatim, keys
//! it by digest, diffs it, and proves every change compatible or shows a *witness*: a call that worked and now fails.
//! From that come contract versions, catalogs, review, promotion to environments and rollback in one call.
//!
//! The modules stand in the order in which data flows; each names only those above it (`tests/it/architecture.rs`).

// The core: pure. No I/O, no clock, no randomness.
pub mod access;
pub mod catalog;
pub mod contract;
pub mod diff;
pub mod gate;
pub mod json;
pub mod lint;
pub mod name;
pub mod schema;
pub mod secret;
pub mod snapshot;

// The shells: where the core meets the world. They do not know each other.
pub mod reach;
pub mod remote;

pub mod config;
pub mod deliver;
pub mod mcp;
pub mod oidc;
pub mod store;

// The use cases: the only place where core meets shell.
pub mod app;

// Who calls over HTTP, and whether they may.
pub mod guard;

// The faces: they translate, and call `app`.
pub mod cli;
pub mod http;
pub mod web;
