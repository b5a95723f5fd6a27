//! The two version numbers: contractVersion (semver) and catalogVersion (calendar).

use std::{fmt, str::FromStr};

use chrono::{Datelike, NaiveDate};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::diff::Bump;

/// `2026.11.30`; the second of that day is `2026.11.30.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CatalogVersion {
    date: NaiveDate,
    nth: u32,
}

/// A text that is no catalogVersion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no catalogVersion; one is a date such as 2026.11.30, the second of that day 2026.11.30.1")]
pub struct InvalidCatalogVersion(pub String);

impl CatalogVersion {
    /// The next free number on a day, given those that exist.
    pub fn next(today: NaiveDate, existing: impl IntoIterator<Item = Self>) -> Self {
        let nth = existing.into_iter().filter(|v| v.date == today).map(|v| v.nth + 1).max().unwrap_or(0);
        Self { date: today, nth }
    }

    /// A number that sorts as versions do, for whoever cannot compare versions.
    #[must_use]
    pub fn ordinal(self) -> i64 {
        let day = i64::from(self.date.year()) * 10_000 + i64::from(self.date.month() * 100 + self.date.day());
        day * 1_000_000 + i64::from(self.nth)
    }

    /// Whether versions can go on from this one for as long as anybody lives: what a document brings is followed by
    /// numbers that are one larger, and they have to be readable too.
    #[must_use]
    pub fn leaves_room(self) -> bool {
        self.date.year() <= 9_999 && self.nth <= 9_999
    }

    /// The day.
    #[must_use]
    pub fn date(self) -> NaiveDate {
        self.date
    }
}

impl fmt::Display for CatalogVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}.{:02}.{:02}", self.date.year(), self.date.month(), self.date.day())?;
        if self.nth > 0 { write!(f, ".{}", self.nth) } else { Ok(()) }
    }
}

impl FromStr for CatalogVersion {
    type Err = InvalidCatalogVersion;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidCatalogVersion(text.to_owned());
        let parts: Vec<&str> = text.split('.').collect();
        let number = |s: &str| -> Option<u32> {
            (!s.is_empty() && s.len() <= 6 && s.bytes().all(|b| b.is_ascii_digit()))
                .then(|| s.parse().ok())?
        };
        let (y, m, d, nth) = match parts.as_slice() {
            [y, m, d] => (y, m, d, 0),
            // `.0` would be a second spelling of the first version of the day.
            [y, m, d, nth] => (y, m, d, number(nth).filter(|n| *n > 0).ok_or_else(invalid)?),
            _ => return Err(invalid()),
        };
        let date = number(y)
            .zip(number(m))
            .zip(number(d))
            .and_then(|((y, m), d)| NaiveDate::from_ymd_opt(i32::try_from(y).ok()?, m, d))
            .ok_or_else(invalid)?;
        let version = Self { date, nth };
        // One spelling each: no `2026.1.2` beside `2026.01.02`.
        if version.to_string() == text { Ok(version) } else { Err(invalid()) }
    }
}

impl Serialize for CatalogVersion {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CatalogVersion {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Semver of one tool's contract. The integer form `1` reads as `1.0.0`, and a version without minor and patch is
/// written so in documents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContractVersion(pub semver::Version);

/// A text that is no contractVersion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no contractVersion; one is a semantic version such as 1.2.0, or an integer such as 1 for 1.0.0"
)]
pub struct InvalidContractVersion(pub String);

impl ContractVersion {
    /// What a tool's first contract gets.
    #[must_use]
    pub fn first() -> Self {
        Self(semver::Version::new(1, 0, 0))
    }

    /// The next version under this bump. No number overflows: what comes in from outside [leaves
    /// room](Self::leaves_room).
    #[must_use]
    pub fn bumped(&self, bump: Bump) -> Self {
        let v = &self.0;
        Self(match bump {
            Bump::None => v.clone(),
            Bump::Patch => semver::Version::new(v.major, v.minor, v.patch + 1),
            Bump::Minor => semver::Version::new(v.major, v.minor + 1, 0),
            Bump::Major => semver::Version::new(v.major + 1, 0, 0),
        })
    }

    /// Whether bumps can go on from this one for as long as anybody lives.
    #[must_use]
    pub fn leaves_room(&self) -> bool {
        [self.0.major, self.0.minor, self.0.patch].iter().all(|n| *n <= 999_999_999)
    }

    /// The integer form, where it has one.
    #[must_use]
    pub fn as_integer(&self) -> Option<u64> {
        let v = &self.0;
        (v.minor == 0 && v.patch == 0 && v.pre.is_empty() && v.build.is_empty()).then_some(v.major)
    }
}

impl fmt::Display for ContractVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ContractVersion {
    type Err = InvalidContractVersion;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(major) = text.parse::<u64>() {
            return Ok(Self(semver::Version::new(major, 0, 0)));
        }
        text.parse().map(Self).map_err(|_| InvalidContractVersion(text.to_owned()))
    }
}

impl Serialize for ContractVersion {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContractVersion {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}
