//! `servers add`: registers one server by hand.

use crate::{
    app::{AppError, Kind, servers::Change},
    catalog::{
        ServerSource, ServerSpec,
        server::{HttpTransport, Symbolic},
    },
    cli::{
        Answer,
        context::{Access, Context},
        oauth, source,
    },
    name::ServerName,
};

/// Register a server: a command that starts it, or a URL. Nothing is asked yet.
///
/// Texts may refer to variables (`${VAR}`, `${VAR:-default}`), to files (`${file:/run/secrets/token}`) and to what commands
/// print (`${command:op read op://vault/item}`). Such references are kept as they are and resolved when the server is
/// asked. Put them in single quotes, or your shell reads them first. A secret that stands in clear is refused.
#[derive(clap::Args)]
#[command(
    override_usage = "toolpact servers add NAME [--env KEY=VALUE]… [--cwd DIR] -- COMMAND [ARGS]…\n       \
                            toolpact servers add NAME --url URL [--header KEY=VALUE]… [--oauth-client-id ID …]"
)]
pub(super) struct Args {
    /// What the server is called here.
    name: ServerName,
    /// The HTTP endpoint of the server: Streamable HTTP or HTTP+SSE.
    #[arg(long, value_name = "URL", required_unless_present = "command", conflicts_with = "command")]
    url: Option<String>,
    /// A header sent with every request: `'Authorization=Bearer ${TOKEN}'`; repeat for more.
    #[arg(long = "header", value_name = "KEY=VALUE", conflicts_with = "command", value_parser = source::header)]
    headers: Vec<(String, String)>,
    #[command(flatten)]
    oauth: oauth::Args,
    /// A variable that the command gets: `'TOKEN=${TOKEN}'`; repeat for more.
    #[arg(long = "env", value_name = "KEY=VALUE", conflicts_with = "url", value_parser = variable)]
    env: Vec<(String, String)>,
    /// The folder that the command is started in; an empty one of its own where nothing is said.
    #[arg(long, value_name = "DIR", conflicts_with = "url", value_parser = folder)]
    cwd: Option<String>,
    /// Seconds between two listings where `serve` polls.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    interval: Option<u32>,
    /// Replace what is registered under this name.
    #[arg(long)]
    replace: bool,
    /// The command that starts the server, and its arguments; no shell sees them.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let spec = ServerSpec { interval: args.interval, ..ServerSpec::new(args.name.clone(), args.source()?) };
    let change =
        context.with_app(Access::Write, async |app| app.add_server(spec, args.replace, &actor).await)?;
    let name = &args.name;
    Ok(match change {
        Change::New => format!("{name} is registered; `toolpact snapshot {name}` asks it\n"),
        Change::Changed(_) => format!("{name} is replaced; `toolpact snapshot {name}` asks it\n"),
        Change::Unchanged => format!("{name} is registered so already\n"),
    }
    .into())
}

impl Args {
    fn source(&self) -> Result<ServerSource, AppError> {
        let named = |pairs: &[(String, String)]| {
            pairs.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect()
        };
        if let Some(url) = &self.url {
            let (url, headers, oauth) = (url.as_str().into(), named(&self.headers), self.oauth.symbolic());
            return Ok(ServerSource::Http { url, headers, transport: HttpTransport::Auto, oauth });
        }
        if self.oauth.symbolic().is_some() {
            let message = "client credentials are for a URL, not for a command";
            return Err(AppError::new(Kind::Invalid, "invalid-source", message));
        }
        let cwd = self.cwd.as_deref().map(Symbolic::from);
        let mut words = self.command.iter().map(|word| Symbolic::from(word.as_str()));
        match words.next() {
            Some(program) if !program.as_str().is_empty() => {
                Ok(ServerSource::Stdio { program, args: words.collect(), env: named(&self.env), cwd })
            }
            Some(_) | None => {
                Err(AppError::new(Kind::Invalid, "invalid-source", "the server's command is empty"))
            }
        }
    }
}

/// One that means the same wherever toolpact is started.
fn folder(text: &str) -> Result<String, String> {
    match text.starts_with(['/', '$']) {
        true => Ok(text.to_owned()),
        false => Err("expected an absolute path, or a reference to one".to_owned()),
    }
}

/// `TOKEN=${TOKEN}`.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("expected KEY=VALUE".to_owned()),
    }
}
