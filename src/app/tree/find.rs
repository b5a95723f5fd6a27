//! Where a tree says that its servers are: in `toolpact.yaml`, in the lockfile, or in the file of a host.

use std::fs;

use super::Tree;
use crate::{
    app::{AppError, Kind, servers},
    catalog::{ServerSource, ServerSpec},
    config,
    gate::{Lock, settings::Found},
    mcp::Source,
    name::ServerName,
};

/// The files in which hosts look for the servers of a project, in the order in which they are looked for here. The first
/// that is there counts.
const CONFIGURATIONS: [&str; 6] =
    [".mcp.json", "mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json", "server.json"];

/// A server to be asked.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name; what it says of itself where nobody else says it.
    pub name: Option<ServerName>,
    /// Where it is.
    pub place: Place,
    /// Which file says so; nothing where the command line does.
    pub origin: Option<String>,
    /// The file in which its version is declared, where somebody says it.
    pub version: Option<String>,
    /// Whether its version may be declared by the tree: it is the one server of it.
    pub alone: bool,
}

/// Where a server is.
#[derive(Debug, Clone)]
pub enum Place {
    /// A saved answer.
    File(String),
    /// As a file describes it, with references.
    Configured(ServerSpec),
    /// As it was given on the command line.
    Given(Source),
}

impl Target {
    /// As given on the command line.
    #[must_use]
    pub fn given(name: Option<ServerName>, place: Place) -> Self {
        Self { name, place, origin: None, version: None, alone: true }
    }

    /// Whether a file other than the lockfile says where it is.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.origin.as_deref().is_some_and(|origin| origin != crate::gate::lock::FILE)
    }
}

impl Tree {
    /// The servers of the tree: those of `toolpact.yaml`, or those that the lockfile knows how to find, or those of the
    /// configuration of a host.
    ///
    /// # Errors
    /// Where nothing says where they are, or what says it makes no sense.
    pub fn servers(&self, lock: Option<&Lock>) -> Result<Vec<Target>, AppError> {
        let mut targets = self.said();
        if targets.is_empty() {
            targets = remembered(lock);
            let lost = lock.is_some_and(|lock| lock.servers.len() > targets.len());
            if targets.is_empty() || lost {
                let known: Vec<_> = targets.iter().filter_map(|t| t.name.clone()).collect();
                let found = self.configured()?;
                targets
                    .extend(found.into_iter().filter(|t| t.name.as_ref().is_none_or(|n| !known.contains(n))));
            }
        }
        if targets.is_empty() {
            return Err(AppError::new(
                Kind::Invalid,
                "no-servers",
                "nothing here says where the server is: neither the command line, nor `toolpact.yaml`, nor a file such as \
                 `.mcp.json`",
            )
            .help("say how it is started (`-- COMMAND`), or where it is (`--url URL`, `--file FILE`)"));
        }
        let alone = targets.len() == 1;
        targets.iter_mut().for_each(|t| t.alone = alone && t.alone);
        Ok(targets)
    }

    fn said(&self) -> Vec<Target> {
        let target = |server: &crate::gate::settings::Server| Target {
            name: Some(server.name.clone()),
            place: match &server.found {
                Found::Source(source) => self.configured_as(server.name.clone(), source.clone()),
                Found::File(path) => Place::File(path.clone()),
            },
            origin: self.file.clone(),
            version: server.version.clone(),
            alone: true,
        };
        self.settings.servers.iter().map(target).collect()
    }

    /// The servers of the first configuration of a host that is there.
    fn configured(&self) -> Result<Vec<Target>, AppError> {
        for path in CONFIGURATIONS {
            let at = self.folder.join(path);
            if !at.is_file() {
                continue;
            }
            let text = fs::read_to_string(&at).map_err(|e| {
                AppError::new(Kind::Invalid, "unreadable-file", format!("`{path}` cannot be read: {e}"))
            })?;
            let found = match servers::read(path, &text, config::Options::default()) {
                Ok(found) => found,
                // Settings of a host that say nothing of servers.
                Err(error) if error.message.contains("names no MCP servers") => continue,
                Err(error) => return Err(error),
            };
            let target = |entry: config::Entry| Target {
                name: Some(entry.spec.name.clone()),
                place: self.configured_as(entry.spec.name, entry.spec.source),
                origin: Some(path.to_owned()),
                version: None,
                alone: false,
            };
            return Ok(found.servers.into_iter().map(target).collect());
        }
        Ok(Vec::new())
    }

    /// A command is started in the tree, where the file stands that names it.
    fn configured_as(&self, name: ServerName, mut source: ServerSource) -> Place {
        if let ServerSource::Stdio { cwd: cwd @ None, .. } = &mut source {
            *cwd = Some(crate::catalog::server::Symbolic::literal(&self.folder.to_string_lossy()));
        }
        Place::Configured(ServerSpec::new(name, source))
    }
}

/// The servers that the lockfile itself knows how to find.
fn remembered(lock: Option<&Lock>) -> Vec<Target> {
    let servers = lock.map_or(&[] as &[_], |lock| &lock.servers);
    let target = |server: &crate::gate::LockedServer| {
        let source = server.source.clone()?;
        Some(Target {
            name: Some(server.name.clone()),
            // As it was given: started where we stand.
            place: Place::Configured(ServerSpec::new(server.name.clone(), here(source))),
            origin: Some(crate::gate::lock::FILE.to_owned()),
            version: None,
            alone: true,
        })
    };
    servers.iter().filter_map(target).collect()
}

fn here(mut source: ServerSource) -> ServerSource {
    if let ServerSource::Stdio { cwd: cwd @ None, .. } = &mut source {
        *cwd = Some(".".into());
    }
    source
}
