//! From a symbolic source to one that can be asked, and what the values of its variables must not reach.

use std::{collections::BTreeMap, path::Path};

use tempfile::TempDir;
use tokio::sync::mpsc::{self, Sender};

use crate::{
    app::{AppError, Kind, ingest::Known},
    catalog::{
        ServerSource, ServerSpec,
        server::{AuthContext, OAuth, Reference, Symbolic, Unresolved},
    },
    mcp::{self, Ended, Limits, Source, Tokens},
    secret,
    snapshot::{Evidence, Held, Listing, Outcome, Provenance, Transport},
};

use super::reference::Said;

/// Where the values of variables come from.
pub(in crate::app) type Variables = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Shorter values are words that occur anywhere.
const SHORTEST_HIDDEN: usize = 6;

/// A source whose references are resolved, under one authorization context. Never stored, never shown.
pub(super) struct Start {
    context: String,
    source: Source,
    /// What was put in, and the reference that stood there.
    values: Vec<(String, String)>,
    /// The folder that a command is started in which names none; gone with this.
    _folder: Option<TempDir>,
}

/// A context under which a server cannot be asked.
pub(super) struct Unasked {
    context: Box<str>,
    /// Why: a variable is not set, a file or a command says nothing, or what comes out can never be a source.
    pub(super) error: AppError,
}

/// Resolves a spec's references, once for each of its authorization contexts; the first is the one that catalogs rely on.
/// Its files are read and its commands run once for all of them.
pub(super) async fn resolved(
    spec: &ServerSpec,
    variables: &Variables,
    tokens: &Tokens,
) -> Vec<Result<Start, Unasked>> {
    let said = Said::of(spec, variables).await;
    let none = AuthContext { name: "default".to_owned(), ..AuthContext::default() };
    let contexts = if spec.contexts.is_empty() { std::slice::from_ref(&none) } else { &spec.contexts };
    let start = |context: &AuthContext| {
        let start = match &said {
            Ok(said) => under(context, spec, said, tokens),
            Err(error) => {
                Err(AppError::new(error.kind, error.code, error.message.clone()).help(&*error.help))
            }
        };
        start.map_err(|error| Unasked { context: context.name.as_str().into(), error })
    };
    contexts.iter().map(start).collect()
}

impl Unasked {
    /// The listing that it is: recorded like one of a server that does not answer.
    fn listing(self, spec: &ServerSpec) -> Listing {
        let transport = match &spec.source {
            ServerSource::Stdio { .. } => Transport::Stdio,
            ServerSource::Http { .. } => Transport::Http,
        };
        let file = Provenance::file(&super::shown(&spec.source));
        let AppError { message, help, .. } = self.error;
        Listing {
            outcome: Outcome::Unavailable,
            evidence: Evidence { message, help, ..Evidence::default() },
            provenance: Provenance { transport, auth_context: self.context.into(), ..file },
            tools: Vec::new(),
            surfaces: Vec::new(),
            held: Held::default(),
        }
    }
}

/// Lists a server under each of its contexts, one after the other: it is one server.
pub(super) async fn list(
    starts: Vec<Result<Start, Unasked>>,
    spec: &ServerSpec,
    known: &Known,
) -> Vec<Listing> {
    let mut listings = Vec::new();
    // All of them are held until the last has ended.
    let room = known.room().together();
    for start in starts {
        listings.push(match start {
            Ok(start) => {
                let limits = Limits { room: room.clone(), ..known.under(&start.context) };
                start.list(spec, &limits).await
            }
            Err(unasked) => unasked.listing(spec),
        });
    }
    listings
}

fn under(
    context: &AuthContext,
    spec: &ServerSpec,
    said: &Said<'_>,
    tokens: &Tokens,
) -> Result<Start, AppError> {
    let name = &spec.name;
    let mut values = Vec::new();
    let mut resolve = |text: &Symbolic| {
        let resolved = text.resolve(|reference| {
            let value = said.value(reference)?;
            let is_secret = match reference {
                Reference::Variable(name) => secret::is_named(name),
                Reference::File(_) | Reference::Command(_) => true,
            };
            if value.len() >= SHORTEST_HIDDEN || (is_secret && !value.is_empty()) {
                values.push((value.clone(), reference.to_string()));
            }
            Some(value)
        });
        resolved.map_err(|error| unresolved(spec, error))
    };
    let source = match &spec.source {
        ServerSource::Stdio { program, args, env, cwd } => {
            let mut set = Vec::new();
            for (key, text) in with(env, &context.env) {
                let value = resolve(text)?;
                if !(value.is_empty() && may_be_left_out(text)) {
                    set.push((key.clone(), value));
                }
            }
            let args = args.iter().map(&mut resolve).collect::<Result<_, _>>()?;
            let cwd = cwd.as_ref().map(&mut resolve).transpose()?.map(Into::into);
            Ok(Source::Stdio { program: resolve(program)?, args, env: set, cwd })
        }
        ServerSource::Http { url, headers, transport, oauth } => {
            // A context's own way to have access stands in place of the source's.
            let own = |name: &str| context.oauth.is_none() || !mcp::is_authorization(name);
            let mut sent = Vec::new();
            for (key, text) in with(headers, &context.headers) {
                let value = resolve(text)?;
                let left_out = value.is_empty() && may_be_left_out(text);
                if !left_out && (own(key) || context.headers.contains_key(key)) {
                    sent.push((key.clone(), value));
                }
            }
            let by_header = context.headers.keys().any(|name| mcp::is_authorization(name));
            let client = context.oauth.as_ref().or(oauth.as_ref().filter(|_| !by_header));
            let source = Source::http(&resolve(url)?, sent).map(|source| source.with_transport(*transport));
            match client {
                None => source,
                Some(client) => {
                    let client = client_of(client, &mut resolve, tokens)?;
                    source.and_then(|source| source.with_oauth(client))
                }
            }
        }
    };
    // The longest first: one value may be a part of another.
    values.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
    values.dedup();
    let start = |mut source| {
        let folder = folder_for(&mut source);
        Start { context: context.name.clone(), source, values: values.clone(), _folder: folder }
    };
    source.map(start).map_err(|error| {
        let message = Hidden(&values).text(&error.to_string());
        AppError::new(Kind::Invalid, "invalid-source", format!("server `{name}` cannot be asked: {message}"))
            .help("correct it where it was imported from, and import it with `--replace`")
    })
}

/// An empty folder for a command that names none, so that what it reads and leaves there is nobody's. One that is written
/// from where we stand is started there.
fn folder_for(source: &mut Source) -> Option<TempDir> {
    let Source::Stdio { program, args, cwd: cwd @ None, .. } = source else { return None };
    let from_here = |word: &str| Path::new(word).is_relative() && Path::new(word).exists();
    if (program.contains('/') && Path::new(program).is_relative()) || args.iter().any(|arg| from_here(arg)) {
        return None;
    }
    // Where there is no place for one, it is started where we stand.
    let folder = tempfile::Builder::new().prefix("toolpact-").tempdir().ok()?;
    *cwd = Some(folder.path().to_owned());
    Some(folder)
}

fn client_of(
    client: &OAuth,
    resolve: &mut impl FnMut(&Symbolic) -> Result<String, AppError>,
    tokens: &Tokens,
) -> Result<mcp::OAuth, AppError> {
    let OAuth { token_url, client_id, client_secret, scope, resource } = client;
    Ok(mcp::OAuth {
        token_url: token_url.as_ref().map(&mut *resolve).transpose()?,
        client_id: resolve(client_id)?,
        client_secret: resolve(client_secret)?,
        scope: scope.as_ref().map(&mut *resolve).transpose()?,
        resource: resource.as_ref().map(&mut *resolve).transpose()?,
        tokens: tokens.clone(),
    })
}

/// The source's own, and those of the context in their place.
fn with<'a>(
    own: &'a BTreeMap<String, Symbolic>,
    more: &'a BTreeMap<String, Symbolic>,
) -> BTreeMap<&'a String, &'a Symbolic> {
    own.iter().chain(more).collect()
}

/// A variable or header that is nothing but a reference with an empty default, `${VAR:-}`: not set, it is left out.
fn may_be_left_out(text: &Symbolic) -> bool {
    text.as_str().starts_with("${") && text.as_str().ends_with(":-}") && text.pieces().count() == 1
}

fn unresolved(spec: &ServerSpec, error: Unresolved) -> AppError {
    let name = &spec.name;
    let (code, help) = match &error {
        Unresolved::Unset(variable) => {
            ("unset-variable", format!("set `{variable}` in the environment of toolpact, and ask again"))
        }
        Unresolved::Unknown(_) => (
            "unknown-reference",
            "write a variable in its place where it was written or imported from".to_owned(),
        ),
    };
    AppError::new(Kind::Invalid, code, format!("server `{name}` cannot be asked: {error}")).help(help)
}

impl Start {
    /// Lists the server.
    async fn list(self, spec: &ServerSpec, limits: &Limits) -> Listing {
        let listing = mcp::list(&self.source, limits).await;
        self.told(listing, spec)
    }

    /// Lists its tools alone.
    pub(super) async fn list_tools(self, spec: &ServerSpec, limits: &Limits) -> Listing {
        let listing = mcp::list_tools(&self.source, limits).await;
        self.told(listing, spec)
    }

    /// Follows the server; see [`mcp::changes`].
    pub(super) async fn follow(self, spec: &ServerSpec, known: &Known, listings: &Sender<Listing>) -> Ended {
        let limits = &known.under(&self.context);
        let (sender, mut received) = mpsc::channel(1);
        let following = async {
            let ended = mcp::changes(&self.source, limits, &sender).await;
            drop(sender);
            ended
        };
        let passing = async {
            while let Some(mut listing) = received.recv().await {
                if spec.contexts.len() > 1 {
                    // It has the server asked under all its contexts, and must not wait for itself then.
                    listing.held = Held::default();
                }
                if listings.send(self.told(listing, spec)).await.is_err() {
                    break;
                }
            }
            // Nobody takes them any more, and the one who follows is to learn it.
            drop(received);
        };
        match tokio::join!(following, passing).0 {
            Ended::Lost(listing) => Ended::Lost(Box::new(self.told(*listing, spec))),
            ended => ended,
        }
    }

    /// A listing as it may be kept: with references, not their values.
    fn told(&self, mut listing: Listing, spec: &ServerSpec) -> Listing {
        listing.provenance.target = super::shown(&spec.source);
        listing.provenance.auth_context.clone_from(&self.context);
        // What was sent as a header is told of already.
        if listing.evidence.warnings.iter().all(|warning| !warning.ends_with(mcp::CHANGE_IT)) {
            let mut secrets = self.values.iter().filter(|(_, reference)| is_secret(reference));
            let listed = secrets.find(|(value, _)| value.len() >= SHORTEST_HIDDEN && listing.lists(value));
            let listed =
                listed.map(|(_, reference)| mcp::lists_a_secret(&format!("what `{reference}` says")));
            listing.evidence.warnings.extend(listed);
        }
        let hidden = Hidden(&self.values);
        listing.each_text(&|text| *text = hidden.text(text));
        listing
    }
}

/// Whether what a reference says is a secret, by how it is written.
fn is_secret(reference: &str) -> bool {
    ["${file:", "${command:"].iter().any(|acts| reference.starts_with(acts)) || secret::is_named(reference)
}

/// Values that are written as their references again.
struct Hidden<'a>(&'a [(String, String)]);

impl Hidden<'_> {
    fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (value, reference)| secret::hide(&text, value, reference))
    }
}
