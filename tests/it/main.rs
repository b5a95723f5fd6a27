//! One binary; each `mod` line says what belongs in it.

/// Use cases over a store of their own, with a clock that stands.
#[path = "../support/app.rs"]
mod support;

mod documents; // catalog documents, version numbers, what a draft holds: pure, as tables
mod flow; // the story: snapshot .. approve .. promote .. rollback, with its events and refusals
mod store; // what the database keeps, keeps once, and refuses to forget
