//! JSON Schema as a set of values.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
