//! The command line: one file a command. Parses, calls a use case, renders its answer; decides nothing.
//!
//! A command answers an [`Answer`] or an [`AppError`]; only this file writes them and turns them into exit codes.
//! Commands that need no database and no network start neither (`diff` of two files, `explain`, `rules`).

mod apply;
mod approve;
mod audit;
mod backup;
mod calls;
mod can_i_promote;
mod changelog;
mod completions;
mod config;
mod context;
mod decide;
mod demo_server;
mod diff;
mod doctor;
mod draft;
mod drafts;
mod edit;
mod explain;
mod export;
mod freeze;
mod gate;
mod import;
mod key;
mod lint;
mod lock;
mod log;
mod login;
mod man;
mod migrate;
mod oauth;
mod pointer;
mod promote;
mod prune;
mod reject;
mod release;
mod render;
mod report;
mod rollback;
mod rules;
mod self_test;
mod serve;
mod servers;
mod service;
mod show;
mod side;
mod snapshot;
mod source;
mod status;
mod sweep;
mod teams;
mod tokens;
mod tools;
#[cfg(feature = "otel")]
mod traces;
mod verify_catalog;
mod watch;
mod webhooks;

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use context::Context;
use tracing_subscriber::{EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _};

pub use serve::{Serve, Stop};

use crate::app::{AppError, Kind};

/// How the program ends. Part of the public contract: scripts read them.
pub mod exit {
    /// Done, or passes the policy.
    pub const PASSED: u8 = 0;
    /// Blocked: by policy, or because the state of an object forbids what was asked (stale, held, already decided).
    pub const BLOCKED: u8 = 1;
    /// Usage, configuration or input is invalid, or names what does not exist.
    pub const INVALID: u8 = 2;
    /// Could not run: network, server or database gone.
    pub const COULD_NOT_RUN: u8 = 3;
}

/// Governance for MCP tools: snapshots what servers offer, proves what a change breaks, promotes and rolls back.
#[derive(Parser)]
#[command(name = "toolpact", version, max_term_width = 110, after_help = AFTER_HELP)]
struct Cli {
    /// The database: a SQLite file, made with its folder on first write, or postgres://USER:PASSWORD@HOST/DATABASE.
    /// Default: what DATABASE_URL says, or toolpact/toolpact.db in the user's data folder.
    #[arg(
        long,
        global = true,
        env = "TOOLPACT_DATABASE",
        hide_env_values = true, // a URL may hold a password
        value_name = "FILE|URL",
        display_order = 100
    )]
    database: Option<OsString>,
    /// Who acts; stands in the audit log. Default: the user's name.
    #[arg(long, global = true, env = "TOOLPACT_ACTOR", value_name = "NAME", display_order = 101)]
    actor: Option<String>,
    /// Sign versions that are approved or imported, and moves, with the key in this file; `toolpact key new` makes one.
    #[arg(long, global = true, env = "TOOLPACT_SIGNING_KEY_FILE", value_name = "FILE", display_order = 103)]
    signing_key: Option<std::path::PathBuf>,
    /// The form of the log on stderr.
    #[arg(
        long,
        global = true,
        env = "TOOLPACT_LOG_FORMAT",
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        display_order = 102
    )]
    log_format: LogFormat,
    /// Log more on stderr; twice for still more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 103)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

/// The form of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: an object a line.
    Json,
}

const AFTER_HELP: &str = "\
Exit codes: 0 passes, 1 blocked by policy or state, 2 usage or input invalid, 3 could not run.
Begin with `toolpact serve --demo`.";

#[derive(Subcommand)]
enum Command {
    // Look.
    Import(import::Args),
    Servers(servers::Args),
    Snapshot(snapshot::Args),
    Watch(watch::Args),
    Diff(diff::Args),
    Gate(Box<gate::Args>),
    Lock(lock::Args),
    Changelog(changelog::Args),
    Lint(lint::Args),
    Tools(tools::Args),
    Explain(explain::Args),
    Rules(rules::Args),
    // Decide.
    Draft(draft::Args),
    Drafts(drafts::Args),
    Show(show::Args),
    Decide(decide::Args),
    Decisions(decide::ListArgs),
    Comment(decide::CommentArgs),
    Edit(edit::Args),
    Approve(approve::Args),
    Reject(reject::Args),
    Apply(apply::Args),
    Export(export::Args),
    // Move.
    CanIPromote(can_i_promote::Args),
    Promote(promote::Args),
    Rollback(rollback::Args),
    Release(release::Args),
    Freeze(freeze::Args),
    Unfreeze(freeze::EndArgs),
    // Watch.
    Status(status::Args),
    Log(log::Args),
    Audit(audit::Args),
    Webhooks(webhooks::Args),
    Key(key::Args),
    VerifyCatalog(verify_catalog::Args),
    // Run.
    Serve(serve::Args),
    Tokens(tokens::Args),
    Teams(teams::Args),
    Migrate(migrate::Args),
    Doctor(doctor::Args),
    Config(config::Args),
    Backup(backup::Args),
    Prune(prune::Args),
    SelfTest(self_test::Args),
    Completions(completions::Args),
    Man(man::Args),
    DemoServer(demo_server::Args),
}

/// What a command has to say, and how it ends.
struct Answer {
    text: String,
    exit: u8,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self { text, exit: exit::PASSED }
    }
}

/// Runs the command line of this process. `serve` puts the faces of the service together.
pub fn main(serve: Serve) -> ExitCode {
    let cli = match configured(Cli::parse()) {
        Ok(cli) => cli,
        Err(error) => return failed(&error),
    };
    log_to_stderr(&cli);
    let context = Context::new(cli.database, cli.actor, cli.signing_key);
    let answered = run(&cli.command, &context, serve);
    #[cfg(feature = "otel")]
    traces::end();
    match answered {
        Ok(answer) => match print(&answer.text) {
            // Whoever stopped reading has seen enough; the answer stands.
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                eprintln!("error: stdout cannot be written: {e}");
                ExitCode::from(exit::COULD_NOT_RUN)
            }
            _ => ExitCode::from(answer.exit),
        },
        Err(error) => failed(&error),
    }
}

/// The arguments with what a configuration file and a file of a secret say of what they leave open.
fn configured(mut cli: Cli) -> Result<Cli, AppError> {
    let secret = config::secret("TOOLPACT_DATABASE")?;
    cli.database = cli.database.or(secret);
    let Command::Serve(args) = &cli.command else { return Ok(cli) };
    let said: Vec<OsString> = std::env::args_os().collect();
    let from_file = config::with_file(&said, args.config.as_deref())?;
    Ok(match from_file {
        // What a variable's file says counts more than the configuration.
        Some(other) => Cli { database: cli.database.or(other.database), ..other },
        None => cli,
    })
}

fn failed(error: &AppError) -> ExitCode {
    // Where even stderr is gone there is nobody left to tell.
    _ = io::stderr().write_all(render::text::error(error).as_bytes());
    ExitCode::from(exit_code(error.kind))
}

fn run(command: &Command, context: &Context, serve: Serve) -> Result<Answer, AppError> {
    match command {
        Command::Import(args) => import::run(args, context),
        Command::Servers(args) => servers::run(args, context),
        Command::Snapshot(args) => snapshot::run(args, context),
        Command::Watch(args) => watch::run(args, context),
        Command::Diff(args) => diff::run(args, context),
        Command::Gate(args) => gate::run(args, context),
        Command::Lock(args) => lock::run(args),
        Command::Changelog(args) => changelog::run(args, context),
        Command::Lint(args) => lint::run(args, context),
        Command::Tools(args) => tools::run(args, context),
        Command::Explain(args) => explain::run(args),
        Command::Rules(args) => rules::run(args),
        Command::Draft(args) => draft::run(args, context),
        Command::Drafts(args) => drafts::run(args, context),
        Command::Show(args) => show::run(args, context),
        Command::Decide(args) => decide::run(args, context),
        Command::Decisions(args) => decide::list(args, context),
        Command::Comment(args) => decide::comment(args, context),
        Command::Edit(args) => edit::run(args, context),
        Command::Approve(args) => approve::run(args, context),
        Command::Reject(args) => reject::run(args, context),
        Command::Apply(args) => apply::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::CanIPromote(args) => can_i_promote::run(args, context),
        Command::Promote(args) => promote::run(args, context),
        Command::Rollback(args) => rollback::run(args, context),
        Command::Release(args) => release::run(args, context),
        Command::Freeze(args) => freeze::freeze(args, context),
        Command::Unfreeze(args) => freeze::unfreeze(args, context),
        Command::Status(args) => status::run(args, context),
        Command::Log(args) => log::run(args, context),
        Command::Audit(args) => audit::run(args, context),
        Command::Webhooks(args) => webhooks::run(args, context),
        Command::Key(args) => key::run(args),
        Command::VerifyCatalog(args) => verify_catalog::run(args),
        Command::Doctor(args) => doctor::run(args, context),
        Command::Config(args) => config::run(args),
        Command::Backup(args) => backup::run(args, context),
        Command::Migrate(args) => migrate::run(args, context),
        Command::Prune(args) => prune::run(args, context),
        Command::Tokens(args) => tokens::run(args, context),
        Command::Teams(args) => teams::run(args, context),
        Command::Serve(args) => serve::run(args, context, serve),
        Command::SelfTest(args) => self_test::run(args),
        Command::Completions(args) => Ok(completions::run(args)),
        Command::Man(args) => man::run(args),
        Command::DemoServer(args) => demo_server::run(args),
    }
}

/// The one place where kinds of failure become exit codes.
fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::Invalid | Kind::NotFound | Kind::Gone => exit::INVALID,
        Kind::Conflict | Kind::Stale | Kind::Blocked | Kind::Forbidden => exit::BLOCKED,
        Kind::Unavailable | Kind::Internal => exit::COULD_NOT_RUN,
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn log_to_stderr(cli: &Cli) {
    let format = cli.log_format;
    let level = match cli.verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(format == LogFormat::Text && io::stderr().is_terminal() && render::text::colour_wanted())
        .with_writer(io::stderr);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        // The span is that of the request: its id stands in every line about it.
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).boxed(),
    };
    let log = tracing_subscriber::registry().with(lines.with_filter(EnvFilter::new(level)));
    #[cfg(feature = "otel")]
    let log = log.with(if matches!(cli.command, Command::Serve(_)) { traces::layer() } else { None });
    log.init();
}
