//! A registered server: where it is found, in words that hold no secret.
//!
//! What a person writes here stays *symbolic*: `${VAR}` is a reference that is resolved only when the server is
//! asked, from the environment, the files and the commands of whoever asks it, and never by a shell. So a spec can be
//! stored, shown and exported as it stands.

mod oauth;
mod symbolic;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use oauth::OAuth;
pub use symbolic::{Piece, Reference, Symbolic, Unresolved};

use crate::name::ServerName;

/// A server that can be asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSpec {
    /// What it is called here.
    pub name: ServerName,
    /// Where it is found.
    pub source: ServerSource,
    /// Credentials under which it is asked beside the source's own; none says "as the source stands".
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub contexts: Vec<AuthContext>,
    /// Seconds between two listings, where somebody said so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval: Option<u32>,
}

impl ServerSpec {
    /// A spec that says no more than where the server is found.
    #[must_use]
    pub fn new(name: ServerName, source: ServerSource) -> Self {
        Self { name, source, contexts: Vec::new(), interval: None }
    }

    /// What its source and its contexts refer to, once each, in the order in which it stands.
    #[must_use]
    pub fn references(&self) -> Vec<Reference<'_>> {
        let contexts = self.contexts.iter().flat_map(|context| {
            let oauth = context.oauth.iter().flat_map(|client| client.texts().map(|(_, text)| text));
            context.headers.values().chain(context.env.values()).chain(oauth)
        });
        distinct(self.source.texts().map(|(_, text)| text).chain(contexts))
    }
}

/// One authorization context: what is sent or set beside the source's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthContext {
    /// What it is called; stands in every listing's provenance.
    pub name: String,
    /// Headers, for a URL.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub headers: BTreeMap<String, Symbolic>,
    /// Variables, for a command.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub env: BTreeMap<String, Symbolic>,
    /// The client as which access is had, for a URL.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub oauth: Option<OAuth>,
}

/// Where a server is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub enum ServerSource {
    /// A command to run.
    Stdio {
        /// The program.
        program: Symbolic,
        /// Its arguments. Never seen by a shell.
        args: Vec<Symbolic>,
        /// Variables beside the few that every server gets.
        env: BTreeMap<String, Symbolic>,
        /// The folder it is started in.
        cwd: Option<Symbolic>,
    },
    /// A URL.
    Http {
        /// The URL.
        url: Symbolic,
        /// Headers sent with every request.
        headers: BTreeMap<String, Symbolic>,
        /// Which of the two HTTP transports.
        transport: HttpTransport,
        /// The client as which access is had, where it has to be had so.
        oauth: Option<OAuth>,
    },
}

/// How a URL is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HttpTransport {
    /// Streamable HTTP first, the older one where the server does not know it.
    #[default]
    Auto,
    /// Streamable HTTP.
    StreamableHttp,
    /// HTTP+SSE of 2024-11-05.
    Sse,
}

impl HttpTransport {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::StreamableHttp => "streamable-http",
            Self::Sse => "sse",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

impl ServerSource {
    /// A command without variables of its own.
    #[must_use]
    pub fn command(program: &str, args: &[&str]) -> Self {
        Self::Stdio {
            program: program.into(),
            args: args.iter().map(|a| (*a).into()).collect(),
            env: BTreeMap::new(),
            cwd: None,
        }
    }

    /// A URL without headers.
    #[must_use]
    pub fn url(url: &str) -> Self {
        Self::Http { url: url.into(), headers: BTreeMap::new(), transport: HttpTransport::Auto, oauth: None }
    }

    /// Every text in it, each with the name it stands under (empty for a command's words and a URL).
    pub fn texts(&self) -> impl Iterator<Item = (&str, &Symbolic)> {
        let (words, named, cwd, oauth) = match self {
            Self::Stdio { program, args, env, cwd } => {
                (std::iter::once(program).chain(args.as_slice()), env, cwd.as_ref(), None)
            }
            Self::Http { url, headers, oauth, .. } => {
                (std::iter::once(url).chain(&[] as &[Symbolic]), headers, None, oauth.as_ref())
            }
        };
        words
            .chain(cwd)
            .map(|text| ("", text))
            .chain(named.iter().map(|(name, text)| (name.as_str(), text)))
            .chain(oauth.into_iter().flat_map(|client| client.texts()))
    }

    /// The variables that it refers to, once each, in the order in which they stand.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let name = |reference| match reference {
            Reference::Variable(name) => Some(name),
            Reference::File(_) | Reference::Command(_) => None,
        };
        distinct(self.texts().map(|(_, text)| text)).into_iter().filter_map(name).collect()
    }
}

fn distinct<'a>(texts: impl Iterator<Item = &'a Symbolic>) -> Vec<Reference<'a>> {
    let mut all = Vec::new();
    for reference in texts.flat_map(Symbolic::references) {
        if !all.contains(&reference) {
            all.push(reference);
        }
    }
    all
}

/// How a source is written in documents and the database: either a command or a URL.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Flat {
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    command: Vec<Symbolic>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    env: BTreeMap<String, Symbolic>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    cwd: Option<Symbolic>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    url: Option<Symbolic>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    headers: BTreeMap<String, Symbolic>,
    #[serde(skip_serializing_if = "HttpTransport::is_auto", default)]
    transport: HttpTransport,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    oauth: Option<OAuth>,
}

impl From<ServerSource> for Flat {
    fn from(source: ServerSource) -> Self {
        let mut flat = Self {
            command: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            transport: HttpTransport::Auto,
            oauth: None,
        };
        match source {
            ServerSource::Stdio { program, args, env, cwd } => {
                flat.command = std::iter::once(program).chain(args).collect();
                (flat.env, flat.cwd) = (env, cwd);
            }
            ServerSource::Http { url, headers, transport, oauth } => {
                flat.url = Some(url);
                (flat.headers, flat.transport, flat.oauth) = (headers, transport, oauth);
            }
        }
        flat
    }
}

impl TryFrom<Flat> for ServerSource {
    type Error = &'static str;
    fn try_from(flat: Flat) -> Result<Self, Self::Error> {
        let mut words = flat.command.into_iter();
        match (words.next(), flat.url) {
            (Some(program), None) if flat.headers.is_empty() && flat.oauth.is_none() => {
                Ok(Self::Stdio { program, args: words.collect(), env: flat.env, cwd: flat.cwd })
            }
            (None, Some(url)) if flat.env.is_empty() && flat.cwd.is_none() => {
                Ok(Self::Http { url, headers: flat.headers, transport: flat.transport, oauth: flat.oauth })
            }
            (Some(_), _) | (None, _) => Err(
                "a source is either a `command` with `env` and `cwd`, or a `url` with `headers` and `oauth`",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ServerSource;

    #[test]
    fn a_source_is_stored_as_it_always_was() {
        for (text, good) in [
            (r#"{"command":["npx","-y","server"]}"#, true),
            (r#"{"url":"https://h/mcp"}"#, true),
            (r#"{"command":["a"],"env":{"B":"${C}"},"cwd":"/d"}"#, true),
            (r#"{"url":"https://h","headers":{"A":"${B}"},"transport":"sse"}"#, true),
            (r#"{"url":"https://h","oauth":{"clientId":"a","clientSecret":"${B}"}}"#, true),
            (r#"{"command":["a"],"oauth":{"clientId":"a","clientSecret":"${B}"}}"#, false),
            (r#"{"command":["a"],"url":"https://h"}"#, false),
            (r#"{"command":["a"],"headers":{"A":"b"}}"#, false),
            (r#"{"url":"https://h","env":{"A":"b"}}"#, false),
            ("{}", false),
        ] {
            match serde_json::from_str::<ServerSource>(text) {
                Ok(source) => {
                    assert_eq!((serde_json::to_string(&source).expect("JSON"), good), (text.to_owned(), true))
                }
                Err(error) => assert!(!good, "{text}: {error}"),
            }
        }
    }
}
