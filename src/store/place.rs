//! Where a database is, as people write it, and opened.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use super::{
    Result, Store,
    postgres::{Address, PostgresStore},
    sqlite::SqliteStore,
};

/// Where a database is. Shown without a password.
#[derive(Debug, Clone)]
pub enum Place {
    /// A file of SQLite.
    File(PathBuf),
    /// A database of a PostgreSQL server.
    Server(Address),
}

/// A text that says no place. It may hold a password, so it is not repeated.
#[derive(Debug, thiserror::Error)]
pub enum InvalidPlace {
    /// A URL of something else.
    #[error("a database whose URL begins with `{0}:` is not supported")]
    Scheme(String),
    /// A URL of PostgreSQL that cannot be read.
    #[error("the URL of the database cannot be read: {0}")]
    Url(String),
    /// Nothing, or SQLite's name for a database in memory.
    #[error("no file is named for the database")]
    NoFile,
}

impl Place {
    /// Whether it is a file that is not there.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        match self {
            Self::File(path) => !path.exists(),
            Self::Server(_) => false,
        }
    }

    /// Opens the database. A file is made where it is absent, and brought up to date.
    ///
    /// # Errors
    /// Where it cannot be opened, or is no database of ours; on a server also where it is not up to date.
    pub async fn open(&self) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::File(path) => Arc::new(SqliteStore::open(path).await?),
            Self::Server(address) => Arc::new(PostgresStore::open(address).await?),
        })
    }

    /// Opens a file for reading alone, as it is.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn read(path: &Path) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(SqliteStore::read(path).await?))
    }

    /// Brings the tables up to date; answers how many migrations ran. Any number of processes may do so at once.
    ///
    /// # Errors
    /// Where it cannot be opened, or is another program's or made by a newer toolpact.
    pub async fn migrate(&self) -> Result<usize> {
        match self {
            Self::File(path) => SqliteStore::migrate(path).await,
            Self::Server(address) => PostgresStore::migrate(address).await,
        }
    }
}

impl From<&Path> for Place {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

impl FromStr for Place {
    type Err = InvalidPlace;
    /// `postgres://…`, `postgresql://…`, `sqlite:PATH` or a path.
    fn from_str(text: &str) -> std::result::Result<Self, InvalidPlace> {
        let file = |path: &str| match path {
            "" | ":memory:" => Err(InvalidPlace::NoFile),
            path => Ok(Self::File(path.into())),
        };
        let Some((scheme, rest)) = text.split_once(':') else { return file(text) };
        match scheme {
            "postgres" | "postgresql" => text.parse().map(Self::Server),
            "sqlite" => file(rest.strip_prefix("//").unwrap_or(rest)),
            _ if rest.starts_with("//") => Err(InvalidPlace::Scheme(scheme.to_owned())),
            _ => file(text),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Server(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn a_place_is_read_as_people_write_it_and_shown_without_its_password() {
        for (text, expected) in [
            ("toolpact.db", "toolpact.db"),
            ("/var/lib/a:b.db", "/var/lib/a:b.db"),
            ("sqlite:toolpact.db", "toolpact.db"),
            ("sqlite:///var/lib/toolpact.db", "/var/lib/toolpact.db"),
            ("postgres://ann:hunter2@db.example:5433/tools", "postgres://ann@db.example:5433/tools"),
            ("postgresql://ann@db.example/tools?password=hunter2", "postgres://ann@db.example:5432/tools"),
            ("postgres:///tools?host=/run/pg&user=ann&port=5432", "postgres://ann@/run/pg:5432/tools"),
            ("mysql://ann:hunter2@db/tools", "a database whose URL begins with `mysql:` is not supported"),
            (
                "postgres://ann:hunter2@db:99999999/tools",
                "the URL of the database cannot be read: invalid port number",
            ),
            ("sqlite::memory:", "no file is named for the database"),
            ("", "no file is named for the database"),
        ] {
            let (shown, debug) = match text.parse::<Place>() {
                Ok(place) => (place.to_string(), format!("{place:?}")),
                Err(e) => (e.to_string(), format!("{e:?}")),
            };
            assert_eq!(shown, expected, "{text}");
            assert!(!debug.contains("hunter2"), "{debug}");
        }
    }
}
