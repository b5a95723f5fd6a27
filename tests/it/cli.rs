//! The command line as its users meet it: exit codes, stdout and stderr; every kind of bad input; and the whole story.

mod add;
mod audit;
mod calls;
mod database;
mod docs;
mod files;
mod import;
mod input;
mod lint;
mod lock;
#[cfg(target_os = "linux")]
mod memory;
mod oauth;
mod packaging;
mod prune;
mod remote;
pub(crate) mod reports;
mod serve;
mod story;
mod surfaces;
mod tls;
#[cfg(feature = "otel")]
mod traces;
mod upkeep;
mod versions;
mod watch;
mod webhooks;

use std::path::Path;

use crate::command::{Ended, User};

const PASSED: i32 = 0;
const BLOCKED: i32 = 1;
const INVALID: i32 = 2;
const COULD_NOT_RUN: i32 = 3;

/// A recorded list of tests/servers.
fn recorded(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers").join(name).to_string_lossy().into_owned()
}

/// Runs a diff of two texts.
fn diff(user: &User, baseline: &str, candidate: &str) -> Ended {
    user.file("baseline.json", baseline);
    user.file("candidate.json", candidate);
    user.run(&["diff", "baseline.json", "candidate.json"])
}
