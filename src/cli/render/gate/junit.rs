//! JUnit: a suite a server, a case a change, whose class is its tool. What blocks is a failure, what is waived is skipped, a server that could
//! not be asked is an error.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Told, failed_server};
use crate::{
    app::{AppError, Kind},
    cli::render::safe,
    diff::Finding,
    gate::Standing,
};

pub(super) fn report(told: &Told) -> Result<String, AppError> {
    let mut suites: Vec<TestSuite> = Vec::new();
    for failed in &told.failed {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type(failed.error.code).set_message(safe::line(&failed.error.message, 1_000));
        suite(&mut suites, failed_server(failed)).add_test_case(TestCase::new("listing", status));
    }
    if let Some(judgement) = &told.judgement {
        for (tool, finding, standing) in judgement.findings() {
            let status = status(finding, standing);
            // Whoever reads this tells cases apart by their names, and may show one of each name.
            let Finding { rule, surface, pointer, fingerprint, .. } = finding;
            let name = format!("{} {rule} {surface}{pointer} {}", tool.tool, fingerprint.short());
            let mut case = TestCase::new(safe::word(&name), status);
            case.set_classname(safe::word(&tool.tool));
            suite(&mut suites, &tool.server).add_test_case(case);
        }
        if judgement.report.unchanged > 0 || judgement.report.tools.is_empty() {
            let name = format!("{} tools unchanged", judgement.report.unchanged);
            suite(&mut suites, "unchanged").add_test_case(TestCase::new(name, TestCaseStatus::success()));
        }
    }
    let mut report = Report::new("toolpact gate");
    report.add_test_suites(suites);
    report.to_string().map_err(|e| {
        AppError::new(Kind::Internal, "junit", format!("the answer cannot be written as JUnit: {e}"))
    })
}

fn suite<'s>(suites: &'s mut Vec<TestSuite>, server: &str) -> &'s mut TestSuite {
    let name = if server.is_empty() { "server" } else { server };
    let at = suites.iter().position(|s| s.name.as_str() == name).unwrap_or_else(|| {
        suites.push(TestSuite::new(name));
        suites.len() - 1
    });
    &mut suites[at]
}

fn status(finding: &Finding, standing: &Standing) -> TestCaseStatus {
    let message = safe::line(&finding.message, 1_000);
    let skipped = |why: String| {
        let mut status = TestCaseStatus::skipped();
        status.set_message(format!("{message} ({why})"));
        status
    };
    match standing {
        Standing::Passes => TestCaseStatus::success(),
        Standing::Waived { waiver } => {
            skipped(format!("waived until {}: {}", waiver.expires, safe::word(&waiver.reason)))
        }
        Standing::Announced { since } => skipped(format!("announced since {since}")),
        Standing::Versioned { version } => {
            skipped(format!("the declared version {} says it", safe::word(version)))
        }
        Standing::Accepted { by, reason } => {
            skipped(format!("accepted by {}: {}", safe::word(by), safe::word(reason)))
        }
        Standing::Blocks
        | Standing::Expired { .. }
        | Standing::TooSoon { .. }
        | Standing::Rejected { .. } => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type(finding.rule.as_str()).set_message(message);
            if let Some(witness) = &finding.witness {
                status.set_description(format!("witness: {}", safe::value(&witness.value)));
            }
            status
        }
    }
}
