//! One binary; each `mod` line says what belongs in it.

mod access; // who may do what: the table walked, tokens, sessions, an issuer, and what attackers try
mod api; // the HTTP API: status and body, a file per noun
mod architecture; // which module may name which
mod audit; // the audit log: whatever is done to it behind our back is found and named
mod chaos; // pointers under fire: killed processes, cut connections, a restarted database, and a checker of histories
mod cli; // the command line as its users meet it: exit codes, output, bad input, the story
mod config; // the configuration files of hosts and registries: what is read of them, as tables
mod contract; // which texts have a contract, and which contracts are the same
mod corpus; // real tool lists and labelled pairs, read where they are present
mod documents; // catalog documents, version numbers, what a draft holds: pure, as tables
mod flow; // the story: snapshot .. approve .. promote .. rollback, with its events and refusals
mod gate; // what a gate in CI judges with: settings, waivers, announcements, versions, the lockfile's text
mod hostile; // schemas that a hostile server may send: every diff ends, nothing panics
mod lint; // what is wrong with a tool whatever it is compared with
mod mcp; // the raw MCP client against servers that behave, misbehave and die; and the demo server
mod operations; // what operators rely on: metrics, alerts, the dashboard, the runbook, the configuration
mod properties; // generated schemas and instances against the validator
mod real; // real MCP servers, as published; installed by tests/run
mod recheck; // the witnesses of diffs before a validator of another author; installed by tests/run
mod retention; // what pruning forgets, and what it never does
mod rules; // every case of every rule through the whole engine
mod scale; // however long the history is, a page of it is read in the order of an index
mod schema; // containment asked directly: what is easily called contained and is not
mod store; // what the database keeps, keeps once, and refuses to forget
mod web; // the pages: every one renders, is safe and accessible; what the forms do

mod ask; // not tests: asks the service, both faces together, without sockets
mod command; // not tests: runs the built binary as a user does
mod database; // not tests: a database of a test's own, on either engine
mod receiver; // not tests: a receiver of webhooks that answers as a test wants it to
mod seed; // not tests: a service with a story in it, for the API and the pages
mod story; // not tests: the whole story as data, which the command line and the API tell

/// Not tests: a long history, made by SQL.
#[path = "../support/seed.rs"]
mod long;

/// Not tests: use cases over a store of their own, with a clock that stands.
#[path = "../support/app.rs"]
mod support;
