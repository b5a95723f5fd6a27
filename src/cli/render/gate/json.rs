//! The gate for programs: the report as it stands, and around it how it was judged. Its form is `schema.json`, and has a
//! version.

use serde::Serialize;

use super::{Asked, Baseline, Told, failed_server};
use crate::{
    app::{AppError, tree::Failed},
    cli::render::json,
    diff::Report,
    gate::{Blocked, Policy, Standing, VersionCheck, Waiver},
    json::Digest,
    name::EnvironmentName,
};

/// The version of the form. A member more is no new version; one that goes, or means something else, is.
pub(super) const FORMAT: u32 = 1;

/// Its JSON Schema.
pub(in crate::cli) const SCHEMA: &str = include_str!("schema.json");

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    format: u32,
    passed: bool,
    exit: u8,
    decision: String,
    against: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<&'a Blocked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a Policy>,
    /// How each finding stands that does not simply pass.
    standing: Vec<Stands<'a>>,
    versions: &'a [VersionCheck],
    unused_waivers: &'a [Waiver],
    failed: Vec<Failure<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<Service<'a>>,
    #[serde(flatten)]
    report: Option<&'a Report>,
}

/// The service that was asked.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Service<'a> {
    url: &'a str,
    environment: &'a EnvironmentName,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<&'a str>,
    /// Where the lockfile judged instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreachable: Option<&'a str>,
}

impl<'a> Service<'a> {
    fn of(asked: &'a Asked) -> Self {
        let Asked { url, environment, check, link, unreachable } = asked;
        Self { url, environment, check: *check, page: link.as_deref(), unreachable: unreachable.as_deref() }
    }
}

#[derive(Serialize)]
struct Stands<'a> {
    fingerprint: &'a Digest,
    #[serde(flatten)]
    standing: &'a Standing,
}

#[derive(Serialize)]
struct Failure<'a> {
    server: &'a str,
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    help: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<crate::snapshot::Outcome>,
}

impl<'a> Failure<'a> {
    fn of(failed: &'a Failed) -> Self {
        let AppError { code, message, help, listing, .. } = &*failed.error;
        let outcome = listing.as_ref().map(|l| l.0);
        Self { server: failed_server(failed), code, message, help, outcome }
    }
}

pub(super) fn report(told: &Told) -> Result<String, AppError> {
    let judged = told.judgement.as_ref();
    json::document(&Document {
        format: FORMAT,
        passed: told.exit() == crate::cli::exit::PASSED,
        exit: told.exit(),
        decision: told.decision().trim_end().to_owned(),
        against: match &told.at {
            Baseline::Lock(path, _) | Baseline::File(path) | Baseline::Elsewhere(path) => path,
        },
        blocked_by: told.blocked(),
        policy: judged.map(|j| &j.grounds.policy),
        standing: judged
            .iter()
            .flat_map(|j| &j.standing)
            .map(|(fingerprint, standing)| Stands { fingerprint, standing })
            .collect(),
        versions: judged.map_or(&[], |j| &j.grounds.versions),
        unused_waivers: judged.map_or(&[], |j| &j.unused),
        failed: told.failed.iter().map(Failure::of).collect(),
        service: told.service.as_ref().map(Service::of),
        report: judged.map(|j| &j.report),
    })
}
