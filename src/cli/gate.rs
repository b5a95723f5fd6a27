//! `gate`: passes or blocks a candidate. The one command that CI needs.

mod build;
mod remote;

use std::{env, io::IsTerminal, path::Path};

use clap::ValueEnum;

use super::{
    Answer, calls,
    context::{Access, Context, block_on},
    diff::{Assume, FormatPolicy, Shown},
    exit,
    render::{
        Format,
        gate::{self as told, Baseline, Form, Told},
        text::Style,
    },
    report::Report,
    side::{self, Named},
    source::{self, Chosen},
};
use crate::{
    app::{
        AppError, Clock, Kind, SystemClock, check,
        tree::{self, Failed, Place, Target, Tree, Tried},
    },
    diff::{Calls, Level, Side},
    gate::{
        Declared, Grounds, Judgement, Lock, Policy, declared, judge,
        policy::{self, DeclaredVersion},
        settings::{OnUnreachable, schema},
    },
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::Evidence,
};

/// Pass or block a server's tools against what callers rely on. Exit 0 passes, 1 blocked, 2 invalid, 3 could not run.
///
/// Without `--baseline` that is what `toolpact.lock` holds, and the servers are those of `toolpact.yaml`, of the lockfile
/// itself, or of a file such as `.mcp.json`. `toolpact.yaml` says what blocks.
#[derive(clap::Args)]
#[command(override_usage = "toolpact gate [OPTIONS]\n       \
                            toolpact gate [OPTIONS] -- COMMAND [ARGS]…\n       \
                            toolpact gate [OPTIONS] --url URL [--header KEY=VALUE]…\n       \
                            toolpact gate [OPTIONS] --file FILE\n       \
                            toolpact gate --service URL --environment NAME [OPTIONS] …\n       \
                            toolpact gate --baseline FILE-or-REF [OPTIONS] …")]
pub(super) struct Args {
    /// What callers rely on, where it is not the lockfile: a file, an environment, `catalog@VERSION`, `server@latest` or
    /// `server@sha256:…`.
    #[arg(long, value_name = "FILE-or-REF", conflicts_with = "lockfile")]
    baseline: Option<String>,
    /// The lockfile; `-` for stdin. Default: what `toolpact.yaml` says, or toolpact.lock.
    #[arg(long, value_name = "FILE")]
    lockfile: Option<String>,
    /// The settings. Default: toolpact.yaml, where there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// Which server the candidate is; or, of several that are found, the only one that is asked.
    #[arg(long, value_name = "NAME")]
    server: Option<ServerName>,
    /// What callers are taken to send. Default: what the policy says, otherwise `declared`.
    #[arg(long, value_enum)]
    assume: Option<Assume>,
    /// The least level that blocks; every worse one does as well. Default: what the policy says, otherwise `undecided`.
    /// Absolute findings block whatever stands here.
    #[arg(long, value_enum, value_name = "LEVEL", value_delimiter = ',')]
    fail_on: Option<Vec<Blocking>>,
    /// What a `format` is taken for. Default: what the policy says, otherwise `risky`.
    #[arg(long, value_enum)]
    format_policy: Option<FormatPolicy>,
    /// How a witness is written.
    #[arg(long, value_enum, default_value_t)]
    witness: Shown,
    /// How the answer is written to stdout.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write the answer to a file as well: text, json, md, github, gitlab, sarif or junit; repeat for more. `-` is stdout,
    /// in place of the text.
    #[arg(long = "report", value_name = "FORMAT=PATH")]
    reports: Vec<Report>,
    /// Print nothing where it passes, and the last line alone where it does not.
    #[arg(short, long)]
    quiet: bool,
    /// Say of every rule why it matters and what to do instead.
    #[arg(long)]
    explain: bool,
    /// Print the JSON Schema of the JSON report, and judge nothing.
    #[arg(long)]
    schema: bool,
    /// Print the JSON Schema of toolpact.yaml, for editors, and judge nothing.
    #[arg(long, conflicts_with = "schema")]
    settings_schema: bool,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    calls: calls::Args,
    #[command(flatten)]
    source: source::Args,
}

/// The service that judges.
#[derive(clap::Args)]
#[group(skip)]
struct RemoteArgs {
    /// The service that holds the build against what is live, and registers that as a check; TOOLPACT_TOKEN, or the file that
    /// TOOLPACT_TOKEN_FILE names, holds the token. Default: what `toolpact.yaml` says.
    #[arg(long, value_name = "URL", conflicts_with_all = ["baseline", "offline"])]
    service: Option<String>,
    /// Against what is live where.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["baseline", "offline"])]
    environment: Option<EnvironmentName>,
    /// The catalog, where several that are live there hold the servers.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["baseline", "offline"])]
    catalog: Option<CatalogName>,
    /// Register no check; there is no page to decide on then.
    #[arg(long, conflicts_with_all = ["baseline", "offline"])]
    dry_run: bool,
    /// What is done where the service cannot be reached. Default: what `toolpact.yaml` says, otherwise `fail-closed`.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["baseline", "offline"])]
    on_unreachable: Option<Unreachable>,
    /// Judge by the lockfile, though `toolpact.yaml` names a service.
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    build: build::Args,
}

/// What is done where the service cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Unreachable {
    /// The gate could not run.
    FailClosed,
    /// The lockfile judges, and the answer says so.
    UseLockfile,
}

impl From<Unreachable> for OnUnreachable {
    fn from(unreachable: Unreachable) -> Self {
        match unreachable {
            Unreachable::FailClosed => Self::FailClosed,
            Unreachable::UseLockfile => Self::UseLockfile,
        }
    }
}

/// A level that may block. `compatible` is none: it would block every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Blocking {
    /// A call or a result that was fine is not fine now.
    Breaking,
    /// Not proved either way.
    Undecided,
    /// Breaks no schema, may change what happens.
    Risky,
    /// Nothing but absolute findings.
    None,
}

impl Blocking {
    fn level(self) -> Option<Level> {
        match self {
            Self::Breaking => Some(Level::Breaking),
            Self::Undecided => Some(Level::Undecided),
            Self::Risky => Some(Level::Risky),
            Self::None => None,
        }
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    if args.schema {
        return Ok(told::json::SCHEMA.to_owned().into());
    }
    if args.settings_schema {
        return super::render::json::document(&schema::schema()).map(Answer::from);
    }
    let stdout = args.stdout()?;
    let told = match judged(args, context) {
        Ok(told) => told,
        // Programs that read the reports are told as well.
        Err(error) => {
            let told = Told::failure(error, args.baseline.as_deref().unwrap_or(crate::gate::lock::FILE));
            args.write(&told)?;
            return Err(only(told));
        }
    };
    args.write(&told)?;
    // Nothing at all could be asked: an error like that of any command.
    if told.judgement.is_none() && told.failed.len() == 1 && stdout == Form::Text {
        return Err(only(told));
    }
    let exit = told.exit();
    let text = match (args.quiet, exit) {
        (true, exit::PASSED) => String::new(),
        (true, _) => super::render::text::decision(&told, Style::of_stdout()),
        (false, _) => {
            let mut text = told::write(&told, stdout, Style::of_stdout())?;
            if stdout == Form::Text && annotates(&args.reports) {
                // Before the text: its last line stays the last.
                text.insert_str(0, &told::annotations(&told));
            }
            text
        }
    };
    Ok(Answer { text, exit })
}

/// Whether GitHub is to be told where things are: in its own runs, and where nobody asked for that in a file.
fn annotates(reports: &[Report]) -> bool {
    let on_github = env::var_os("GITHUB_ACTIONS").is_some_and(|v| v == "true");
    on_github && !std::io::stdout().is_terminal() && reports.iter().all(|r| r.form != Form::Github)
}

/// The one failure that there was.
fn only(told: Told) -> AppError {
    let failed = told.failed.into_iter().next().map(|f| *f.error);
    failed.unwrap_or_else(|| {
        AppError::new(Kind::Internal, "internal", "nothing was judged, and nothing failed")
    })
}

impl Args {
    /// What goes to standard output.
    fn stdout(&self) -> Result<Form, AppError> {
        let mut forms = self.reports.iter().filter(|r| r.is_to_stdout()).map(|r| r.form);
        let refused = |cause: &str| {
            Err(AppError::new(
                Kind::Invalid,
                "stdout-twice",
                format!("stdout can hold one report, and {cause}"),
            )
            .help("write one of them to a file"))
        };
        if self.quiet && (self.format == Format::Json || self.reports.iter().any(Report::is_to_stdout)) {
            return refused("`--quiet` leaves it to the decision");
        }
        match (forms.next(), forms.next(), self.format) {
            (Some(_), Some(_), _) => refused("several are to go there"),
            (Some(_), None, Format::Json) => refused("`--format json` goes there as well"),
            (Some(form), None, Format::Text) => Ok(form),
            (None, _, Format::Json) => Ok(Form::Json),
            (None, _, Format::Text) => Ok(Form::Text),
        }
    }

    /// Writes the reports that go to files: all that can be.
    fn write(&self, told: &Told) -> Result<(), AppError> {
        let mut written = Ok(());
        for report in self.reports.iter().filter(|r| !r.is_to_stdout()) {
            if let Err(error) = report.write(told) {
                written = written.and(Err(error));
            }
        }
        written
    }

    /// What was tried, its witnesses written as was asked.
    fn shown(&self, mut tried: Tried) -> Tried {
        tried.judgement = tried.judgement.map(|j| Judgement { report: self.witness.apply(j.report), ..j });
        tried
    }

    /// The policy, with what was said on the command line.
    fn over(&self, mut policy: Policy) -> Policy {
        if let Some(assume) = self.assume {
            policy.assume = assume.into();
        }
        if let Some(formats) = self.format_policy {
            policy.formats = formats.into();
        }
        if let Some(levels) = &self.fail_on {
            let least = levels.iter().filter_map(|l| l.level()).min();
            policy = policy.failing_on(policy::from(least));
        }
        policy
    }
}

fn judged(args: &Args, context: &Context) -> Result<Told, AppError> {
    let chosen = args.source.chosen()?;
    let file = match &chosen {
        Some(Chosen::File(path)) => path,
        Some(Chosen::Live(_)) | None => "",
    };
    let baseline = args.baseline.as_deref().or(args.lockfile.as_deref()).unwrap_or_default();
    side::stdin_once(&[baseline, file, args.calls.file()])?;
    // What is at hand first: a mistake in it should not cost the start of a server.
    let calls = args.calls.read()?;
    let tree = Tree::open(Path::new("."), args.config.as_deref())?;
    match (&args.baseline, remote::settings(args, &tree)?) {
        (Some(baseline), _) => against(args, baseline, &tree, chosen, calls, context),
        (None, Some(service)) => remote::checked(args, &tree, chosen, &calls, &service),
        (None, None) => locked(args, &tree, chosen, &calls),
    }
}

fn today() -> chrono::NaiveDate {
    SystemClock.now().date_naive()
}

/// The servers of the tree against its lockfile.
fn locked(args: &Args, tree: &Tree, chosen: Option<Chosen>, calls: &Calls) -> Result<Told, AppError> {
    let path = tree.lockfile(args.lockfile.as_deref()).to_owned();
    let text = match path.as_str() {
        "-" => Some(side::text("-")?),
        path => tree.lock_text(path)?,
    };
    let label = side::label(&path).to_owned();
    let lock = tree::read_lock(&label, &text.ok_or_else(|| tree::no_lock(&path))?)?;
    let mut targets = targets(args, tree, &lock, chosen)?;
    if let Some(name) = &args.server {
        targets = of_name(targets, name)?;
    }
    let names: Vec<_> = targets.iter().map(|t| (t.name.clone(), t.origin.clone())).collect();
    tree::against(&lock, &label, &names)?;
    let answers = asked(tree, targets)?;
    let policy = args.over(tree.settings.policy.clone());
    let tried = tree::tried(&lock, &label, answers, &policy, &tree.settings.waivers, calls, today());
    Ok(Told::of(args.shown(tried), Baseline::Lock(label, lock), args.explain))
}

/// The one of this name. Nothing that is not there is ever judged, and so passes.
fn of_name(targets: Vec<Target>, name: &ServerName) -> Result<Vec<Target>, AppError> {
    let known: Vec<String> =
        targets.iter().filter_map(|t| t.name.as_ref().map(ToString::to_string)).collect();
    let named: Vec<Target> = targets.into_iter().filter(|t| t.name.as_ref() == Some(name)).collect();
    if named.is_empty() {
        return Err(AppError::unknown("server", "unknown-server", name.as_str(), &known));
    }
    Ok(named)
}

/// What is to be asked: what the command line names, or what the tree does.
fn targets(args: &Args, tree: &Tree, lock: &Lock, chosen: Option<Chosen>) -> Result<Vec<Target>, AppError> {
    let Some(chosen) = chosen else { return tree.servers(Some(lock)) };
    let name = match (&args.server, lock.servers.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.name.clone(),
        (None, several) => {
            let known: Vec<String> = several.iter().map(|s| format!("`{}`", s.name)).collect();
            let message = format!("the lockfile has {} servers, and one was given", several.len());
            return Err(AppError::new(Kind::Invalid, "which-server", message)
                .help(format!("say which of them it is with `--server NAME`: {}", known.join(", "))));
        }
    };
    Ok(vec![Target::given(Some(name), place(chosen))])
}

pub(super) fn place(chosen: Chosen) -> Place {
    match chosen {
        Chosen::File(path) => Place::File(path),
        Chosen::Live(source) => Place::Given(source),
    }
}

/// Asks servers; where all of them are files, without a runtime.
pub(super) fn asked(
    tree: &Tree,
    targets: Vec<Target>,
) -> Result<Vec<Result<tree::Listed, Failed>>, AppError> {
    if targets.iter().all(|t| matches!(t.place, Place::File(_))) {
        let read = |target: Target| match &target.place {
            Place::File(path) if path == "-" => {
                let name = target.name.clone();
                let text = side::text("-");
                text.and_then(|text| tree.read_text(target, "stdin", &text))
                    .map_err(|error| Failed { name, error: Box::new(error) })
            }
            _ => tree::read(tree, target),
        };
        return Ok(targets.into_iter().map(read).collect());
    }
    block_on(async { Ok(tree::ask(tree, targets).await) })
}

/// One server against a baseline that was named.
fn against(
    args: &Args,
    baseline: &str,
    tree: &Tree,
    chosen: Option<Chosen>,
    calls: Calls,
    context: &Context,
) -> Result<Told, AppError> {
    // What is wrong with the candidate is told before a database is opened.
    let target = if chosen.is_none() { Some(only_target(args, tree)?) } else { None };
    let side::Release { side, versions, announced } = side::release(baseline, context)?;
    let grounds = Grounds { announced, ..grounds(args, baseline, tree, context)? };
    let side = check::of_server(side, args.server.as_ref())?;
    let Candidate { side: mut candidate, evidence, declared, said } = match (&chosen, target) {
        (Some(chosen), _) => candidate(chosen, args.server.as_ref())?,
        (None, Some(target)) => found(tree, target)?,
        (None, None) => args.source.required().and_then(|chosen| candidate(&chosen, None))?,
    };
    if let (Some(server), [(name @ None, _)]) = (&args.server, candidate.servers.as_mut_slice()) {
        *name = Some(server.clone());
    }
    let label = candidate.label.clone();
    let offline = side::offline(baseline) && matches!(chosen, Some(Chosen::File(_)));
    let of_tools = (declared::of_tools(&side), declared::of_tools(&candidate));
    // Like is held against like: a lockfile has what the tree declared, all others what the server said of itself.
    let (whose, version) = match side::named(baseline) {
        Named::File(path) if versions.iter().any(|(name, _)| name.is_some()) || path.ends_with(".lock") => {
            (side.servers.first().and_then(|(name, _)| name.clone()), declared)
        }
        Named::File(_) => (None, said),
        Named::Reference(_) => (side.servers.first().and_then(|(name, _)| name.clone()), said),
    };
    let was = versions.into_iter().find(|(name, _)| *name == whose).map(|(_, version)| version);
    let report = side::diffed(side, candidate, grounds.policy.options(), calls, offline)?;
    let versions = match grounds.policy.declared_version {
        DeclaredVersion::Off => Vec::new(),
        DeclaredVersion::Tell | DeclaredVersion::Require | DeclaredVersion::Allow => {
            let (before, now) = &of_tools;
            let server = report.tools.first().map_or("", |tool| tool.server.as_str());
            let (of_it, said) = (report.tools.iter(), (was.as_deref(), version.as_ref()));
            let before = |tool: &str| before.get(tool).map(|declared| declared.version.clone());
            declared::of_server(server, of_it, said, before, |tool| now.get(tool).cloned())
        }
    };
    let grounds = Grounds { versions, ..grounds };
    let judgement = judge(args.witness.apply(report), grounds, today());
    let at = match side::named(baseline) {
        Named::File(path) => Baseline::File(side::label(path).to_owned()),
        Named::Reference(reference) => Baseline::Elsewhere(reference.to_owned()),
    };
    let tried = Tried {
        judgement: Some(judgement),
        failed: Vec::new(),
        evidence: vec![(label, evidence)],
        outdated: Vec::new(),
    };
    Ok(Told::of(tried, at, args.explain))
}

/// What blocks. What the database holds stands under the policy of its catalog alone: a repository does not soften what
/// production demands, but for asking more of the versions that its servers declare.
fn grounds(args: &Args, baseline: &str, tree: &Tree, context: &Context) -> Result<Grounds, AppError> {
    let (policy, waivers) = match side::named(baseline) {
        Named::File(_) => (tree.settings.policy.clone(), tree.settings.waivers.clone()),
        Named::Reference(reference) => {
            let policy = context.with_app(Access::Read, async |app| app.policy_of(reference).await)?;
            let declared_version = tree.settings.policy.declared_version.hardened();
            (Policy { declared_version, ..policy.into() }, Vec::new())
        }
    };
    Ok(Grounds { policy: args.over(policy), waivers, ..Grounds::default() })
}

/// What is held against a baseline.
struct Candidate {
    side: Side,
    /// How its listing went.
    evidence: Evidence,
    /// The version that its tree declares.
    declared: Option<Declared>,
    /// The version that it says itself.
    said: Option<Declared>,
}

/// The one server of the tree that a baseline of one server is held against.
fn only_target(args: &Args, tree: &Tree) -> Result<Target, AppError> {
    let mut targets = tree.servers(None)?;
    if let Some(name) = &args.server {
        targets = of_name(targets, name)?;
    }
    let names: Vec<String> = targets.iter().flat_map(|t| &t.name).map(|n| format!("`{n}`")).collect();
    let (only, more) = (targets.pop(), !targets.is_empty());
    only.filter(|_| !more).ok_or_else(|| {
        let message = format!("{} servers are found here, and the baseline is held against one", names.len());
        AppError::new(Kind::Invalid, "which-server", message)
            .help(format!("say which with `--server NAME`: {}", names.join(", ")))
    })
}

/// The same, listed.
fn found(tree: &Tree, target: Target) -> Result<Candidate, AppError> {
    let listed = asked(tree, vec![target])?.pop();
    let listed = listed.unwrap_or_else(|| {
        let error = AppError::new(Kind::Internal, "internal", "nobody was asked");
        Err(Failed { name: None, error: Box::new(error) })
    });
    let tree::Listed { label, contracts, evidence, declared, said, .. } =
        listed.map_err(|failed| *failed.error)?;
    Ok(Candidate { side: Side { label, servers: vec![(None, contracts)] }, evidence, declared, said })
}

/// What is judged, and how its listing went.
fn candidate(source: &Chosen, server: Option<&ServerName>) -> Result<Candidate, AppError> {
    let (side, evidence, version) = match source {
        Chosen::File(path) => {
            let side::Release { side, mut versions, .. } = side::file_release(path)?;
            (side, Evidence::default(), versions.pop().map(|(_, version)| version))
        }
        Chosen::Live(source) => {
            let label = server.map_or_else(|| source::label(source), ToString::to_string);
            block_on(check::list_side(&label, source))?
        }
    };
    let said = version.map(|version| Declared { version, place: "serverInfo".to_owned() });
    Ok(Candidate { side, evidence, declared: said.clone(), said })
}
