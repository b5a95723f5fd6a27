//! `edit`: changes what a pending draft would hold.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{
    Answer,
    context::{Access, Context},
    render::safe,
    side,
};
use crate::{
    app::{AppError, Kind},
    catalog::{Draft, draft},
    name::CatalogName,
};

/// Edit a pending draft: take tools out, or apply a JSON Patch (RFC 6902) to its content. It is judged anew.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The catalog.
    catalog: CatalogName,
    /// The draft, for example d-31.
    #[arg(value_parser = draft::number)]
    draft: i64,
    /// Take this tool out: TOOL, or SERVER/TOOL where several servers have one of that name.
    #[arg(long, value_name = "TOOL", required_unless_present = "patch", conflicts_with = "patch")]
    without: Vec<String>,
    /// The file of the patch; `-` for stdin. It is a patch of what `show --format json` has under `content`.
    #[arg(long, value_name = "FILE")]
    patch: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let patch = match &args.patch {
        None => None,
        Some(file) => {
            let text = side::text(file)?;
            Some(serde_json::from_str::<Value>(&text).map_err(|e| {
                AppError::new(Kind::Invalid, "bad-patch", format!("{file} holds no JSON: {e}"))
            })?)
        }
    };
    let edited = context.with_app(Access::Read, async |app| {
        let draft = app.get_draft(&args.catalog, args.draft).await?;
        let patch = match patch {
            Some(patch) => patch,
            None => without(&draft, &args.without)?,
        };
        app.edit(&args.catalog, args.draft, Some(&draft.digest), &patch, &actor).await
    })?;
    let mut out = format!(
        "d-{} holds {} tools now; {}, requires a {} bump\n",
        edited.id,
        edited.content.members.len(),
        edited.report.verdict,
        edited.report.required_bump
    );
    _ = writeln!(out, "read it with `toolpact show {} d-{}`", edited.catalog, edited.id);
    Ok(out.into())
}

/// The patch that takes these tools out, the last first, so that the places of the others stay.
fn without(draft: &Draft, tools: &[String]) -> Result<Value, AppError> {
    let mut places = Vec::new();
    for text in tools {
        let named: Vec<usize> = draft
            .content
            .members
            .iter()
            .enumerate()
            .filter(|(_, m)| {
                let of_server = m.server.as_ref().is_some_and(|s| *text == format!("{s}/{}", m.tool));
                m.tool == *text || of_server
            })
            .map(|(place, _)| place)
            .collect();
        match named.as_slice() {
            [only] => places.push(*only),
            [] => {
                let message = format!("draft `d-{}` holds no tool `{}`", draft.id, safe::word(text));
                return Err(AppError::new(Kind::NotFound, "unknown-tool", message));
            }
            several => {
                let message = format!("{} servers have a tool `{}`", several.len(), safe::word(text));
                return Err(AppError::new(Kind::Invalid, "ambiguous-tool", message).help("write SERVER/TOOL"));
            }
        }
    }
    places.sort_unstable_by(|a, b| b.cmp(a));
    places.dedup();
    Ok(places.iter().map(|place| json!({ "op": "remove", "path": format!("/members/{place}") })).collect())
}
