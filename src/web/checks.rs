//! `/checks/{check}`: what a build offers against what is live, and the decision on its changes. Where its gate links to.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use askama::Template;
use axum::response::Response;

use super::{
    decisions::ruled,
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, page, see},
    report::{FindingView, Values},
};
use crate::{
    access::{Object, Right},
    app::{
        App, AppError, Kind,
        checks::Checked,
        review::{Changes, DecideRequest},
        view::Standing,
    },
    catalog::review::Ruling,
    diff::{Level, ToolReport},
    guard::Acting,
};

/// More changes than anybody decides on one by one; the API has them all.
const CHANGES: usize = 100;

#[derive(Template)]
#[template(path = "check.html")]
struct CheckPage<'c> {
    frame: Frame,
    checked: &'c Checked,
    /// What stands in the way first, then the worst.
    changes: Vec<Change<'c>>,
    left_out: usize,
    blocking: usize,
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
    let status = failure.as_ref().map_or(axum::http::StatusCode::OK, |e| error::kind(e.kind).0);
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
        checked: &checked,
        changes,
        left_out,
        may: may.map_err(|refusal| (refusal.to_string(), refusal.help())),
        notice: failure.map(error::told),
        typed,
    };
    Ok(page(status, &shown))
}
