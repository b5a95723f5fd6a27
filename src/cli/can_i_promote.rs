//! `can-i-promote`: whether a version may go to an environment now, for scripts that deploy. Moves nothing.

use std::{fmt::Write, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Answer,
    context::{Access, Context, block_on},
    exit,
    render::{Format, json, safe},
    service,
};
use crate::{
    app::{App, AppError, Kind, MoveRequest, Overrides, view},
    catalog::{CatalogVersion, MoveKind, suggest::did_you_mean},
    name::{CatalogName, EnvironmentName},
    remote::RemoteError,
};

/// Say whether a version may go to an environment now. Exit 0 yes, 1 no, 2 invalid, 3 could not be found out.
///
/// Judged as the promotion itself is, and nothing is moved. A version that is live there already may.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The version, for example orders@2026.11.30.
    #[arg(value_name = "CATALOG@VERSION")]
    target: Target,
    /// Where it would go.
    #[arg(long, value_name = "NAME")]
    environment: EnvironmentName,
    /// The service to ask, with the token in TOOLPACT_TOKEN. Default: the database.
    #[arg(long, value_name = "URL")]
    service: Option<String>,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A version of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    catalog: CatalogName,
    version: CatalogVersion,
}

impl FromStr for Target {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (catalog, version) =
            text.split_once('@').ok_or("expected CATALOG@VERSION, for example orders@2026.11.30")?;
        Ok(Self {
            catalog: catalog.parse().map_err(|e: crate::name::InvalidName| e.to_string())?,
            version: version.parse().map_err(|e| format!("`{version}` is no version: {e}"))?,
        })
    }
}

/// One thing that has to be so.
#[derive(Serialize, Deserialize)]
struct Gate {
    code: String,
    passed: bool,
    #[serde(default)]
    overridden: bool,
    message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    help: String,
}

impl Gate {
    fn blocks(&self) -> bool {
        !self.passed && !self.overridden
    }

    /// A refusal, as the one thing that is not so.
    fn refused(code: &str, message: String, help: String) -> Self {
        Self { code: code.to_owned(), passed: false, overridden: false, message, help }
    }
}

impl From<view::GateCheck> for Gate {
    fn from(gate: view::GateCheck) -> Self {
        let view::GateCheck { code, passed, overridden, message, help } = gate;
        Self { code: code.to_owned(), passed, overridden, message, help }
    }
}

/// The answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    allowed: bool,
    catalog: CatalogName,
    version: CatalogVersion,
    environment: EnvironmentName,
    /// Whether it is live there now.
    live: bool,
    gates: Vec<Gate>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let gates = match &args.service {
        Some(url) => block_on(asked(args, url))?,
        None => context.with_app(Access::Read, async |app| judged(args, app).await)?,
    };
    let live = gates.is_none();
    let gates = gates.unwrap_or_default();
    let told = Told {
        allowed: !gates.iter().any(Gate::blocks),
        catalog: args.target.catalog.clone(),
        version: args.target.version,
        environment: args.environment.clone(),
        live,
        gates,
    };
    let exit = if told.allowed { exit::PASSED } else { exit::BLOCKED };
    let text = match args.format {
        Format::Json => json::document(&told)?,
        Format::Text => text(&told),
    };
    Ok(Answer { text, exit })
}

/// What stands in the way is told first; the last line is the answer.
fn text(told: &Told) -> String {
    let Told { allowed, catalog, version, environment, live, gates } = told;
    let mut out = String::new();
    for gate in gates.iter().filter(|gate| gate.blocks()) {
        _ = writeln!(out, "{}: {}", gate.code, safe::line(&gate.message, 300));
        if !gate.help.is_empty() {
            _ = writeln!(out, "  help: {}", safe::line(&gate.help, 300));
        }
    }
    let blocking: Vec<&str> = gates.iter().filter(|g| g.blocks()).map(|g| g.code.as_str()).collect();
    let target = format!("{catalog}@{version}");
    _ = match (allowed, live) {
        (true, true) => writeln!(out, "yes: {target} is live in {environment} already"),
        (true, false) => writeln!(out, "yes: {target} may go to {environment}"),
        (false, _) => writeln!(out, "no: {target} may not go to {environment}: {}", blocking.join(", ")),
    };
    out
}

/// What the state of things forbids is an answer, not a failure.
const NO: [&str; 1] = ["held"];

/// Nothing to do.
const LIVE: &str = "already-live";

/// The generation that a promotion would be made from. What the promotion itself would take for a new environment is more
/// likely a slip of the hand here.
fn generation<'a>(
    args: &Args,
    live: impl Iterator<Item = (&'a EnvironmentName, i64)>,
    named: impl Iterator<Item = &'a EnvironmentName>,
) -> Result<i64, AppError> {
    let mut known: Vec<&EnvironmentName> = Vec::new();
    for (environment, generation) in live {
        if *environment == args.environment {
            return Ok(generation);
        }
        known.push(environment);
    }
    known.extend(named);
    known.sort_unstable();
    known.dedup();
    if known.contains(&&args.environment) {
        return Ok(0);
    }
    let (environment, catalog) = (&args.environment, &args.target.catalog);
    let hint = did_you_mean(environment.as_str(), known.iter().map(|name| name.as_str()));
    let message = format!(
        "catalog `{catalog}` was never live in environment `{environment}`, nor do its settings name it{hint}"
    );
    let names: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
    let help = if names.is_empty() {
        "name it in the catalog's settings".to_owned()
    } else {
        format!("known: {}", names.join(", "))
    };
    Err(AppError::new(Kind::NotFound, "unknown-environment", message).help(help))
}

/// By the database. Nothing where it is live there.
async fn judged(args: &Args, app: &App) -> Result<Option<Vec<Gate>>, AppError> {
    let Target { catalog, version } = &args.target;
    let page = app.catalog(catalog).await?;
    let live = page.pointers.iter().map(|p| (&p.environment, p.generation));
    let generation = generation(args, live, page.catalog.environments.keys())?;
    let request = MoveRequest {
        environment: args.environment.clone(),
        catalog: Some(catalog.clone()),
        version: *version,
        generation,
        reason: String::new(),
        actor: "can-i-promote".to_owned(),
        idempotency_key: None,
        overrides: Overrides::default(),
    };
    match app.preflight(MoveKind::Promote, &request).await {
        Ok(preflight) => Ok(Some(preflight.gates.into_iter().map(Gate::from).collect())),
        Err(e) if e.code == LIVE => Ok(None),
        Err(e) if NO.contains(&e.code) => Ok(Some(vec![Gate::refused(e.code, e.message, e.help)])),
        Err(e) => Err(e),
    }
}

/// By the service. Nothing where it is live there.
async fn asked(args: &Args, url: &str) -> Result<Option<Vec<Gate>>, AppError> {
    #[derive(Deserialize)]
    struct Catalog {
        environments: Vec<Named>,
        live: Vec<Pointer>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: EnvironmentName,
    }
    #[derive(Deserialize)]
    struct Pointer {
        environment: EnvironmentName,
        generation: i64,
    }
    #[derive(Deserialize)]
    struct Preflight {
        gates: Vec<Gate>,
        passes: bool,
    }
    let Target { catalog, version } = &args.target;
    let service = service::open(url)?;
    let page = service.get::<Catalog>(&format!("/api/v1/catalogs/{catalog}")).await;
    let page = page.map_err(service::failed)?.body;
    let live = page.live.iter().map(|p| (&p.environment, p.generation));
    let generation = generation(args, live, page.environments.iter().map(|e| &e.name))?;
    let at = format!("/api/v1/environments/{}", args.environment);
    let body: Value = json!({ "kind": "promote", "catalog": catalog, "version": version });
    let seen = format!("\"{generation}\"");
    match service.post::<Preflight>(&format!("{at}/preflight"), body.to_string(), Some(&seen)).await {
        Ok(answer) => {
            let Preflight { mut gates, passes } = answer.body;
            if !passes && !gates.iter().any(Gate::blocks) {
                let message = "the service says no, and names nothing that stands in the way".to_owned();
                gates.push(Gate::refused(
                    "unknown-refusal",
                    message,
                    "a newer toolpact may know more".to_owned(),
                ));
            }
            Ok(Some(gates))
        }
        Err(RemoteError::Refused { code, .. }) if code == LIVE => Ok(None),
        Err(RemoteError::Refused { code, detail, help, .. }) if NO.contains(&code.as_str()) => {
            Ok(Some(vec![Gate::refused(&code, detail, help)]))
        }
        // Somebody moved it between the two questions.
        Err(RemoteError::Refused { code, detail, .. }) if code == "stale-generation" => {
            Err(AppError::new(Kind::Unavailable, "stale-generation", detail).help("ask again"))
        }
        Err(e) => Err(service::failed(e)),
    }
}
