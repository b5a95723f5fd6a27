//! One binary; each `mod` line says what belongs in it.

// The HTTP API: status and body, a file per noun.
mod api;
// Which module may name which.
mod architecture;
// The command line as its users meet it: exit codes, output, bad input, the story.
mod cli;
// Catalog documents, version numbers, what a draft holds: pure, as tables.
mod documents;
// The story: snapshot .. approve .. promote .. rollback, with its events and refusals.
mod flow;
// The raw MCP client against servers that behave, misbehave and die; and the demo server.
mod mcp;
// Real MCP servers, as published; installed by tests/run.
mod real;
// What the database keeps, keeps once, and refuses to forget.
mod store;
// The pages: every one renders, is safe and accessible; what the forms do.
mod web;

// Not tests: asks the service, both faces together.
mod ask;
// Not tests: runs the built binary as a user does.
mod command;
// Not tests: a service with a story in it, for the API and the pages.
mod seed;
// Not tests: use cases over a store of their own, with a clock that stands.
#[path = "../support/app.rs"]
mod support;
