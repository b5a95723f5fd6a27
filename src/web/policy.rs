//! `/catalogs/{catalog}/policy`: what blocks, in words; what another policy would have blocked; and the form that sets it.

mod form;

use askama::Template;
use axum::{http::StatusCode, response::Response};

use self::form::Fields;
use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, Query, configures, page, see},
};
use crate::{
    app::{App, AppError, simulate::Simulation},
    catalog::{
        Catalog, EnvironmentPolicy, Policy,
        policy::{Against, Direction, Probe, order},
    },
    diff::{Assumption, Formats, Level},
    guard::Acting,
    json::Digest,
    name::{CatalogName, EnvironmentName},
};

/// Drafts that stand below each other; more than that nobody reads one by one.
const SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "policy.html")]
struct PolicyPage {
    frame: Frame,
    /// As it is set now.
    catalog: Catalog,
    /// What is sent with the form, so that nothing is set over what somebody else set meanwhile.
    seen: Digest,
    /// As it is typed.
    typed: Catalog,
    may: bool,
    simulation: Option<Simulation>,
    notice: Option<(String, String)>,
}

impl PolicyPage {
    const LEVELS: [Level; 4] = form::LEVELS;
    const ASSUMPTIONS: [Assumption; 2] = form::ASSUMPTIONS;
    const FORMATS: [Formats; 3] = form::FORMATS;
    const DIRECTIONS: [Direction; 3] = form::DIRECTIONS;
    const AGAINST: [Against; 3] = form::AGAINST;
    const PROBES: [Probe; 3] = form::PROBES;

    /// The environments in the order in which versions go through them, with what each demands in all.
    fn environments(&self) -> Vec<(&EnvironmentName, &EnvironmentPolicy, Policy)> {
        let set = &self.catalog.environments;
        // One that goes in a circle is never set.
        let names = order(set).unwrap_or_else(|_| set.keys().collect());
        let whole = |name| set.get(name).map(|demands| (name, demands, demands.over(&self.catalog.policy)));
        names.into_iter().filter_map(whole).collect()
    }

    fn shown<'s>(
        drafts: impl Iterator<Item = &'s crate::app::simulate::Simulated>,
    ) -> Vec<&'s crate::app::simulate::Simulated> {
        drafts.take(SHOWN).collect()
    }

    fn levels(levels: &[Level]) -> Vec<Level> {
        Self::LEVELS.into_iter().filter(|level| levels.contains(level)).collect()
    }
}

/// What the words mean.
impl PolicyPage {
    /// What an assumption means.
    fn assumes(assumption: &Assumption) -> &'static str {
        match assumption {
            Assumption::Declared => "callers send only what is declared",
            Assumption::Strict => "callers send anything that is allowed",
        }
    }

    /// What a word about formats means.
    fn formats(formats: &Formats) -> &'static str {
        match formats {
            Formats::Assert => "a format rejects values, so its change can break",
            Formats::Annotate => "a format is a note to readers",
            Formats::Risky => "a format may reject values, so its change is a risk",
        }
    }

    /// Which callers count.
    fn counts(direction: &Direction) -> &'static str {
        match direction {
            Direction::Input => "those who send have to go on",
            Direction::Output => "those who read have to go on",
            Direction::Full => "those who send and those who read have to go on",
        }
    }

    /// What drafts are held against.
    fn against(against: &Against) -> &'static str {
        match against {
            Against::Latest => "the newest version",
            Against::SinceMajor => "all since each tool's last major version",
            Against::EverLive => "all that was ever live",
        }
    }

    /// What is asked of servers before a move.
    fn probes(probe: &Probe) -> &'static str {
        match probe {
            Probe::Require => "have to serve what is pinned",
            Probe::Record => "are asked, and what they say is kept",
            Probe::Skip => "are not asked",
        }
    }
}

/// The policy; where the form was sent to be tried, with what it would have done.
pub(super) async fn show_policy(
    Acting { app, .. }: Acting,
    Path(catalog): Path<CatalogName>,
    Query(fields): Query<Vec<(String, String)>>,
) -> Result<Response, Error> {
    let settings = app.catalog(&catalog).await?.catalog;
    let fields = Fields(fields);
    if fields.is_empty() {
        return shown(&app, settings.clone(), settings, None, None);
    }
    let simulated = match fields.settings(&settings) {
        Ok(typed) => app.simulate(&catalog, &typed.policy).await.map(|simulation| (typed, simulation)),
        Err(e) => Err(e),
    };
    match simulated {
        Ok((typed, simulation)) => shown(&app, settings, typed, Some(simulation), None),
        Err(e) => shown(&app, settings.clone(), settings, None, Some(e)),
    }
}

/// Sets the policy and the environments, where they stand as they were seen.
pub(super) async fn set_policy(
    Acting { app, actor }: Acting,
    Path(catalog): Path<CatalogName>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Response, Error> {
    let settings = app.catalog(&catalog).await?.catalog;
    let fields = Fields(fields);
    let typed = match (fields.seen(), fields.settings(&settings)) {
        (Ok(seen), Ok(typed)) => match app.put_catalog(typed.clone(), Some(&seen), &actor).await {
            Ok(_) => return Ok(see(&format!("/catalogs/{catalog}/policy"))),
            Err(e) => (typed, e),
        },
        (Err(e), _) | (_, Err(e)) => (settings.clone(), e),
    };
    shown(&app, settings, typed.0, None, Some(typed.1))
}

fn shown(
    app: &App,
    catalog: Catalog,
    typed: Catalog,
    simulation: Option<Simulation>,
    failure: Option<AppError>,
) -> Result<Response, Error> {
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let shown = PolicyPage {
        frame: Frame::new(app, "/catalogs"),
        seen: catalog.digest(),
        may: configures(app, Some(&catalog.name)),
        catalog,
        typed,
        simulation,
        notice: failure.map(error::told),
    };
    Ok(page(status, &shown))
}
