//! Which package a command runs, where the command is a package manager's runner: `npx`, `uvx` and their like take
//! whatever is newest unless told otherwise, so a changed list may be nothing but a changed package.
//!
//! The version is read off the running process: its command line leads into the folder that the runner installed into,
//! and the package's own metadata stands there. Where it does not (another system, another layout) none is told.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::snapshot::{Package, Registry};

/// Runners of npm packages, and whether a word comes before the package.
const NPM: [(&str, &[&str]); 5] =
    [("npx", &[]), ("bunx", &[]), ("pnpx", &[]), ("pnpm", &["dlx"]), ("yarn", &["dlx"])];
/// The same for PyPI.
const PYPI: [(&str, &[&str]); 3] = [("uvx", &[]), ("uv", &["tool", "run"]), ("pipx", &["run"])];
/// Flags that take the package for their value.
const NAMES_PACKAGE: [&str; 4] = ["--package", "-p", "--from", "--spec"];
/// Flags of runners that take a value.
const TAKES_VALUE: [&str; 12] = [
    "--with",
    "--with-editable",
    "--with-requirements",
    "--python",
    "--index",
    "--index-url",
    "--default-index",
    "--extra-index-url",
    "--registry",
    "--cache-dir",
    "--directory",
    "--call",
];
/// The largest metadata that is read.
const MAX_METADATA: u64 = 1 << 20;

/// The package that a command runs.
pub(super) fn of(program: &str, args: &[String]) -> Option<Package> {
    let runner = Path::new(program).file_stem()?.to_str()?;
    let known = |runners: &[(&str, &'static [&'static str])]| {
        runners.iter().find(|(name, _)| *name == runner).map(|(_, words)| *words)
    };
    let (registry, words) = match (known(&NPM), known(&PYPI)) {
        (Some(words), _) => (Registry::Npm, words),
        (None, Some(words)) => (Registry::Pypi, words),
        (None, None) => return None,
    };
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let args = args.strip_prefix(words)?;
    named(spec(args, registry)?, registry)
}

/// The word that names the package.
fn spec<'a>(args: &[&'a str], registry: Registry) -> Option<&'a str> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if let Some((flag, value)) = arg.split_once('=')
            && NAMES_PACKAGE.contains(&flag)
        {
            return Some(value);
        }
        // uv's `-p` is `--python`.
        let python = *arg == "-p" && registry == Registry::Pypi;
        match *arg {
            flag if NAMES_PACKAGE.contains(&flag) && !python => return args.next().copied(),
            flag if TAKES_VALUE.contains(&flag) || python => _ = args.next(),
            "--" => {}
            flag if flag.starts_with('-') => {}
            package => return Some(package),
        }
    }
    None
}

/// `@scope/name@1.2`, `name==1.2`, `name[extra]@1.2`. What names a place instead of a registry's package is none.
fn named(spec: &str, registry: Registry) -> Option<Package> {
    let start = usize::from(spec.starts_with('@'));
    let end =
        spec[start..].find(['@', '=', '<', '>', '~', '!', '[', ';', ' ']).map_or(spec.len(), |i| i + start);
    let (name, rest) = spec.split_at(end);
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@');
    let slashes = name.matches('/').count();
    let scoped = name.starts_with('@') && slashes == 1 && registry == Registry::Npm;
    if name.is_empty() || !name.chars().all(legal) || (slashes > 0 && !scoped) || name.starts_with('.') {
        return None;
    }
    // Extras say nothing of the version.
    let rest = rest.strip_prefix('[').and_then(|r| r.split_once(']')).map_or(rest, |(_, rest)| rest);
    let wanted = rest.trim_start_matches('@').trim_start_matches("==").trim();
    if wanted.contains(['/', ':']) {
        return None;
    }
    let requested = (!wanted.is_empty()).then(|| wanted.to_owned());
    Some(Package { registry, name: name.to_owned(), requested, version: None })
}

/// The version that runs, by the processes of a group.
pub(super) fn version(package: &Package, group: i32) -> Option<String> {
    command_lines(group).into_iter().flatten().find_map(|word| installed(package, Path::new(&word)))
}

/// The words of every process of a group.
fn command_lines(group: i32) -> Vec<Vec<String>> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let of_group = |folder: &Path| {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        // After the name, which may hold anything, come state, parent and group.
        let found: i32 = stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()?;
        (found == group).then_some(())
    };
    processes
        .flatten()
        .map(|entry| entry.path())
        .filter(|folder| {
            folder.file_name().is_some_and(|n| n.as_encoded_bytes().iter().all(u8::is_ascii_digit))
        })
        .filter_map(|folder| {
            of_group(&folder)?;
            let line = fs::read(folder.join("cmdline")).ok()?;
            Some(line.split(|b| *b == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
        })
        .collect()
}

/// The version of a package that is installed where a path leads.
fn installed(package: &Package, path: &Path) -> Option<String> {
    if !path.is_absolute() {
        return None;
    }
    match package.registry {
        Registry::Npm => {
            let modules = path.ancestors().find(|a| a.ends_with("node_modules"))?;
            let text = metadata(&modules.join(&package.name).join("package.json"))?;
            let about: serde_json::Value = serde_json::from_str(&text).ok()?;
            about.get("version")?.as_str().map(cut)
        }
        Registry::Pypi => {
            let bin = path.parent().filter(|folder| folder.ends_with("bin"))?;
            let wanted = normalized(&package.name);
            fs::read_dir(bin.parent()?.join("lib")).ok()?.flatten().find_map(|python| {
                let packages: PathBuf = python.path().join("site-packages");
                fs::read_dir(packages).ok()?.flatten().find_map(|entry| {
                    let name = entry.file_name();
                    let (name, version) = name.to_str()?.strip_suffix(".dist-info")?.rsplit_once('-')?;
                    (normalized(name) == wanted).then(|| cut(version))
                })
            })
        }
    }
}

/// Names of distributions are compared without case and with one kind of dash (PEP 503).
fn normalized(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

fn metadata(file: &Path) -> Option<String> {
    let about = fs::metadata(file).ok()?;
    (about.is_file() && about.len() <= MAX_METADATA).then(|| fs::read_to_string(file).ok())?
}

fn cut(version: &str) -> String {
    super::record::printable(version, 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_names_its_package() {
        for (command, expected) in [
            ("npx -y @scope/server", "npm @scope/server"),
            ("npx -y @scope/server@1.2.3 /data", "npm @scope/server 1.2.3"),
            ("/usr/bin/npx server@latest", "npm server latest"),
            ("npx --package=@scope/server run", "npm @scope/server"),
            ("npx -p server@2 -- run", "npm server 2"),
            ("npx.cmd -y server", "npm server"),
            ("pnpm dlx server@1", "npm server 1"),
            ("bunx server", "npm server"),
            ("uvx mcp-server-time", "pypi mcp-server-time"),
            ("uvx mcp-server-time@2026.10.19 --local-timezone UTC", "pypi mcp-server-time 2026.10.19"),
            ("uvx --from mcp[cli]==1.2 mcp", "pypi mcp 1.2"),
            ("uvx -p 3.12 server", "pypi server"),
            ("uvx --with extra --python 3.12 server>=2,<3", "pypi server >=2,<3"),
            ("uv tool run server", "pypi server"),
            ("pipx run --spec server==2 thing", "pypi server 2"),
            ("uv run server.py", ""),
            ("uvx --from git+https://h/repo server", ""),
            ("npx -y https://h/server.tgz", ""),
            ("npx ./server", ""),
            ("npx server@file:../x", ""),
            ("node server.js", ""),
            ("npx", ""),
        ] {
            let mut words = command.split(' ').map(str::to_owned);
            let program = words.next().expect("a word");
            let found = of(&program, &words.collect::<Vec<_>>()).map_or(String::new(), |p| {
                let registry = match p.registry {
                    Registry::Npm => "npm",
                    Registry::Pypi => "pypi",
                };
                [Some(registry.to_owned()), Some(p.name), p.requested]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join(" ")
            });
            assert_eq!(found, expected, "{command}");
        }
    }

    #[test]
    fn the_version_is_read_where_the_runner_installed_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for (file, text) in [
            ("npx/node_modules/@scope/server/package.json", r#"{"version": "1.2.3"}"#),
            ("npx/node_modules/.bin/run", ""),
            ("uv/lib/python3.12/site-packages/My_Server-2026.1.dist-info/METADATA", ""),
            ("uv/bin/my-server", ""),
        ] {
            fs::create_dir_all(at(file).parent().expect("a folder")).expect("made");
            fs::write(at(file), text).expect("written");
        }
        let package = |registry, name: &str| Package {
            registry,
            name: name.to_owned(),
            requested: None,
            version: None,
        };
        for (package, path, expected) in [
            (package(Registry::Npm, "@scope/server"), "npx/node_modules/.bin/run", Some("1.2.3")),
            (package(Registry::Npm, "other"), "npx/node_modules/.bin/run", None),
            (package(Registry::Npm, "@scope/server"), "elsewhere/run", None),
            (package(Registry::Pypi, "my.server"), "uv/bin/my-server", Some("2026.1")),
            (package(Registry::Pypi, "other"), "uv/bin/my-server", None),
        ] {
            assert_eq!(installed(&package, &at(path)).as_deref(), expected, "{package:?} {path}");
        }
    }
}
