//! `tokens`: who may call the service, made and taken back.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
};
use crate::{
    access::{CallerKind, Role, Scope},
    app::{
        AppError,
        access::tokens::{NewToken, Token},
    },
    name::{CatalogName, EnvironmentName},
};

/// Tokens of the service: make, list and take back.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Create(CreateArgs),
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// Make a token. Its secret is shown this once and kept nowhere.
#[derive(clap::Args)]
struct CreateArgs {
    /// Who acts with it, as the history shows.
    owner: String,
    /// What it is for.
    #[arg(long, value_name = "TEXT", default_value = "made on the command line")]
    name: String,
    /// What its holder is: `human`, `ci` (never approves or promotes) or `agent` (looks and makes drafts).
    #[arg(long, value_name = "KIND", value_parser = kind, default_value = "human")]
    kind: CallerKind,
    /// What its holder may do: `viewer`, `author`, `reviewer`, `operator`, `admin`; several with commas between.
    #[arg(long = "role", value_name = "ROLES", value_parser = role, value_delimiter = ',', default_value = "viewer")]
    roles: Vec<Role>,
    /// Only in this catalog; repeat for more.
    #[arg(long = "catalog", value_name = "NAME")]
    catalogs: Vec<CatalogName>,
    /// Only in this environment; repeat for more.
    #[arg(long = "environment", value_name = "NAME")]
    environments: Vec<EnvironmentName>,
    /// Days until it ends; never without.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=3_650))]
    days: Option<u32>,
    /// Print the secret alone, for scripts.
    #[arg(long)]
    quiet: bool,
}

/// List tokens, without their secrets.
#[derive(clap::Args)]
struct ListArgs {
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Take a token back, and end the sessions that it began.
#[derive(clap::Args)]
struct RevokeArgs {
    /// Its id, `tok-…`.
    id: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    match &args.command {
        Command::Create(args) => create(args, context),
        Command::List(args) => list(args, context),
        Command::Revoke(args) => revoke(args, context),
    }
}

fn create(args: &CreateArgs, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let some = |none: bool| (!none).then_some(());
    let scope = Scope {
        catalogs: some(args.catalogs.is_empty()).map(|()| args.catalogs.iter().cloned().collect()),
        environments: some(args.environments.is_empty())
            .map(|()| args.environments.iter().cloned().collect()),
    };
    let (token, secret) = context.with_app(Access::Write, async |app| {
        let expires_at = args.days.map(|days| app.now() + TimeDelta::days(days.into()));
        let new = NewToken {
            name: args.name.clone(),
            owner: args.owner.clone(),
            kind: args.kind,
            roles: args.roles.iter().copied().collect(),
            scope: scope.clone(),
            expires_at,
        };
        app.create_token(new, &actor).await
    })?;
    if args.quiet {
        return Ok(Answer::from(format!("{secret}\n")));
    }
    let Token { id, .. } = &token;
    Ok(Answer::from(format!(
        "{secret}\n\n{}\nshown this once; `toolpact tokens revoke {id}` takes it back\n",
        line(&token)
    )))
}

fn list(args: &ListArgs, context: &Context) -> Result<Answer, AppError> {
    let tokens = context.with_app(Access::Read, async |app| app.tokens().await)?;
    match args.format {
        Format::Json => json::document(&tokens).map(Answer::from),
        Format::Text if tokens.is_empty() => Ok(Answer::from(
            "no token yet; `toolpact serve` prints the first, `toolpact tokens create` makes more\n"
                .to_owned(),
        )),
        Format::Text => Ok(Answer::from(tokens.iter().map(|token| line(token) + "\n").collect::<String>())),
    }
}

fn revoke(args: &RevokeArgs, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let token = context.with_app(Access::Read, async |app| app.revoke_token(&args.id, &actor).await)?;
    Ok(Answer::from(format!(
        "token `{}` of {} is no good any more\n",
        token.id,
        safe::line(&token.owner, safe::SHOWN)
    )))
}

/// A token in a line.
fn line(token: &Token) -> String {
    let day = |at: DateTime<Utc>| at.format("%Y-%m-%d").to_string();
    let roles: Vec<_> = token.roles.iter().map(|role| role.as_str()).collect();
    let mut line = format!(
        "{}  {} {}  {}",
        token.id,
        token.kind,
        safe::line(&token.owner, safe::SHOWN),
        roles.join(",")
    );
    if let Some(catalogs) = &token.scope.catalogs {
        let names: Vec<_> = catalogs.iter().map(CatalogName::as_str).collect();
        line += &format!("  only in catalog {}", names.join(", "));
    }
    if let Some(environments) = &token.scope.environments {
        let names: Vec<_> = environments.iter().map(EnvironmentName::as_str).collect();
        line += &format!("  only in environment {}", names.join(", "));
    }
    line += &format!("  since {}", day(token.created_at));
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => line += &format!(", taken back {}", day(at)),
        (None, Some(end)) => line += &format!(", until {}", day(end)),
        (None, None) => {}
    }
    match token.last_used_at {
        Some(at) => line += &format!(", last used {}", day(at)),
        None => line += ", never used",
    }
    line + &format!("  ({})", safe::line(&token.name, safe::SHOWN))
}

fn kind(text: &str) -> Result<CallerKind, String> {
    let found = CallerKind::ALL.into_iter().find(|kind| kind.as_str() == text);
    found.ok_or_else(|| format!("`{text}` is none of human, ci, agent"))
}

/// Reads a role.
pub(super) fn role(text: &str) -> Result<Role, String> {
    let found = Role::ALL.into_iter().find(|role| role.as_str() == text);
    found.ok_or_else(|| format!("`{text}` is none of viewer, author, reviewer, operator, admin"))
}
