//! Judges one tool list by itself, without a baseline: what breaks clients whatever they relied on before.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::{
    contract::Contract,
    diff::{rule::Remark, rules::invalid_header},
};

/// What is wrong with a tool, by the rules of [`crate::diff::rules`] that need no second side. Empty: nothing.
#[must_use]
pub fn tool(contract: &Contract) -> Vec<Remark> {
    invalid_header::remarks(contract).collect()
}
