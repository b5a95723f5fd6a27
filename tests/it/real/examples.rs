//! Example repositories, one an ecosystem, each with three pull requests: what its author reads in CI, whole.
//!
//! A repository stands in tests/examples as its author has it: its server, its toolpact.lock, and pull requests as patches,
//! each beside the text and the exit code of its gate. `UPDATE_DOCS=1` writes lockfiles and texts anew.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::installed;
use crate::command::User;

const PULLS: [(&str, i32); 3] = [("compatible", 0), ("breaking", 1), ("words", 0)];

fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples").join(name)
}

/// Copies the files that a repository has, but for its pull requests.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("it can be made");
    for entry in fs::read_dir(from).expect("a repository").map(|e| e.expect("it can be read")) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match (path.is_dir(), entry.file_name() == "pulls") {
            (true, true) => {}
            (true, false) => copied(&path, &target),
            (false, _) => _ = fs::copy(path, target).expect("it can be copied"),
        }
    }
}

/// Compares with what is committed, or commits it.
fn same(path: &Path, text: &str) {
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, text).expect("it can be written");
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(text, committed, "{} is not what is committed", path.display());
}

/// Runs every pull request of a repository. `prepare` makes the server start there: it is told the folder, and the pull
/// request or nothing. `programs` are folders in which programs are found.
fn check(
    name: &str,
    (lock, command): (&[&str], &[&str]),
    programs: &[&Path],
    prepare: impl Fn(&Path, Option<&str>),
) {
    let source = repository(name);
    let paths = env::var_os("PATH").unwrap_or_default();
    let paths = programs.iter().map(|p| p.to_path_buf()).chain(env::split_paths(&paths));
    let paths = env::join_paths(paths).expect("folders without a colon");
    let toolpact = |user: &User, args: &[&str]| {
        let output = user.command(args).env("PATH", &paths).output().expect("it starts");
        let code = output.status.code().unwrap_or(-1);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr, "", "{name}: {args:?}");
        (code, String::from_utf8_lossy(&output.stdout).into_owned())
    };

    let user = User::new();
    copied(&source, user.home());
    prepare(user.home(), None);
    // As its author did it once.
    _ = fs::remove_file(user.home().join("toolpact.lock"));
    toolpact(&user, &[lock, &["--"], command].concat());
    let lock = fs::read_to_string(user.home().join("toolpact.lock")).expect("it was written");
    same(&source.join("toolpact.lock"), &lock);
    let (code, text) = toolpact(&user, &["gate"]);
    assert_eq!((code, text.lines().count()), (0, 1), "silence where nothing changed: {text}");

    for (pull, expected) in PULLS {
        let user = User::new();
        copied(&source, user.home());
        let patch = source.join("pulls").join(format!("{pull}.patch"));
        let patched = Command::new("git")
            .args(["apply", "--unsafe-paths"])
            .arg(patch)
            .current_dir(user.home())
            .output()
            .expect("git is there");
        assert!(patched.status.success(), "{name} {pull}: {}", String::from_utf8_lossy(&patched.stderr));
        prepare(user.home(), Some(pull));
        let (code, text) = toolpact(&user, &["gate"]);
        assert_eq!(code, expected, "{name} {pull}:\n{text}");
        same(&source.join("pulls").join(format!("{pull}.txt")), &format!("{text}exit {code}\n"));
    }
}

#[test]
fn pull_requests_of_a_server_on_the_typescript_sdk() {
    // Its own Node.js: one that reads TypeScript as it stands.
    let Some(node) = installed("conformance-0.2.0-alpha.12", "node_modules/.bin/node") else { return };
    let Some(modules) = installed("everything-2026.8.31", "node_modules") else { return };
    let node = node.parent().expect("a program is in a folder");
    check("typescript", (&["lock"], &["node", "server.ts"]), &[node], |folder, _| {
        std::os::unix::fs::symlink(&modules, folder.join("node_modules")).expect("a link can be made");
    });
}

#[test]
fn pull_requests_of_a_server_on_the_python_sdk() {
    let Some(python) = installed("mcp-2.3.0", "bin/python") else { return };
    let folder = python.parent().expect("a program is in a folder");
    check("python", (&["lock"], &["python", "server.py"]), &[folder], |_, _| {});
}

#[test]
fn pull_requests_of_a_server_on_the_rust_sdk() {
    // `tests/run` builds it as it is, and with each of its pull requests.
    let Some(built) = installed("notes-rmcp-3.11.0", "as-it-is") else { return };
    let built = built.parent().expect("a program is in a folder");
    // It does not say what it is called, and the SDK says its own name then.
    check("rust", (&["lock", "--server", "notes"], &["target/debug/notes"]), &[], |folder, pull| {
        let target = folder.join("target/debug");
        fs::create_dir_all(&target).expect("it can be made");
        fs::copy(built.join(pull.unwrap_or("as-it-is")), target.join("notes")).expect("it was built");
    });
}
