//! `decide`: accepts, waives or rejects single changes, for as long as they are the same changes.

use chrono::{DateTime, NaiveDate, Utc};

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
};
use crate::{
    app::{
        AppError, Kind,
        review::{Changes, DecideRequest},
    },
    catalog::{
        draft,
        review::{Decision, Ruling},
    },
    name::{CatalogName, EnvironmentName},
};

/// Decide on single changes: accept them (for good, or until a day: a waiver), reject them, or withdraw what was decided.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The catalog.
    catalog: CatalogName,
    /// What is decided.
    #[arg(value_enum)]
    ruling: Word,
    /// The changes: fingerprints, or their first digits, as `show` and `promote --dry-run` print them.
    #[arg(value_name = "CHANGE", required_unless_present = "rule")]
    changes: Vec<String>,
    /// All changes that this rule found in a draft.
    #[arg(long, value_name = "RULE", requires = "draft", conflicts_with = "changes")]
    rule: Option<String>,
    /// The draft that the rule is looked up in, for example d-31.
    #[arg(long, value_name = "DRAFT", value_parser = draft::number, requires = "rule")]
    draft: Option<i64>,
    /// Only for moves to this environment.
    #[arg(long, value_name = "NAME")]
    environment: Option<EnvironmentName>,
    /// Accept it until then: a day such as 2027-01-31, whose end is meant, or a time (RFC 3339).
    #[arg(long, value_name = "WHEN", value_parser = until)]
    until: Option<DateTime<Utc>>,
    /// Who answers for a waiver. Default: who decides.
    #[arg(long, value_name = "NAME", requires = "until")]
    owner: Option<String>,
    /// Why; stands beside the decision.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Word {
    /// The changes may come.
    Accept,
    /// They must not.
    Reject,
    /// What was decided of them counts no more.
    Withdraw,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let changes = match (&args.rule, args.draft) {
        (Some(rule), Some(draft)) => Changes::Rule { draft, rule: rule.clone() },
        _ => Changes::Fingerprints(args.changes.clone()),
    };
    let request = DecideRequest {
        catalog: args.catalog.clone(),
        changes,
        ruling: match args.ruling {
            Word::Accept => Ruling::Accept,
            Word::Reject => Ruling::Reject,
            Word::Withdraw => Ruling::Withdraw,
        },
        environment: args.environment.clone(),
        reason: args.reason.clone(),
        owner: args.owner.clone(),
        expires: args.until,
        actor: context.actor()?,
    };
    let made = context.with_app(Access::Read, async |app| app.decide(&request).await)?;
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&made)?,
        Format::Text => made.iter().map(line).collect(),
    }))
}

/// A decision in one line.
pub(super) fn line(decision: &Decision) -> String {
    let ruling = match (decision.ruling, decision.expires) {
        (Ruling::Accept, Some(end)) => format!("waived until {}", end.format("%Y-%m-%d %H:%MZ")),
        (Ruling::Accept, None) => "accepted".to_owned(),
        (Ruling::Reject, _) => "rejected".to_owned(),
        (Ruling::Withdraw, _) => "withdrawn".to_owned(),
    };
    let place = decision.environment.as_ref().map(|e| format!(" for {e}")).unwrap_or_default();
    format!(
        "{}  {ruling}{place} by {}: {}\n              {}\n",
        decision.fingerprint.short(),
        safe::word(&decision.actor),
        safe::line(&decision.reason, 200),
        safe::line(&decision.change, 200)
    )
}

fn until(text: &str) -> Result<DateTime<Utc>, String> {
    if let Ok(time) = text.parse::<DateTime<Utc>>() {
        return Ok(time);
    }
    let day: NaiveDate =
        text.parse().map_err(|_| "expected a day such as 2027-01-31, or a time (RFC 3339)")?;
    let end = day.succ_opt().and_then(|next| next.and_hms_opt(0, 0, 0)).ok_or("that day is too far away")?;
    Ok(end.and_utc())
}

/// Show what was decided on changes of a catalog, the newest first.
#[derive(clap::Args)]
pub(super) struct ListArgs {
    /// The catalog.
    catalog: CatalogName,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn list(args: &ListArgs, context: &Context) -> Result<Answer, AppError> {
    let all = context.with_app(Access::Read, async |app| app.decisions(&args.catalog).await)?;
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&all)?,
        Format::Text if all.is_empty() => format!("{}: nothing was decided yet\n", args.catalog),
        Format::Text => all.iter().map(line).collect(),
    }))
}

/// Say something of a draft, or of one change in it.
#[derive(clap::Args)]
pub(super) struct CommentArgs {
    /// The catalog.
    catalog: CatalogName,
    /// The draft, for example d-31.
    #[arg(value_parser = draft::number)]
    draft: i64,
    /// What is said.
    text: String,
    /// The change that it is about: its whole fingerprint.
    #[arg(long, value_name = "CHANGE")]
    change: Option<String>,
}

pub(super) fn comment(args: &CommentArgs, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let said = context.with_app(Access::Read, async |app| {
        let change = match &args.change {
            None => None,
            Some(text) => Some(one_change(&app.get_draft(&args.catalog, args.draft).await?, text)?),
        };
        app.comment(&args.catalog, args.draft, change.as_ref(), &args.text, &actor).await
    })?;
    Ok(Answer::from(format!("d-{}: comment {} is kept\n", said.draft, said.id)))
}

/// The change of a draft that these digits begin.
fn one_change(draft: &crate::catalog::Draft, text: &str) -> Result<crate::json::Digest, AppError> {
    let hex = text.strip_prefix("sha256:").unwrap_or(text);
    let mut found: Vec<&crate::json::Digest> = draft
        .reports()
        .flat_map(crate::diff::Report::findings)
        .map(|(_, f)| &f.fingerprint)
        .filter(|f| f.hex().starts_with(hex))
        .collect();
    found.sort();
    found.dedup();
    match found.as_slice() {
        [only] => Ok((*only).clone()),
        found => {
            let message = format!("`{text}` names {} changes of draft `d-{}`", found.len(), draft.id);
            Err(AppError::new(Kind::Invalid, "unknown-change", message)
                .help(format!("see `toolpact show {} d-{}`", draft.catalog, draft.id)))
        }
    }
}
