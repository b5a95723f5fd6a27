//! `teams`: who owns which servers and catalogs.

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
};
use crate::{
    app::{AppError, access::teams::Team},
    name::{CatalogName, ServerName, TeamName},
};

/// Teams, which own servers and catalogs: only the owners of a catalog decide on its drafts.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Set(SetArgs),
    List(ListArgs),
    Remove(RemoveArgs),
}

/// Make a team, or change it to this.
#[derive(clap::Args)]
struct SetArgs {
    /// The team.
    team: TeamName,
    /// Who belongs to it, as the history shows them; repeat for more.
    #[arg(long = "member", value_name = "NAME", required = true)]
    members: Vec<String>,
    /// A server that it owns; repeat for more.
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<ServerName>,
    /// A catalog that it owns; repeat for more.
    #[arg(long = "catalog", value_name = "NAME")]
    catalogs: Vec<CatalogName>,
}

/// List teams.
#[derive(clap::Args)]
struct ListArgs {
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Remove a team; what it owned has no owner.
#[derive(clap::Args)]
struct RemoveArgs {
    /// The team.
    team: TeamName,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    match &args.command {
        Command::Set(args) => set(args, context),
        Command::List(args) => {
            let teams = context.with_app(Access::Read, async |app| app.teams().await)?;
            match args.format {
                Format::Json => json::document(&teams).map(Answer::from),
                Format::Text if teams.is_empty() => Ok(Answer::from(
                    "no team yet; `toolpact teams set NAME --member …` makes one\n".to_owned(),
                )),
                Format::Text => {
                    Ok(Answer::from(teams.iter().map(|team| line(team) + "\n").collect::<String>()))
                }
            }
        }
        Command::Remove(args) => {
            let actor = context.actor()?;
            context.with_app(Access::Read, async |app| app.remove_team(&args.team, &actor).await)?;
            Ok(Answer::from(format!("team `{}` is gone\n", args.team)))
        }
    }
}

fn set(args: &SetArgs, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let team = Team {
        name: args.team.clone(),
        members: args.members.iter().cloned().collect(),
        servers: args.servers.iter().cloned().collect(),
        catalogs: args.catalogs.iter().cloned().collect(),
    };
    context.with_app(Access::Write, async |app| app.put_team(&team, &actor).await)?;
    Ok(Answer::from(line(&team) + "\n"))
}

/// A team in a line.
fn line(team: &Team) -> String {
    let listed = |names: Vec<String>| names.join(", ");
    let members = listed(team.members.iter().map(|name| safe::line(name, safe::SHOWN)).collect());
    let mut line = format!("{}: {members}", team.name);
    if !team.catalogs.is_empty() {
        line += &format!("; catalogs {}", listed(team.catalogs.iter().map(ToString::to_string).collect()));
    }
    if !team.servers.is_empty() {
        line += &format!("; servers {}", listed(team.servers.iter().map(ToString::to_string).collect()));
    }
    line
}
