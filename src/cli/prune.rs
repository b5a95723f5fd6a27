//! `prune`: forgets listings and checks that no rule keeps, with the snapshots and texts that nothing else holds.

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json},
};
use crate::app::{AppError, retention::KeepRules, view::Pruned};

/// Forget old listings and checks, with snapshots and texts that nothing else holds.
///
/// Never what was live: versions, drafts and the snapshots that they pin stay, as do the newest listings of each server and
/// context, and everything that was decided, approved, moved or noted. Of checks of builds the newest of each catalog, environment
/// and repository stays, and the newest that holds a change on which something was decided.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Keep so many listings of each server and context, the newest.
    #[arg(long, default_value_t = 100, value_name = "N")]
    keep_listings: usize,
    /// Keep listings that are not older, as well; and checks that are not.
    #[arg(long, default_value_t = 90, value_name = "DAYS")]
    keep_days: u32,
    /// Say what would go, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let rules = KeepRules { listings: args.keep_listings, days: args.keep_days };
    let actor = context.actor()?;
    let pruned = context.with_app(Access::Read, async |app| {
        if args.dry_run { app.prunable(&rules).await } else { app.prune(&rules, &actor).await }
    })?;
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&pruned)?,
        Format::Text => {
            let verb = if args.dry_run { "would delete" } else { "deleted" };
            format!("{verb} {}; never what was live\n", told(&pruned))
        }
    }))
}

fn told(pruned: &Pruned) -> String {
    let one = |n: u64, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let mut parts = vec![one(pruned.snapshots, "snapshot"), one(pruned.listings, "listing")];
    if pruned.surfaces > 0 {
        parts.push(one(pruned.surfaces, "surface"));
    }
    parts.push(one(pruned.texts, "text"));
    if pruned.checks > 0 {
        parts.push(one(pruned.checks, "check"));
    }
    parts.join(", ")
}
