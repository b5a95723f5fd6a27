//! `serve`: the HTTP API and the pages, on loopback unless told otherwise.
//!
//! It opens the database, binds, says where, and stops in good order on SIGINT and SIGTERM. The faces themselves come
//! from `main`: this module does not know them.

use std::{
    env, fs,
    hash::{BuildHasher, RandomState},
    io,
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use chrono::TimeDelta;
use sd_notify::NotifyState;
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};

use super::{
    Answer,
    context::{self, Context},
    login::Login,
};
use crate::app::{
    App, AppError, IpNet, Kind, Place, Reach, SystemClock, demo,
    messenger::{Messenger, Telling},
    poll::{Polled, Poller, Polling},
    syslog::Receiver,
    view::Drift,
};
use crate::{catalog::webhook::Retries, guard::Limits, snapshot::Outcome};

/// Serves the faces on a listener until [`Stop`] ends.
pub type Serve = fn(TcpListener, App, Limits, Stop) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// Ends when the service is to stop.
pub type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Who follows the link of a demo.
const DEMO_USER: &str = "you";

/// How long requests in flight may take after a signal; a client that never hangs up must not keep the process.
const GRACE: Duration = Duration::from_secs(10);

/// Serve the HTTP API and the pages.
#[derive(clap::Args)]
pub(super) struct Args {
    /// A file with settings, each named as its flag; /etc/toolpact/toolpact.yaml where that is there. Flags and variables count
    /// more.
    #[arg(long, value_name = "FILE", env = "TOOLPACT_CONFIG")]
    pub(super) config: Option<PathBuf>,
    /// Address and port; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:7878", value_name = "ADDRESS:PORT", env = "TOOLPACT_LISTEN")]
    listen: String,
    /// Listen on an address that other machines reach. Tokens then travel in clear, unless a proxy before it speaks TLS.
    #[arg(long, env = "TOOLPACT_ALLOW_REMOTE")]
    allow_remote: bool,
    #[command(flatten)]
    login: Login,
    #[command(flatten)]
    polling: Polls,
    /// Send the audit log to a syslog receiver as it grows: udp://HOST:PORT, tcp://HOST:PORT or unix:/PATH. An event is sent
    /// at least once, in order, from where it was left; receivers tell a repetition by its `seq`.
    #[arg(long, env = "TOOLPACT_AUDIT_SYSLOG", value_name = "RECEIVER")]
    audit_syslog: Option<Receiver>,
    /// Do not bring the tables of a PostgreSQL database up to date; refuse to start where they are not.
    #[arg(long, env = "TOOLPACT_NO_MIGRATE")]
    no_migrate: bool,
    /// Seconds for which `/readyz` says that the process is about to end before it takes no more requests.
    #[arg(long, default_value_t = 0, value_name = "SECONDS", env = "TOOLPACT_DRAIN_DELAY", value_parser = clap::value_parser!(u64).range(..=300))]
    drain_delay: u64,
    /// Start with a story worth looking at, in a database of its own that is gone at the end.
    #[arg(long)]
    demo: bool,
}

/// How registered servers are asked meanwhile.
#[derive(clap::Args)]
struct Polls {
    /// Do not ask registered servers.
    #[arg(long, env = "TOOLPACT_NO_POLL")]
    no_poll: bool,
    /// Seconds between two listings of a registered server that names no interval of its own.
    #[arg(long, default_value_t = 900, value_name = "SECONDS", env = "TOOLPACT_POLL_INTERVAL", value_parser = clap::value_parser!(u64).range(1..=2_592_000))]
    poll_interval: u64,
    /// Seconds after which another process on the same database takes over a server or a webhook from one that is gone.
    #[arg(long, default_value_t = 30, value_name = "SECONDS", env = "TOOLPACT_POLL_LEASE", value_parser = clap::value_parser!(u64).range(1..=2_592_000))]
    poll_lease: u64,
    /// A network whose servers may be asked and whose webhooks may be told though it is not public (`10.0.0.0/8`); repeat
    /// for more. Loopback, private and link-local addresses are refused otherwise.
    #[arg(
        long = "allow-network",
        value_name = "CIDR",
        env = "TOOLPACT_ALLOW_NETWORK",
        value_delimiter = ','
    )]
    networks: Vec<IpNet>,
    /// Seconds after which a webhook that did not take a message gets it again; twice that after each further failure, up to
    /// 20 minutes, for three days.
    #[arg(long, default_value_t = 10, value_name = "SECONDS", env = "TOOLPACT_WEBHOOK_RETRY", value_parser = clap::value_parser!(u32).range(1..=1200))]
    webhook_retry: u32,
}

impl Polls {
    /// What tells webhooks.
    fn messenger(&self, app: &App, holder: &str) -> Messenger {
        let usual = Telling::default();
        let first = TimeDelta::seconds(self.webhook_retry.into());
        let telling = Telling {
            retries: Retries { first, ..usual.retries },
            lease: Duration::from_secs(self.poll_lease),
            ..usual
        };
        Messenger::new(app.clone(), holder.to_owned(), telling)
    }

    /// The poller, where one is wanted.
    fn poller(&self, app: &App, holder: &str) -> Option<Poller> {
        let polling = Polling {
            interval: Duration::from_secs(self.poll_interval),
            lease: Duration::from_secs(self.poll_lease),
            ..Polling::default()
        };
        (!self.no_poll).then(|| Poller::new(app.clone(), holder.to_owned(), polling, log))
    }
}

/// Says in the log what polling a server led to.
fn log(polled: &Polled) {
    let server = &polled.server;
    match &polled.recorded {
        Err(error) => tracing::warn!("server `{server}` was not asked: {error}"),
        Ok(recorded) if recorded.listing.outcome != Outcome::Ok => tracing::warn!(
            "server `{server}`: {}: {}",
            recorded.listing.outcome,
            recorded.listing.evidence.message
        ),
        Ok(recorded) => {
            if let Drift::Drift(_) = recorded.drift {
                tracing::warn!("server `{server}` drifted");
            }
            for view in &recorded.split_views {
                tracing::warn!("server `{server}`: split view: {}", view.told());
            }
        }
    }
}

pub(super) fn run(args: &Args, context: &Context, serve: Serve) -> Result<Answer, AppError> {
    let address = address(args)?;
    let demo = if args.demo { Some(DemoFolder::new()?) } else { None };
    let database = match &demo {
        Some(folder) => Place::File(folder.0.join("toolpact.db")),
        None => {
            let database = context.database()?;
            context::make_folder(&database)?;
            database
        }
    };
    let key = context.signing_key()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(context::STACK)
        .enable_all()
        .build()
        .map_err(context::no_runtime)?;
    runtime.block_on(async {
        let signals = Signals::new()?;
        // Bound before anything is written: a port that is taken should cost nothing.
        let listener = bind(address).await?;
        if let Place::Server(_) = database
            && !args.no_migrate
        {
            App::migrate(&database).await?;
        }
        let app = App::open(&database, Arc::new(SystemClock)).await?;
        let app = args
            .login
            .with_issuer(app)?
            .reaching(Reach::Public(args.polling.networks.clone()))
            .signing_with(key);
        let bound = listener.local_addr().map_err(|e| unavailable(address, &e))?;
        let path = if args.demo { seed(&app).await? } else { String::new() };
        let path = if args.demo && bound.ip().is_loopback() { signed_in(&app, &path)? } else { path };
        let first = app.first_token().await?.map(|(_, secret)| secret);
        say(bound, &path, &database, args.demo, first.as_deref());
        tell_systemd(NotifyState::Ready);
        // Other processes, on other machines and after this one, must not be taken for it.
        let holder = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        let poller = args.polling.poller(&app, &holder);
        let messenger = args.polling.messenger(&app, &holder);
        let polling = poller.clone().map(|poller| tokio::spawn(poller.run()));
        let telling = tokio::spawn(messenger.clone().run());
        let sending = args.audit_syslog.clone().map(|to| tokio::spawn(app.clone().send_syslog(to)));
        let delay = Duration::from_secs(args.drain_delay);
        let draining = app.clone();
        let served =
            run_until(signals, &draining, delay, |stop| serve(listener, app, args.login.limits(), stop))
                .await;
        // What is being asked is given up, servers that were started for it included, and left to others.
        if let (Some(poller), Some(polling)) = (poller, polling) {
            polling.abort();
            _ = polling.await;
            poller.release().await?;
        }
        telling.abort();
        _ = telling.await;
        messenger.release().await?;
        if let Some(sending) = sending {
            sending.abort();
        }
        served.map_err(|e| unavailable(bound, &e))
    })?;
    Ok(String::new().into())
}

/// Tells whoever started it how it is (`sd_notify(3)`); nobody is told where `NOTIFY_SOCKET` names nobody.
fn tell_systemd(state: NotifyState) {
    if let Err(e) = sd_notify::notify(&[state]) {
        tracing::warn!("`NOTIFY_SOCKET` does not take messages: {e}");
    }
}

/// Fills the demo and says which page is worth looking at first.
async fn seed(app: &App) -> Result<String, AppError> {
    let program = env::current_exe().map_err(|e| {
        AppError::new(Kind::Unavailable, "demo-unavailable", format!("the demo server cannot be found: {e}"))
    })?;
    let state = demo::seed(app, &program).await?;
    Ok(format!("catalogs/{}/drafts/{}", state.catalog, state.draft))
}

/// The path that signs in whoever follows it, once, and leads on to this one.
fn signed_in(app: &App, path: &str) -> Result<String, AppError> {
    Ok(format!("login/link?secret={}&next=/{path}", app.link(DEMO_USER)?))
}

fn say(bound: SocketAddr, path: &str, database: &Place, demo: bool, first: Option<&str>) {
    let url = format!("http://{bound}/{path}");
    let what = if demo {
        "a demo, gone when it stops; the address signs you in, once, and opens a review that waits".to_owned()
    } else {
        format!("database `{database}`")
    };
    // Whoever started it may read no longer; the service runs all the same.
    let token = match first {
        Some(secret) => format!(
            "\nthe first token, an admin's, shown this once: {secret}\n(sign in with it at http://{bound}/login)\n"
        ),
        None => String::new(),
    };
    _ = super::print(&format!("toolpact serves {url}\n({what}; stop with Ctrl-C)\n{token}"));
    if !bound.ip().is_loopback() {
        tracing::warn!("{bound} is reached in clear: put a proxy before it that speaks TLS");
    }
}

fn address(args: &Args) -> Result<SocketAddr, AppError> {
    let invalid = |cause: &str| {
        AppError::new(
            Kind::Invalid,
            "invalid-address",
            format!("cannot listen on `{}`: {cause}", args.listen),
        )
    };
    let all: Vec<SocketAddr> = args
        .listen
        .to_socket_addrs()
        .map_err(|e| invalid(&e.to_string()).help("an address is written 127.0.0.1:7878"))?
        .collect();
    let first = *all.first().ok_or_else(|| invalid("the name has no address"))?;
    if !args.allow_remote && !all.iter().all(|a| a.ip().is_loopback()) {
        return Err(invalid("other machines reach it, and tokens would travel in clear")
            .help("keep to 127.0.0.1 behind a proxy that speaks TLS, or pass `--allow-remote`"));
    }
    Ok(first)
}

async fn bind(address: SocketAddr) -> Result<TcpListener, AppError> {
    TcpListener::bind(address).await.map_err(|e| {
        unavailable(address, &e)
            .help("another program may have the port; `--listen 127.0.0.1:0` takes a free one")
    })
}

fn unavailable(address: SocketAddr, error: &io::Error) -> AppError {
    AppError::new(Kind::Unavailable, "cannot-listen", format!("cannot serve on `{address}`: {error}"))
}

/// SIGINT and SIGTERM.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> Result<Self, AppError> {
        let both = || {
            let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            Ok(Self { interrupt, terminate })
        };
        both().map_err(|e: io::Error| {
            AppError::new(Kind::Unavailable, "no-signals", format!("signals cannot be received: {e}"))
        })
    }

    /// Waits for the next of either.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits that long, or for the next of either; whether it was that.
    async fn within(&mut self, span: Duration) -> bool {
        tokio::select! {
            () = self.next() => true,
            () = tokio::time::sleep(span) => false,
        }
    }
}

/// Serves until the first signal, says for a while that it is about to end, takes no more requests then, and gives those in
/// flight no longer than [`GRACE`]. A second signal ends it at once.
async fn run_until(
    mut signals: Signals,
    app: &App,
    delay: Duration,
    serve: impl FnOnce(Stop) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>>,
) -> io::Result<()> {
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let serving = serve(Box::pin(async {
        // An end of the sender is a stop as well.
        _ = told.await;
    }));
    let overtime = async {
        signals.next().await;
        app.drain();
        tell_systemd(NotifyState::Stopping);
        tracing::info!("told to stop; `/readyz` says so");
        if signals.within(delay).await {
            return;
        }
        _ = tell.send(());
        if !signals.within(GRACE).await {
            tracing::warn!("requests took longer than {} s and were given up", GRACE.as_secs());
        }
    };
    tokio::select! {
        ended = serving => ended,
        () = overtime => Ok(()),
    }
}

/// The folder of a demo's database; removed when dropped.
struct DemoFolder(PathBuf);

impl DemoFolder {
    fn new() -> Result<Self, AppError> {
        let folder = env::temp_dir().join(format!("toolpact-demo-{}", std::process::id()));
        let failed = |e: io::Error| {
            AppError::new(
                Kind::Unavailable,
                "no-demo-folder",
                format!("the folder `{}` for the demo cannot be made: {e}", folder.display()),
            )
            .help("set TMPDIR to a folder that can be written")
        };
        // Left by an earlier process of the same number, which was killed.
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(failed)?;
        }
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(failed)?;
        Ok(Self(folder))
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        if let Err(e) = fs::remove_dir_all(&self.0) {
            tracing::warn!("the folder `{}` of the demo stays: {e}", self.0.display());
        }
    }
}
