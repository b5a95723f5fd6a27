//! What `promote`, `rollback` and `release` share: which pointer, at which generation, and why.

use std::fmt::Write;

use super::{
    Answer, exit,
    render::{safe, text},
};
use crate::{
    app::{
        App, AppError, Kind, MoveRequest, Overrides,
        view::{GateCheck, Preflight},
    },
    catalog::{CatalogVersion, Move, MoveKind, ProbeAnswer, suggest::did_you_mean},
    diff::{Level, Report},
    name::{CatalogName, EnvironmentName},
};

/// Which pointer, seen at which generation, and why it moves.
#[derive(clap::Args)]
#[group(id = "pointer")]
pub(super) struct Args {
    /// The environment.
    pub(super) environment: EnvironmentName,
    /// The catalog; may be left out where there is only one.
    #[arg(long, value_name = "NAME")]
    pub(super) catalog: Option<CatalogName>,
    /// The generation you saw; refused as stale where it is another. Default: the one read just before.
    #[arg(long, value_name = "N")]
    pub(super) generation: Option<i64>,
    /// Why; stands in the history.
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: String,
}

/// A move: a pointer and its target.
#[derive(clap::Args)]
#[group(id = "move")]
pub(super) struct MoveArgs {
    #[command(flatten)]
    pub(super) pointer: Args,
    /// Makes a retry safe: the same key and request give the first answer again, also where no generation is given.
    #[arg(long, value_name = "KEY")]
    pub(super) idempotency_key: Option<String>,
    /// Say what stands in the way, what changes and which server releases belong to it; move nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl Args {
    /// The catalog and generation to ask for, and what to tell the user of them.
    pub(super) async fn resolved(&self, app: &App) -> Result<Resolved, AppError> {
        let catalog = match &self.catalog {
            Some(name) => Some(name.clone()),
            None => {
                let mut all = app.catalogs().await?;
                if all.len() == 1 { all.pop().map(|c| c.catalog.name) } else { None }
            }
        };
        if let Some(generation) = self.generation {
            return Ok(Resolved { catalog, generation, note: format!("generation {generation}, as given") });
        }
        let pages = match app.environment(&self.environment).await {
            Ok(pages) => pages,
            Err(e) if e.kind == Kind::NotFound => Vec::new(),
            Err(e) => return Err(e),
        };
        let page = pages.iter().find(|p| catalog.as_ref().is_none_or(|c| p.pointer.catalog == *c));
        let (generation, note) = match page {
            Some(page) => {
                let p = &page.pointer;
                let at = p.moved_at.format("%Y-%m-%dT%H:%M:%SZ");
                let note =
                    format!("generation {}, made by {} at {at}", p.generation, safe::word(&p.moved_by));
                (p.generation, note)
            }
            None => {
                // A first promotion makes the environment, so a mistyped name is told only here.
                let known = app.pointers().await?;
                let others = known.iter().map(|p| p.environment.as_str());
                let hint = did_you_mean(
                    self.environment.as_str(),
                    others.filter(|n| *n != self.environment.as_str()),
                );
                (0, format!("generation 0, nothing was live before{hint}"))
            }
        };
        Ok(Resolved { catalog, generation, note })
    }
}

/// What a pointer's arguments come to.
pub(super) struct Resolved {
    pub(super) catalog: Option<CatalogName>,
    pub(super) generation: i64,
    /// Which generation was used, for the user.
    pub(super) note: String,
}

impl MoveArgs {
    /// What the first try under the same key was asked for, as far as this one leaves it open: the pointer has moved since,
    /// so to read it again would make another request of the same words. Whether they are the same is not told here.
    async fn retried(&self, app: &App) -> Result<Option<Resolved>, AppError> {
        let Some(key) = self.idempotency_key.as_deref() else { return Ok(None) };
        if self.dry_run || self.pointer.generation.is_some() {
            return Ok(None);
        }
        Ok(app.answered_move(key).await?.map(|made| {
            let generation = made.generation - 1;
            let note = format!("generation {generation}; made before, under the same key");
            let catalog = self.pointer.catalog.clone().or(Some(made.catalog));
            Resolved { catalog, generation, note }
        }))
    }

    /// The request for a move to `version`, and the note on its generation.
    pub(super) async fn request(
        &self,
        app: &App,
        version: CatalogVersion,
        actor: String,
        overrides: Overrides,
    ) -> Result<(MoveRequest, String), AppError> {
        let Resolved { catalog, generation, note } = match self.retried(app).await? {
            Some(before) => before,
            None => self.pointer.resolved(app).await?,
        };
        let request = MoveRequest {
            environment: self.pointer.environment.clone(),
            catalog,
            version,
            generation,
            reason: self.pointer.reason.clone(),
            actor,
            idempotency_key: self.idempotency_key.clone(),
            overrides,
        };
        Ok((request, note))
    }
}

/// A refusal with the next step in the words of this face, which has commands and flags for it.
pub(super) fn refused(error: AppError, kind: MoveKind, request: &MoveRequest) -> AppError {
    let MoveRequest { environment, catalog, version, .. } = request;
    let only = catalog.as_ref().map(|name| format!(" --catalog {name}")).unwrap_or_default();
    let next = match (error.code, kind) {
        ("held", _) => format!(
            "if what was wrong is mended, release it: `toolpact release {environment}{only} --version {version} --reason …`"
        ),
        ("not-served", _) => format!("{}: `--record-probe`", error.help),
        ("frozen", MoveKind::Rollback) => {
            "wait until it is unfrozen, or go back at once: `--emergency`".to_owned()
        }
        ("policy-blocks", MoveKind::Promote) => {
            let catalog = catalog.as_ref().map_or("CATALOG", |name| name.as_str());
            format!(
                "see the changes with `--dry-run`, then decide on each: `toolpact decide {catalog} accept CHANGE --environment \
                 {environment} --reason …`"
            )
        }
        ("policy-blocks", MoveKind::Rollback) => {
            "see what would be lost with `--dry-run`; `--emergency` goes back all the same".to_owned()
        }
        _ => return error,
    };
    error.help(next)
}

/// What a move would be judged on, and whether it would be made.
pub(super) fn rehearsed(preflight: &Preflight) -> Answer {
    let from = preflight.from.map_or_else(|| "nothing".to_owned(), |v| v.to_string());
    let mut out = format!(
        "{}: {} would go from {from} to {} (nothing was moved)\n\n",
        preflight.environment, preflight.catalog, preflight.to
    );
    for gate in &preflight.gates {
        let word = match (gate.passed, gate.overridden) {
            (true, _) => "passed",
            (false, true) => "overridden",
            (false, false) => "BLOCKED",
        };
        _ = writeln!(out, "  {word:<10} {:<18} {}", gate.code, safe::line(&gate.message, 300));
        if gate.blocks() && !gate.help.is_empty() {
            _ = writeln!(out, "  {:<10} {:<18} help: {}", "", "", safe::line(&gate.help, 300));
        }
    }
    // Of whom nobody was asked, the gate tells.
    for probed in preflight.grounds.probed.iter().filter(|p| p.answer != ProbeAnswer::Unregistered) {
        _ = writeln!(out, "  {:<10} {}", "", safe::line(&probed.told(), 300));
    }
    for pin in &preflight.servers {
        _ = writeln!(out, "  release    {:<18} {}", pin.server.to_string(), safe::line(&pin.release(), 200));
    }
    if let Some(report) = &preflight.report {
        out.push_str(match preflight.kind {
            MoveKind::Promote => "\nwhat changes for whoever uses it:\n\n",
            MoveKind::Rollback => "\nwhat is lost by going back:\n\n",
        });
        out.push_str(&text::report(report, text::Style::of_stdout()));
        out.push_str(&fingerprints(report));
    }
    let blocked = preflight.gates.iter().any(GateCheck::blocks);
    Answer { text: out, exit: if blocked { exit::BLOCKED } else { exit::PASSED } }
}

/// The changes of a report by fingerprint, which decisions name.
pub(super) fn fingerprints(report: &Report) -> String {
    let mut out = String::new();
    for (tool, finding) in report.findings().filter(|(_, f)| f.level != Level::Compatible) {
        let change = format!("{} `{}` {}", finding.level, tool.tool, finding.rule);
        _ = writeln!(out, "  change {}  {}", finding.fingerprint.short(), safe::line(&change, 200));
    }
    out
}

/// A move that was made.
pub(super) fn moved(made: &Move, note: &str) -> String {
    let from = made.from.map_or_else(|| "nothing".to_owned(), |v| v.to_string());
    let done = match made.kind {
        MoveKind::Promote => "promoted",
        MoveKind::Rollback => "rolled back",
    };
    let mut out = format!(
        "{}: {} {done} from {from} to {}, generation {} (was {note})\n",
        made.environment, made.catalog, made.to, made.generation
    );
    for probed in made.grounds.probed.iter().filter(|p| p.answer != ProbeAnswer::Unregistered) {
        _ = writeln!(out, "{}", safe::line(&probed.told(), 300));
    }
    for change in &made.grounds.announced {
        _ = writeln!(out, "passed: {}", safe::line(&change.told(), 300));
    }
    if !made.grounds.overridden.is_empty() {
        _ = writeln!(out, "overridden: {}", made.grounds.overridden.join(", "));
    }
    out
}
