//! `/checks` and `/checks/{check}`: what builds offer against what is live, and the decision on its changes. Where a gate links
//! to.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    decisions::ruled,
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, Query, address, page, see},
    report::{FindingView, Values},
};
use crate::{
    access::{Object, Right},
    app::{
        App, AppError, Kind,
        checks::Checked,
        lists::Slice,
        review::{Changes, DecideRequest},
        view::{CheckQuery, CheckRow, Standing},
    },
    catalog::review::Ruling,
    diff::{Level, ToolReport, Verdict},
    guard::Acting,
    name::InvalidName,
};

/// More changes than anybody decides on one by one; the API has them all.
const CHANGES: usize = 100;

/// Checks of one page of the list; the API gives more at once.
const CHECKS: usize = 100;

#[derive(Template)]
#[template(path = "checks.html")]
struct Checks {
    frame: Frame,
    checks: Vec<CheckRow>,
    query: ChecksQuery,
    next: Option<i64>,
}

impl Checks {
    const VERDICTS: [Verdict; 4] = [Level::Breaking, Level::Undecided, Level::Risky, Level::Compatible];

    /// Checks of builds of this repository, or of one branch of it.
    fn of(repository: &str, branch: Option<&str>) -> String {
        let branch = branch.map(|branch| ("branch", branch));
        let parts: Vec<_> = std::iter::once(("repository", repository)).chain(branch).collect();
        address("/checks", &parts)
    }

    /// The page behind this one.
    fn older(&self, before: &i64) -> String {
        let (mut parts, before) = (self.query.parts(), before.to_string());
        parts.push(("before", &before));
        address("/checks", &parts)
    }

    /// The first page of the same.
    fn newest(&self) -> String {
        address("/checks", &self.query.parts())
    }

    /// The same by the API.
    fn export(&self) -> String {
        let mut parts = self.query.parts();
        parts.push(("limit", "1000"));
        address("/api/v1/checks", &parts)
    }
}

/// What the list is asked for; what is left empty is not.
#[derive(Default, Deserialize)]
pub(super) struct ChecksQuery {
    #[serde(default)]
    catalog: String,
    #[serde(default)]
    environment: String,
    #[serde(default)]
    repository: String,
    #[serde(default)]
    branch: String,
    #[serde(default)]
    verdict: String,
    /// The check that the page before ended with.
    before: Option<i64>,
}

impl ChecksQuery {
    fn parts(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("catalog", &self.catalog),
            ("environment", &self.environment),
            ("repository", &self.repository),
            ("branch", &self.branch),
            ("verdict", &self.verdict),
        ];
        let trimmed = all.into_iter().map(|(part, text)| (part, text.trim()));
        trimmed.filter(|(_, text)| !text.is_empty()).collect()
    }

    fn is_asked(&self) -> bool {
        !self.parts().is_empty()
    }

    fn read(&self) -> Result<CheckQuery, AppError> {
        let invalid = |message: String| AppError::new(Kind::Invalid, "invalid-request", message);
        let mut query = CheckQuery::default();
        for (part, text) in self.parts() {
            match part {
                "catalog" => {
                    query.catalog = Some(text.parse().map_err(|e: InvalidName| invalid(e.to_string()))?)
                }
                "environment" => {
                    query.environment = Some(text.parse().map_err(|e: InvalidName| invalid(e.to_string()))?);
                }
                "repository" => query.repository = Some(text.to_owned()),
                "branch" => query.branch = Some(text.to_owned()),
                _ => {
                    let verdict = Checks::VERDICTS.into_iter().find(|verdict| verdict.as_str() == text);
                    let unknown = || invalid(format!("`{text}` is no verdict"));
                    query.verdict = Some(verdict.ok_or_else(unknown)?);
                }
            }
        }
        Ok(query)
    }
}

/// A page of the checks that whoever looks may see.
pub(super) async fn show_checks(
    Acting { app, .. }: Acting,
    Query(query): Query<ChecksQuery>,
) -> Result<Response, Error> {
    let slice = Slice { after: query.before.map(Reverse), limit: CHECKS };
    let found = app.checks_page(&query.read()?, &slice).await?;
    let (checks, next) = (found.items, found.next.map(|Reverse(id)| id));
    Ok(page(StatusCode::OK, &Checks { frame: Frame::new(&app, "/catalogs"), checks, query, next }))
}

#[derive(Template)]
#[template(path = "check.html")]
struct CheckPage<'c> {
    frame: Frame,
    checked: &'c Checked,
    /// What stands in the way first, then the worst.
    changes: Vec<Change<'c>>,
    left_out: usize,
    blocking: usize,
    never_accepted: usize,
    /// Whether whoever looks may decide; why not, where they may not.
    may: Result<(), (String, String)>,
    notice: Option<(String, String)>,
    typed: Typed,
}

/// One change, and how it stands.
struct Change<'c> {
    tool: &'c ToolReport,
    view: FindingView<'c>,
    standing: &'c Standing,
}

impl Change<'_> {
    fn level(&self) -> Level {
        self.view.finding.level
    }
}

/// What the form was filled with: a key for each change that is chosen, and what is decided of them.
#[derive(Default)]
struct Typed(BTreeMap<String, String>);

/// Before the digits of a change that is chosen.
const CHOSEN: &str = "change-";

impl Typed {
    fn text(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.text(name) == value
    }

    fn chose(&self, standing: &Standing) -> bool {
        // What stands in the way is meant where nobody said otherwise.
        if self.0.is_empty() {
            return standing.blocks.is_some();
        }
        self.0.contains_key(&format!("{CHOSEN}{}", standing.fingerprint.hex()))
    }

    fn changes(&self) -> Vec<String> {
        self.0.keys().filter_map(|key| key.strip_prefix(CHOSEN)).map(str::to_owned).collect()
    }
}

/// The check as it stands now.
pub(super) async fn show_check(
    Acting { app, .. }: Acting,
    Path(check): Path<i64>,
) -> Result<Response, Error> {
    shown(&app, check, None, Typed::default()).await
}

/// Decides on the changes that are chosen, for the environment of the check or for all of them.
pub(super) async fn decide_check(
    Acting { app, actor }: Acting,
    Path(check): Path<i64>,
    Form(form): Form<BTreeMap<String, String>>,
) -> Result<Response, Error> {
    let typed = Typed(form);
    match decided(&app, check, &typed, actor).await {
        Ok(()) => Ok(see(&format!("/checks/{check}"))),
        Err(e) => shown(&app, check, Some(e), typed).await,
    }
}

async fn decided(app: &App, check: i64, typed: &Typed, actor: String) -> Result<(), AppError> {
    let found = app.get_check(check).await?.check;
    let (ruling, expires) = ruled(typed.text("ruling"), typed.text("until"))?;
    let owner = typed.text("owner").trim();
    let environment = match typed.text("where") {
        "here" => Some(found.environment),
        "everywhere" => None,
        _ => {
            return Err(AppError::new(
                Kind::Invalid,
                "invalid-request",
                "say where it counts: in this environment, or everywhere",
            ));
        }
    };
    let request = DecideRequest {
        catalog: found.catalog,
        changes: Changes::Check { check, fingerprints: typed.changes() },
        ruling,
        environment,
        reason: typed.text("reason").to_owned(),
        owner: (expires.is_some() && !owner.is_empty()).then(|| owner.to_owned()),
        expires,
        actor,
    };
    app.decide(&request).await?;
    Ok(())
}

async fn shown(app: &App, id: i64, failure: Option<AppError>, typed: Typed) -> Result<Response, Error> {
    let checked = app.get_check(id).await?;
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let mut standing: HashMap<_, _> = checked.standing.iter().map(|s| (&s.fingerprint, s)).collect();
    let mut found = Vec::new();
    for report in checked.check.reports() {
        for (tool, finding) in report.findings() {
            // Taken out: each is shown once.
            found.extend(
                standing.remove(&finding.fingerprint).map(|standing| (report, tool, finding, standing)),
            );
        }
    }
    found.sort_by_key(|(_, _, finding, standing)| (standing.blocks.is_none(), Reverse(finding.level)));
    let left_out = found.len().saturating_sub(CHANGES);
    let shown = found.into_iter().take(CHANGES);
    let changes = shown
        .map(|(report, tool, finding, standing)| Change {
            tool,
            view: FindingView::new(report, finding),
            standing,
        })
        .collect();
    let object = Object::catalog(&checked.check.catalog);
    let may = app.caller().map_or(Ok(()), |caller| caller.may(Right::Review, object));
    let shown = CheckPage {
        frame: Frame::new(app, "/catalogs"),
        blocking: checked.blocking(),
        never_accepted: checked.never_accepted(),
        checked: &checked,
        changes,
        left_out,
        may: may.map_err(|refusal| (refusal.to_string(), refusal.help())),
        notice: failure.map(error::told),
        typed,
    };
    Ok(page(status, &shown))
}
