//! How a database is, and copies of it that are known to be whole.

use std::{path::Path, sync::Arc};

use chrono::TimeDelta;
use serde::Serialize;

use super::{App, AppError, Clock, Kind, Place, not_opened, shown};

/// How far clocks may be apart. Leases last longer by far, and times are what people compare.
const SKEW: TimeDelta = TimeDelta::seconds(5);
/// Room that a file wants beside it: for what is written ahead, and for a copy.
const ROOM: u64 = 256 << 20;

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// What: `database`, `migrations`, `durability`, `integrity`, `events`, `clock` or `disk`.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was seen.
    pub said: String,
    /// What to do; empty where it is as it should be.
    pub help: &'static str,
}

/// A copy that was made.
#[derive(Debug, Clone, Serialize)]
pub struct Backup {
    /// How many events it holds.
    pub events: usize,
    /// The first that does not fit the chain, and why. It is as in the database itself.
    pub broken: Option<(i64, String)>,
}

impl App {
    /// Looks a database over. Changes nothing.
    ///
    /// # Errors
    /// Where it does not answer, or is another program's or made by a newer toolpact.
    pub async fn doctor(place: &Place, clock: Arc<dyn Clock>) -> Result<Vec<Check>, AppError> {
        let before = clock.now();
        let condition = place.examine().await.map_err(|e| not_opened(place, e))?;
        let after = clock.now();
        let mut checks = Vec::new();
        let mut check = |name, ok, said: String, help| {
            checks.push(Check { name, ok, said, help: if ok { "" } else { help } });
        };
        check("database", true, format!("`{place}` answers, {}", condition.engine), "");
        let current = condition.pending == Some(0);
        if let Some(pending) = condition.pending {
            let said = if current { "all have run".to_owned() } else { format!("{pending} have not run") };
            check("migrations", current, said, "run `toolpact migrate`");
        }
        if let Some(durable) = condition.durable {
            let said = format!("the server's `fsync` is {}", if durable { "on" } else { "off" });
            check("durability", durable, said, "turn it on: an answered move may be lost with the power");
        }
        let whole = condition.faults.is_empty();
        // A server looks after its own.
        if let Place::File(_) = place {
            let said = if whole { "no fault was found".to_owned() } else { condition.faults.join("; ") };
            check("integrity", whole, said, "mend it, or go back to a backup");
        }
        // What is damaged or of another day cannot be read as it should be.
        if current && whole {
            let store = match place {
                Place::File(path) => Place::read(path).await,
                Place::Server(_) => place.open().await,
            };
            let app = Self::new(store.map_err(|e| not_opened(place, e))?, clock.clone());
            let chain = app.verify_events().await?;
            let said = match &chain.broken {
                None => format!("{} in a chain that holds", chain.events),
                Some((seq, why)) => format!("event {seq} does not fit the chain: {why}"),
            };
            check(
                "events",
                chain.broken.is_none(),
                said,
                "find out who wrote to the database, and go back to a backup",
            );
            let newest = app.events(1).await?.into_iter().next().map(|event| event.at);
            if let Some(newest) = newest.filter(|at| *at - after > SKEW) {
                let said =
                    format!("it is {} here, and the newest event is of {}", shown(after), shown(newest));
                check(
                    "clock",
                    false,
                    said,
                    "set the clock of this machine, or of the one that wrote the event",
                );
            }
        }
        if let Some(there) = condition.clock {
            // Asked at some moment between the two.
            let apart = (before - there).max(there - after).max(TimeDelta::zero());
            let said = format!("{:.1} s apart from the database's", apart.as_seconds_f64());
            check("clock", apart <= SKEW, said, "let both machines keep their clocks by NTP");
        }
        if let Some((used, free)) = condition.room {
            let said = format!("{} MiB are free, the file takes {} MiB", free >> 20, used.div_ceil(1 << 20));
            check("disk", free >= ROOM.max(used), said, "make room: a write that finds none is refused");
        }
        Ok(checks)
    }

    /// Copies a file, whoever writes to it meanwhile, opens the copy and checks it. It has its name only when it is whole.
    ///
    /// # Errors
    /// Where the name is taken, the copy cannot be written or is not whole, or the database is a server's.
    pub async fn backup(place: &Place, to: &Path, clock: Arc<dyn Clock>) -> Result<Backup, AppError> {
        if let Place::Server(_) = place {
            let message = format!("database `{place}` is a server's, which is copied by its own programs");
            return Err(AppError::new(Kind::Invalid, "backup-of-server", message)
                .help("`pg_dump --format=custom --file=FILE URL`, and `pg_restore` to go back"));
        }
        let shown = to.display();
        let unwritten = |e: &std::io::Error| {
            AppError::new(Kind::Unavailable, "backup-failed", format!("`{shown}` could not be written: {e}"))
                .help("name a file in a folder that can be written to, on a disk with room")
        };
        if to.symlink_metadata().is_ok() {
            return Err(AppError::new(Kind::Invalid, "backup-exists", format!("`{shown}` is there already"))
                .help("name a file that is not there: no copy is written over another"));
        }
        let folder = to.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let copy = tempfile::NamedTempFile::new_in(folder).map_err(|e| unwritten(&e))?;
        place.copy(copy.path()).await.map_err(|e| not_opened(place, e))?;
        let condition = Place::from(copy.path()).examine().await?;
        if let Some(fault) = condition.faults.first() {
            let message = format!("the copy of `{place}` is not whole, and was not kept: {fault}");
            return Err(AppError::new(Kind::Unavailable, "backup-failed", message)
                .help("see how the database is with `toolpact doctor`"));
        }
        let app = Self::new(Place::read(copy.path()).await?, clock);
        let chain = app.verify_events().await?;
        // SQLite leaves it to the system when a copy reaches the disk.
        copy.as_file().sync_all().map_err(|e| unwritten(&e))?;
        copy.persist_noclobber(to).map_err(|e| unwritten(&e.error))?;
        std::fs::File::open(folder).and_then(|f| f.sync_all()).map_err(|e| unwritten(&e))?;
        Ok(Backup { events: chain.events, broken: chain.broken })
    }
}
