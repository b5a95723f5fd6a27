//! What every command is given beside its own arguments: the database, who acts, and a way into the use cases.

use std::{env, ffi::OsString, fs, path::PathBuf, sync::Arc};

use tokio::signal::unix::{SignalKind, signal};

use super::key::read_signing;
use crate::{
    app::{App, AppError, Kind, Place, SystemClock},
    catalog::sign::SigningKey,
};

/// The stack of a thread that may judge a diff: as much as a main thread has, because schemas nest.
pub(super) const STACK: usize = 8 << 20;

/// The global options.
pub(super) struct Context {
    /// The database, where one was named.
    pub(super) database: Option<OsString>,
    actor: Option<String>,
    signing_key: Option<PathBuf>,
}

/// What a command does to the database.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Looks; a database that is not there is a failure, never an empty answer.
    Read,
    /// Looks for a registered server; a database that is not there holds none.
    Registered,
    /// Changes; the database is made where it is not there.
    Write,
}

impl Context {
    /// What was given on the command line or in variables of our own; `DATABASE_URL`, which others read as well, is asked
    /// last. An empty one counts as unset.
    pub(super) fn new(
        database: Option<OsString>,
        actor: Option<String>,
        signing_key: Option<PathBuf>,
    ) -> Self {
        let database = database.or_else(|| env::var_os("DATABASE_URL").filter(|url| !url.is_empty()));
        let signing_key = signing_key.filter(|path| !path.as_os_str().is_empty());
        Self { database, actor, signing_key }
    }

    /// Who acts: as told, or the name of the account. Never guessed: the audit log is worth what this name is worth.
    pub(super) fn actor(&self) -> Result<String, AppError> {
        self.actor
            .clone()
            .or_else(|| ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| env::var(name).ok()))
            .or_else(account)
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .ok_or_else(|| {
                AppError::new(
                    Kind::Invalid,
                    "no-actor",
                    "who acts is not known, and the audit log needs a name",
                )
                .help("pass `--actor NAME` or set TOOLPACT_ACTOR")
            })
            .and_then(|name| crate::app::actor(&name))
    }

    /// What is signed with, where that was said.
    pub(super) fn signing_key(&self) -> Result<Option<SigningKey>, AppError> {
        self.signing_key.as_deref().map(read_signing).transpose()
    }

    /// Where the database is.
    pub(super) fn database(&self) -> Result<Place, AppError> {
        if let Some(named) = &self.database {
            // What is no Unicode can only be a path.
            return named.to_str().map_or_else(|| Ok(Place::File(named.into())), str::parse).map_err(|e| {
                AppError::new(Kind::Invalid, "invalid-database", e.to_string())
                    .help("name a file, or a database as postgres://USER:PASSWORD@HOST:PORT/DATABASE")
            });
        }
        // An empty variable counts as unset, and a relative one is to be ignored (XDG base directories).
        let folder = |name: &str| {
            env::var_os(name).map(PathBuf::from).filter(|p| !p.as_os_str().is_empty() && p.is_absolute())
        };
        folder("XDG_DATA_HOME")
            .or_else(|| Some(folder("HOME")?.join(".local").join("share")))
            .map(|data| Place::File(data.join("toolpact").join("toolpact.db")))
            .ok_or_else(|| {
                AppError::new(
                    Kind::Invalid,
                    "no-database",
                    "there is no place for the database: HOME is not set",
                )
                .help("pass `--database FILE` or set TOOLPACT_DATABASE")
            })
    }

    /// Where the database is, which must be there.
    pub(super) fn present(&self) -> Result<Place, AppError> {
        let database = self.database()?;
        if !database.is_absent() {
            return Ok(database);
        }
        let message = format!("there is no database at `{database}`");
        Err(AppError::new(Kind::Unavailable, "no-database", message)
            .help("take a first snapshot (`toolpact snapshot NAME -- COMMAND`), or name another with `--database FILE`"))
    }

    /// Runs `work` over the database.
    pub(super) fn with_app<T>(
        &self,
        access: Access,
        work: impl AsyncFnOnce(&App) -> Result<T, AppError>,
    ) -> Result<T, AppError> {
        let database = self.database()?;
        match access {
            Access::Read => _ = self.present()?,
            Access::Registered if database.is_absent() => {
                let message = format!("no server is registered: there is no database at `{database}`");
                return Err(AppError::new(Kind::NotFound, "no-servers", message).help(
                    "register those of a host with `toolpact import FILE`, or say where the server is: `-- COMMAND` or `--url URL`",
                ));
            }
            Access::Registered => {}
            Access::Write => make_folder(&database)?,
        }
        let key = self.signing_key()?;
        block_on(async {
            let app = App::open(&database, Arc::new(SystemClock)).await?.signing_with(key);
            work(&app).await
        })
    }
}

/// The name of the account that runs this process. In containers no variable says it.
fn account() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let uid = fs::metadata("/proc/self").ok()?.uid().to_string();
    let accounts = fs::read_to_string("/etc/passwd").ok()?;
    accounts
        .lines()
        .map(|l| l.split(':').collect::<Vec<_>>())
        .find(|f| f.get(2) == Some(&uid.as_str()))?
        .first()
        .map(|n| (*n).to_owned())
}

/// Makes the folder that the database is to stand in.
pub(super) fn make_folder(database: &Place) -> Result<(), AppError> {
    let Place::File(path) = database else { return Ok(()) };
    let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|e| {
        AppError::new(
            Kind::Unavailable,
            "no-database",
            format!("the folder `{}` of the database cannot be made: {e}", folder.display()),
        )
        .help("name another place with `--database FILE`")
    })
}

/// Runs one command's future to its end, or until someone asks the process to stop: dropping the future ends the server
/// that it may have started, children included, which stand in a process group of their own and hear no Ctrl-C. One
/// thread is enough for a command, and starts sooner than many.
pub(super) fn block_on<T>(future: impl Future<Output = Result<T, AppError>>) -> Result<T, AppError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .thread_stack_size(STACK)
        .enable_all()
        .build()
        .map_err(no_runtime)?;
    let done = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(no_runtime)?;
        // A terminal that was closed.
        let mut hangup = signal(SignalKind::hangup()).map_err(no_runtime)?;
        tokio::select! {
            done = future => done,
            _ = tokio::signal::ctrl_c() => Err(interrupted()),
            _ = terminate.recv() => Err(interrupted()),
            _ = hangup.recv() => Err(interrupted()),
        }
    });
    // A diff that nobody waits for any more must not keep the process.
    runtime.shutdown_background();
    done
}

/// The code of the error that a command ends with which was asked to stop.
pub(super) const INTERRUPTED: &str = "interrupted";

fn interrupted() -> AppError {
    AppError::new(
        Kind::Unavailable,
        INTERRUPTED,
        "interrupted before it was done; what it had begun was not stored",
    )
    .help("run it again; what was stored before is as it was")
}

/// The machine did not give what a runtime needs.
pub(super) fn no_runtime(error: std::io::Error) -> AppError {
    AppError::new(Kind::Unavailable, "no-runtime", format!("the runtime cannot start: {error}"))
}
