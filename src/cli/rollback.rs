//! `rollback`: points an environment back at a version that was live there, and holds the one that was left.

use super::{
    Answer,
    context::{Access, Context},
    pointer::{self, MoveArgs},
    render::{safe, text},
};
use crate::{
    app::{AppError, Overrides},
    catalog::{CatalogVersion, MoveKind},
    diff::Level,
};

/// Point an environment back at a version that was live there; the version that was left is held.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    to: MoveArgs,
    /// The version to go back to; never guessed.
    version: CatalogVersion,
    /// Go on whatever freezes and the environment's policy say; the reason has to tell why.
    #[arg(long)]
    emergency: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let overrides = Overrides { record_probe: false, emergency: args.emergency };
    context.with_app(Access::Read, async |app| {
        let (request, note) = args.to.request(app, args.version, actor, overrides).await?;
        // What is lost is said before it is; a retry asks for nothing that still makes sense.
        let preflight = app.preflight(MoveKind::Rollback, &request).await;
        if args.to.dry_run {
            return Ok(pointer::rehearsed(&preflight?));
        }
        let made =
            app.rollback(&request).await.map_err(|e| pointer::refused(e, MoveKind::Rollback, &request))?;
        let mut out = pointer::moved(&made, &note);
        if let Some(left) = made.from {
            let environment = &made.environment;
            out.push_str(&format!(
                "{left} is held in {environment}; `toolpact release {environment} --version {left} --reason …` lets it be promoted again\n"
            ));
        }
        if let Ok(preflight) = preflight {
            for pin in &preflight.servers {
                let release = safe::line(&pin.release(), 200);
                out.push_str(&format!("belongs to it: server {} as {release}\n", pin.server));
            }
            if let Some(lost) = preflight.report.filter(|r| r.verdict >= Level::Risky) {
                out.push_str("what is lost by going back:\n\n");
                out.push_str(&text::report(&lost, text::Style::of_stdout()));
            }
        }
        Ok(out.into())
    })
}
