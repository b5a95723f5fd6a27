//! `snapshot --all`: asks every registered server, many at once.

use std::fmt::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    Answer,
    context::{Access, Context},
    exit,
    render::{Format, json, safe},
};
use crate::{
    app::{
        AppError, Kind,
        servers::{Sweep, Swept},
        view::Drift,
    },
    snapshot::Outcome,
};

pub(super) fn run(jobs: usize, format: Format, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let sweep = context.with_app(Access::Registered, async |app| {
        let servers = app.registered().await?;
        if servers.is_empty() {
            return Err(AppError::new(Kind::NotFound, "no-servers", "no server is registered")
                .help("register those of a host with `toolpact import FILE`"));
        }
        let bar = bar(servers.len());
        let mut failed = 0;
        let sweep = app
            .sweep(servers, jobs, &actor, |swept| {
                failed += u32::from(swept.outcome != Outcome::Ok);
                bar.set_message(if failed > 0 { format!("{failed} failed") } else { String::new() });
                bar.inc(1);
            })
            .await;
        bar.finish_and_clear();
        sweep
    })?;
    Ok(Answer {
        text: match format {
            Format::Json => json::document(&sweep)?,
            Format::Text => written(&sweep),
        },
        exit: if sweep.is_whole() { exit::PASSED } else { exit::COULD_NOT_RUN },
    })
}

/// A bar on stderr, where that is a terminal.
fn bar(servers: usize) -> ProgressBar {
    let length = u64::try_from(servers).unwrap_or(u64::MAX);
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{wide_bar} {pos}/{len} servers, {elapsed} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn written(sweep: &Sweep) -> String {
    let mut out = String::new();
    for swept in &sweep.servers {
        let (server, outcome) = (swept.server.as_str(), swept.outcome.as_str());
        _ = writeln!(out, "{server:<20} {outcome:<14} {}", told(swept));
        super::snapshot::alarms(&mut out, &swept.split_views);
    }
    for draft in &sweep.drafts {
        _ = writeln!(
            out,
            "draft d-{0} of catalog {1}: {2}; `toolpact show {1} d-{0}`",
            draft.id, draft.catalog, draft.report.verdict
        );
    }
    for (catalog, why) in &sweep.skipped {
        _ = writeln!(out, "no draft of catalog {catalog}: {}", safe::word(why));
    }
    let good = sweep.servers.iter().filter(|s| s.outcome == Outcome::Ok);
    let drifted = sweep.servers.iter().filter(|s| matches!(s.drift, Drift::Drift(_))).count();
    _ = writeln!(out, "{} of {} servers listed, {drifted} drifted", good.count(), sweep.servers.len());
    out
}

fn told(swept: &Swept) -> String {
    let Some(digest) = &swept.digest else { return safe::line(&swept.message, 300) };
    let tools = swept.tools.unwrap_or_default();
    format!("{tools} tools, {}, {}, {} ms", digest.short(), swept.drift.told(), swept.elapsed_ms)
}
