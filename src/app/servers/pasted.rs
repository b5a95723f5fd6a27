//! Import from a browser. What is read is read as any import is; what may come of it is less.
//!
//! Only a URL that refers to nothing is registered. A command would run on this machine, and a reference would be resolved
//! from its environment and its files, so whoever may log in to it adds those: each is shown with the line that does.

use super::{Import, add::can_work, shown};
use crate::{
    app::{App, AppError},
    catalog::{ServerSource, ServerSpec, server::HttpTransport},
    config::{self, Entry, Found},
    name::ServerName,
};

/// What the text is called in errors.
const PASTED: &str = "what was pasted";

/// What came of a configuration that was pasted.
#[derive(Debug, Clone)]
pub struct Pasted {
    /// What was registered, or would have been.
    pub import: Import,
    /// What has to be added on the machine that asks it.
    pub by_hand: Vec<ByHand>,
}

/// A server that a browser cannot register.
#[derive(Debug, Clone)]
pub struct ByHand {
    /// The server.
    pub server: ServerName,
    /// Where it is found.
    pub source: String,
    /// Why it is not registered.
    pub why: &'static str,
    /// The command line that registers it; nothing where only `toolpact import` can say all of it.
    pub line: Option<String>,
    /// What whoever adds it should know.
    pub notes: Vec<String>,
}

impl App {
    /// Registers the servers of a configuration that a browser sent, as far as it may: all of them, or none. Where one is
    /// registered otherwise nothing is written, unless `replace` says so.
    ///
    /// # Errors
    /// Where the text is no configuration, the caller may not, or the store fails.
    pub async fn import_pasted(&self, text: &str, replace: bool, actor: &str) -> Result<Pasted, AppError> {
        let found = super::read(PASTED, text, config::Options::default())?;
        let mut asked = Found { servers: Vec::new(), ..found };
        let mut by_hand = Vec::new();
        for entry in found.servers {
            // What was said of it beside its source stays, and would be sent to what the browser names.
            let known = self.store.registration(&entry.spec.name).await?.map(|r| r.spec);
            let becomes = match known {
                Some(known) if known.source != entry.spec.source => {
                    ServerSpec { source: entry.spec.source.clone(), ..known }
                }
                Some(_) | None => entry.spec.clone(),
            };
            match why_by_hand(&becomes) {
                Some(why) => by_hand.push(ByHand::of(entry, why)),
                None => match can_work(&entry.spec.source) {
                    Ok(()) => asked.servers.push(entry),
                    Err(cause) => asked.skipped.push((entry.spec.name.into(), cause)),
                },
            }
        }
        Ok(Pasted { import: self.import(asked, replace, false, actor).await?, by_hand })
    }
}

/// Why a browser may not register this.
fn why_by_hand(spec: &ServerSpec) -> Option<&'static str> {
    match &spec.source {
        ServerSource::Stdio { .. } => Some("it is a command, and commands are never taken over HTTP"),
        ServerSource::Http { .. } if spec.references().is_empty() => None,
        ServerSource::Http { .. } => Some(
            "it refers to variables or files of the machine that asks it, and those are for its users to name",
        ),
    }
}

impl ByHand {
    fn of(Entry { spec, notes }: Entry, why: &'static str) -> Self {
        Self { source: shown(&spec.source), line: line(&spec), server: spec.name, why, notes }
    }
}

/// The command line that registers a server; nothing where a flag is missing for a part of it.
fn line(spec: &ServerSpec) -> Option<String> {
    let mut words = vec!["toolpact".to_owned(), "servers".into(), "add".into(), spec.name.to_string()];
    match &spec.source {
        ServerSource::Stdio { program, args, env, cwd } => {
            for (name, value) in env {
                words.extend(["--env".to_owned(), format!("{name}={value}")]);
            }
            words.extend(cwd.iter().flat_map(|cwd| ["--cwd".to_owned(), cwd.to_string()]));
            words.extend(["--".to_owned(), program.to_string()]);
            words.extend(args.iter().map(ToString::to_string));
        }
        // Without a word for it the newer transport is tried first, which is the one that is meant here.
        ServerSource::Http {
            url,
            headers,
            transport: HttpTransport::Auto | HttpTransport::StreamableHttp,
            oauth: None,
        } => {
            words.extend(["--url".to_owned(), url.to_string()]);
            for (name, value) in headers {
                words.extend(["--header".to_owned(), format!("{name}={value}")]);
            }
        }
        ServerSource::Http { .. } => return None,
    }
    shlex::try_join(words.iter().map(String::as_str)).ok()
}
