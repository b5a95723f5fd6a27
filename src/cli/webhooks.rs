//! `webhooks`: who is told what happens, what was sent to them, and sending it again. A running `toolpact serve` sends.

use std::fmt::Write;

use chrono::TimeDelta;
use clap::Subcommand;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
    servers::time,
};
use crate::{
    app::{
        AppError,
        lists::Slice,
        webhooks::{NewWebhook, WebhookChange, WithSecret, shown_url},
    },
    catalog::{
        server::Symbolic,
        webhook::{Delivery, DeliveryStatus, EventKind, Filter, Shape, State, Webhook},
    },
    diff::Verdict,
    name::{CatalogName, EnvironmentName, WebhookName},
};

/// Show the webhooks, who are told what happens; or make, change, try or remove one. A running `toolpact serve` sends.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Make a webhook: what happens from now on is sent to a URL, signed (Standard Webhooks). What was not taken is sent
    /// again after 10 seconds, then after twice that and so on up to 20 minutes, for three days.
    Add {
        /// What the webhook is called here.
        name: WebhookName,
        /// Where messages are sent. May refer to files and variables: `'https://hooks.example.com/${file:/run/secrets/hook}'`.
        url: String,
        #[command(flatten)]
        filter: FilterArgs,
        /// The form of messages.
        #[arg(long, default_value = "cloudevents", value_name = "cloudevents|slack", value_parser = word::<Shape>)]
        shape: Shape,
        /// A file or variable that holds the secret, `'${file:/run/secrets/hook}'`: it is not kept in the database then. One
        /// is made and shown once where nothing is said.
        #[arg(long, value_name = "REFERENCE")]
        secret_from: Option<String>,
    },
    /// Change a webhook; what is not named stays. A filter that is named takes the place of the whole filter.
    Change {
        /// The webhook.
        name: WebhookName,
        /// Where messages are sent.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        #[command(flatten)]
        filter: FilterArgs,
        /// The form of messages.
        #[arg(long, value_name = "cloudevents|slack", value_parser = word::<Shape>)]
        shape: Option<Shape>,
        /// Send again. What happened while it was disabled is not told.
        #[arg(long, conflicts_with = "disable")]
        enable: bool,
        /// Send nothing.
        #[arg(long)]
        disable: bool,
    },
    /// Forget a webhook, with what was sent to it and what waits.
    Remove {
        /// The webhook.
        name: WebhookName,
    },
    /// Show what was sent to a webhook and what waits, the newest first.
    Deliveries {
        /// The webhook.
        name: WebhookName,
        /// Only those that stand so.
        #[arg(long, value_name = "waiting|delivered|failed", value_parser = word::<DeliveryStatus>)]
        status: Option<DeliveryStatus>,
        /// How many.
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
        /// How the answer is written.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Send a message once more, under the id that it had.
    Resend {
        /// The webhook.
        name: WebhookName,
        /// The delivery's number.
        delivery: i64,
    },
    /// Give a webhook a new secret. Until the overlap ends, messages are signed with the old one as well.
    Rotate {
        /// The webhook.
        name: WebhookName,
        /// How long the old secret counts.
        #[arg(long, default_value_t = 24, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(..=720))]
        overlap: u32,
        /// A file or variable that holds the new secret.
        #[arg(long, value_name = "REFERENCE")]
        secret_from: Option<String>,
    },
    /// Send a test message to a webhook, whatever its filter.
    Ping {
        /// The webhook.
        name: WebhookName,
    },
}

/// What a webhook is told; all that is named has to fit.
#[derive(clap::Args)]
struct FilterArgs {
    /// A kind of event (`draft.created`) or a family of them (`draft.`); repeat for more. All but `digest.weekly` and
    /// `webhook.` where there is none.
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<EventKind>,
    /// A verdict on what changes; repeat for more. What has none is not told then.
    #[arg(long = "severity", value_name = "compatible|risky|undecided|breaking", value_parser = word::<Verdict>)]
    severities: Vec<Verdict>,
    /// An environment; repeat for more. What happens in none is not told then.
    #[arg(long = "environment", value_name = "NAME")]
    environments: Vec<EnvironmentName>,
    /// A catalog; repeat for more. What concerns none is not told then.
    #[arg(long = "catalog", value_name = "NAME")]
    catalogs: Vec<CatalogName>,
}

impl FilterArgs {
    fn filter(&self) -> Filter {
        let Self { kinds, severities, environments, catalogs } = self;
        Filter {
            kinds: kinds.clone(),
            severities: severities.clone(),
            environments: environments.clone(),
            catalogs: catalogs.clone(),
        }
    }
}

/// Reads a word by the name that its type has for it everywhere.
fn word<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    T::deserialize(Value::from(text)).map_err(|e| e.to_string())
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    match &args.command {
        None => list(args.format, context),
        Some(Command::Deliveries { name, status, limit, format }) => {
            let slice = Slice { after: None, limit: *limit };
            let page = context
                .with_app(Access::Read, async |app| app.deliveries_page(name, *status, &slice).await)?;
            Ok(Answer::from(match format {
                Format::Json => json::document(&page.items)?,
                Format::Text => written(&page.items),
            }))
        }
        Some(command) => change(command, context),
    }
}

fn list(format: Format, context: &Context) -> Result<Answer, AppError> {
    let slice = Slice { after: None, limit: 1_000 };
    let webhooks = context.with_app(Access::Read, async |app| app.webhooks_page(&slice).await)?.items;
    if format == Format::Json {
        return Ok(json::document(&webhooks.iter().map(shown).collect::<Vec<_>>())?.into());
    }
    let mut out = String::new();
    for webhook in &webhooks {
        let because = webhook.because.as_deref().map(|b| format!(": {b}")).unwrap_or_default();
        _ = writeln!(
            out,
            "{:<14} {:<11} {}, {}{}",
            webhook.name.as_str(),
            webhook.shape.as_str(),
            safe::word(&shown_url(webhook)),
            webhook.state.as_str(),
            safe::word(&because),
        );
        _ = writeln!(out, "  told {}", told(&webhook.filter));
    }
    if webhooks.is_empty() {
        out.push_str("no webhook yet; `toolpact webhooks add NAME URL` makes one\n");
    }
    Ok(out.into())
}

fn change(command: &Command, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let symbolic = |text: &Option<String>| text.as_deref().map(Symbolic::from);
    context
        .with_app(Access::Write, async |app| {
            Ok(match command {
                Command::Add { name, url, filter, shape, secret_from } => {
                    let new = NewWebhook {
                        name: name.clone(),
                        url: url.as_str().into(),
                        shape: *shape,
                        filter: filter.filter(),
                        secret: symbolic(secret_from),
                    };
                    with_secret(&app.add_webhook(new, &actor).await?, "is told from now on")
                }
                Command::Change { name, url, filter, shape, enable, disable } => {
                    let filter = Some(filter.filter()).filter(|filter| *filter != Filter::default());
                    let state = match (enable, disable) {
                        (true, _) => Some(State::Active),
                        (false, true) => Some(State::Disabled),
                        (false, false) => None,
                    };
                    let change = WebhookChange { url: symbolic(url), shape: *shape, filter, state };
                    let seen = app.webhook(name).await?;
                    let now = app.change_webhook(seen, change, &actor).await?;
                    format!("{name} is {}, and told {}\n", now.state.as_str(), told(&now.filter))
                }
                Command::Remove { name } => {
                    app.remove_webhook(&app.webhook(name).await?, &actor).await?;
                    format!("{name} is removed\n")
                }
                Command::Rotate { name, overlap, secret_from } => {
                    let (seen, overlap) = (app.webhook(name).await?, TimeDelta::hours((*overlap).into()));
                    let secret = symbolic(secret_from);
                    with_secret(&app.rotate_webhook(seen, secret, overlap, &actor).await?, "has a new secret")
                }
                Command::Ping { name } => {
                    app.ping_webhook(name, &actor).await?;
                    format!("{name} is told by the next `toolpact serve`; `toolpact webhooks deliveries {name}` shows it\n")
                }
                Command::Resend { name, delivery } => {
                    let delivery = app.resend(name, *delivery, &actor).await?;
                    format!("delivery {} of event {} waits again\n", delivery.id, delivery.event)
                }
                // Looks only.
                Command::Deliveries { .. } => String::new(),
            })
        })
        .map(Answer::from)
}

fn with_secret(made: &WithSecret, what: &str) -> String {
    let mut out = format!("{} {what}\n", made.webhook.name);
    if let Some(secret) = &made.secret {
        _ = writeln!(out, "{secret}\n(what its messages are signed with; shown this once)");
    }
    out
}

/// A filter in words.
fn told(filter: &Filter) -> String {
    let Filter { kinds, severities, environments, catalogs } = filter;
    let list =
        |what: &str, words: Vec<String>| (!words.is_empty()).then(|| format!("{what}{}", words.join(" or ")));
    let parts: Vec<String> = [
        list("", kinds.iter().map(ToString::to_string).collect()),
        list("if ", severities.iter().map(ToString::to_string).collect()),
        list("in ", environments.iter().map(ToString::to_string).collect()),
        list("of ", catalogs.iter().map(ToString::to_string).collect()),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "everything".to_owned() } else { parts.join(", ") }
}

fn shown(webhook: &Webhook) -> Value {
    let Filter { kinds, severities, environments, catalogs } = &webhook.filter;
    json!({
        "name": webhook.name, "to": shown_url(webhook), "shape": webhook.shape, "kinds": kinds,
        "severities": severities, "environments": environments, "catalogs": catalogs, "state": webhook.state,
        "because": webhook.because, "createdBy": webhook.created_by, "createdAt": webhook.created_at,
    })
}

fn written(deliveries: &[Delivery]) -> String {
    let mut out = String::new();
    for d in deliveries {
        _ = write!(
            out,
            "{:>5}  event {:<6} {:<24} {:<9} {} attempts",
            d.id,
            d.event,
            d.kind,
            d.status.as_str(),
            d.attempts
        );
        if let Some(last) = &d.last {
            let status = last.status.map(|s| format!("{s} ")).unwrap_or_default();
            _ = write!(out, ", at {}: {status}{}", time(last.at), safe::word(&last.said));
        }
        if let Some(due) = d.due {
            _ = write!(out, ", next at {}", time(due));
        }
        out.push('\n');
    }
    if deliveries.is_empty() {
        out.push_str("nothing was sent yet\n");
    }
    out
}
