//! `show`: one draft, what it would hold and what changed.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context},
    decide,
    diff::Assume,
    render::{Format, json, safe, text},
};
use crate::{
    app::{AppError, view::ReviewPage},
    catalog::{DraftStatus, draft},
    name::CatalogName,
};

/// Show one draft: what changed since the version before it, judged.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The catalog.
    catalog: CatalogName,
    /// The draft, for example d-31.
    #[arg(value_parser = draft::number)]
    draft: i64,
    /// Judge again under this assumption, for reading only.
    #[arg(long, value_enum)]
    assume: Option<Assume>,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let review = context.with_app(Access::Read, async |app| {
        let mut review = app.review(&args.catalog, args.draft).await?;
        if let Some(assume) = args.assume {
            let report = app.report_under(&review.draft, assume.into()).await?;
            review.draft.report = std::sync::Arc::unwrap_or_clone(report);
        }
        Ok(review)
    })?;
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&review.draft)?,
        Format::Text => written(&review),
    }))
}

/// What was decided, approved and said of it, and what waits behind it.
fn reviewed(out: &mut String, review: &ReviewPage) {
    for standing in &review.standing {
        let finding = review
            .draft
            .reports()
            .flat_map(crate::diff::Report::findings)
            .find(|(_, f)| f.fingerprint == standing.fingerprint);
        let notice = standing.announced.as_ref().map(|n| format!(" ({})", n.told())).unwrap_or_default();
        match (&standing.decision, standing.blocks, finding) {
            (Some(decision), blocks, _) => {
                if let Some(blocks) = blocks {
                    _ = write!(out, "{blocks}: ");
                }
                out.push_str(&decide::line(decision));
            }
            (None, Some(blocks), Some((tool, finding))) => {
                let change = safe::line(&crate::catalog::review::told(tool, finding), 200);
                _ = writeln!(out, "{}  {blocks}: {change}{notice}", standing.fingerprint.short());
            }
            (None, None, Some((tool, finding))) if !notice.is_empty() => {
                let change = safe::line(&crate::catalog::review::told(tool, finding), 200);
                _ = writeln!(out, "{}  passes: {change}{notice}", standing.fingerprint.short());
            }
            (None, _, _) => {}
        }
    }
    for approval in &review.approvals {
        let (actor, reason) = (safe::word(&approval.actor), safe::line(&approval.reason, 200));
        _ = writeln!(out, "approved by {actor}: {reason}");
    }
    if review.needed > 0 {
        _ = writeln!(out, "it needs {} approvals by others than its authors", review.needed);
    }
    for comment in &review.comments {
        let on = comment.fingerprint.as_ref().map(|f| format!(" on {}", f.short())).unwrap_or_default();
        _ = writeln!(out, "{}{on}: {}", safe::word(&comment.actor), safe::line(&comment.text, 500));
    }
    for (server, digest) in &review.queue {
        _ = writeln!(out, "waits behind it: {server}@{}", digest.short());
    }
}

fn written(review: &ReviewPage) -> String {
    let draft = &review.draft;
    let mut out = format!("draft d-{} of {}: {}", draft.id, draft.catalog, draft.status.as_str());
    if let Some(version) = draft.version {
        _ = write!(out, " as {version}");
    }
    if let Some(by) = &draft.decided_by {
        _ = write!(out, " by {}: {}", safe::word(by), safe::word(&draft.reason));
    }
    _ = write!(out, "\nit holds {}\n\n", draft.digest);
    for member in &draft.content.members {
        let server = member.server.as_ref().map_or("", |s| s.as_str());
        _ = writeln!(
            out,
            "  {server:<16} {:<32} {:<10} {}",
            safe::word(&member.tool),
            member.contract_version.to_string(),
            member.compatibility.as_str()
        );
    }
    out.push('\n');
    out.push_str(&text::report(&draft.report, text::Style::of_stdout()));
    for earlier in &draft.earlier {
        _ = writeln!(out, "against {}, which somebody may still rely on:\n", safe::word(&earlier.baseline));
        out.push_str(&text::report(earlier, text::Style::of_stdout()));
    }
    reviewed(&mut out, review);
    if draft.status == DraftStatus::Pending {
        let (catalog, id) = (&draft.catalog, draft.id);
        if review.standing.iter().any(|s| s.blocks.is_some_and(|cause| cause != "absolute")) {
            _ = writeln!(
                out,
                "first, of each change that stands in the way: `toolpact decide {catalog} accept CHANGE --reason …`"
            );
        }
        _ = writeln!(out, "decide: `toolpact approve {catalog} d-{id} --reason …`, or `toolpact reject …`");
    }
    out
}
