//! One binary; each `mod` line says what belongs in it.

// Which module may name which.
mod architecture;
// The command line as its users meet it: exit codes, output, bad input, the story.
mod cli;
// Not tests: runs the built binary as a user does.
mod command;
// Real MCP servers, as published; installed by tests/run.
/// The raw MCP client against servers that behave, misbehave and die; and the demo server.
mod mcp;
mod real;
// Not tests: a service with a story in it, for the API and the pages.
// mod seed;
/// Use cases over a store of their own, with a clock that stands.
#[path = "../support/app.rs"]
mod support;

mod documents; // catalog documents, version numbers, what a draft holds: pure, as tables
mod flow; // the story: snapshot .. approve .. promote .. rollback, with its events and refusals
mod store; // what the database keeps, keeps once, and refuses to forget
