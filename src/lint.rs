//! Judges one tool list by itself, without a baseline.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
