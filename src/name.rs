//! The names by which toolpact knows servers, catalogs, environments and webhooks: chosen by people here, never by a server.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt;

use serde::{Deserialize, Serialize};

/// A text that cannot be a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` cannot be the name of {what}; use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter or digit"
)]
pub struct InvalidName {
    /// What it was to name.
    pub what: &'static str,
    /// The text.
    pub text: String,
}

fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && text.as_bytes()[0].is_ascii_alphanumeric()
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $what:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;
            fn from_str(text: &str) -> Result<Self, InvalidName> {
                text.to_owned().try_into()
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(text: String) -> Result<Self, InvalidName> {
                if is_name(&text) { Ok(Self(text)) } else { Err(InvalidName { what: $what, text }) }
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names! {
    /// A server's name.
    ServerName = "a server";
    /// A catalog's name.
    CatalogName = "a catalog";
    /// An environment's name.
    EnvironmentName = "an environment";
    /// A team's name.
    TeamName = "a team";
    /// A webhook's name.
    WebhookName = "a webhook";
}

impl ServerName {
    /// The name nearest to a text that somebody else chose: what no name may have becomes a hyphen, what it may not
    /// begin with is dropped, and the end is cut. Nothing where nothing is left.
    #[must_use]
    pub fn adapted(text: &str) -> Option<Self> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let name: String = text.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
        let name = name.trim_start_matches(['.', '_', '-']).trim_end_matches('-');
        name.chars().take(64).collect::<String>().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::ServerName;

    #[test]
    fn a_name_of_somebody_elses_is_adapted() {
        for (text, expected) in [
            ("github", Some("github")),
            ("io.github.ann/weather", Some("io.github.ann-weather")),
            ("@amap/amap-maps", Some("amap-amap-maps")),
            ("My Server!", Some("My-Server")),
            ("größe", Some("gr--e")),
            ("高德", None),
            ("", None),
        ] {
            assert_eq!(ServerName::adapted(text).as_ref().map(ServerName::as_str), expected, "{text}");
        }
        assert_eq!(ServerName::adapted(&"a".repeat(80)).map(|n| n.as_str().len()), Some(64));
    }
}
