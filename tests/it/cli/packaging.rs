//! What others run a gate with: the action's own shell, the job's, and the hook, each as its host runs it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{BLOCKED, INVALID, PASSED, recorded};
use crate::{
    command::{Ended, User},
    real::installed,
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn yaml(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A repository with a locked server, and `toolpact` where a shell looks for it.
struct Repository(User);

impl Repository {
    fn new() -> Self {
        let user = User::new();
        user.run(&["lock", "--server", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
        Self(user)
    }

    fn command(&self, program: &str) -> Command {
        let own = Path::new(env!("CARGO_BIN_EXE_toolpact")).parent().expect("it is in a folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([own.to_owned()].into_iter().chain(std::env::split_paths(&path)));
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", path.expect("paths of letters"))
            .env("HOME", self.0.home())
            .env("TMPDIR", self.0.home())
            .current_dir(self.0.home());
        command
    }

    /// Runs a script as GitHub's `shell: bash` does.
    fn bash(&self, script: &str, env: &[(&str, &str)]) -> Ended {
        let mut command = self.command("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).envs(env.iter().copied());
        self.0.ended(command.output().expect("bash starts"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.home().join(name)
    }
}

/// The script of a step of the action.
fn step(name: &str) -> String {
    let action = yaml("action/action.yml");
    let steps = action["runs"]["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["name"] == name).unwrap_or_else(|| panic!("no step `{name}`"));
    assert_eq!(step["shell"], "bash");
    step["run"].as_str().expect("a script").to_owned()
}

#[test]
fn the_action_gates_and_says_how_it_ended() {
    let breaking = format!("--file\n{}\n", recorded("orders-3-breaking.json"));
    let same = format!("--file\n\n{}", recorded("orders-1.json"));
    for (args, sarif, code) in [
        (same.as_str(), "", PASSED),
        (&breaking, "found.sarif", BLOCKED),
        (&breaking, "", BLOCKED),
        ("--no-such-option", "", INVALID),
        // Of one argument a line none is split, and none is run.
        ("--file\n$(touch made) with space.json", "", INVALID),
    ] {
        let repository = Repository::new();
        let place = |name: &str| repository.file(name).to_string_lossy().into_owned();
        let env = [
            ("ARGS", args),
            ("SARIF", sarif),
            ("SUMMARY", "true"),
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_STEP_SUMMARY", &place("summary.md")),
            ("GITHUB_OUTPUT", &place("output")),
        ];
        repository.bash(&step("Gate"), &env).code(code);
        let output = fs::read_to_string(repository.file("output")).expect("it says something");
        assert_eq!(output, format!("exit-code={code}\n"), "{args}");
        assert_eq!(repository.file("found.sarif").exists(), !sarif.is_empty(), "{args}");
        assert!(!repository.file("made").exists());
        if code != INVALID {
            let summary = fs::read_to_string(repository.file("summary.md")).expect("a summary");
            assert!(summary.starts_with("### "), "{summary}");
        }
    }
}

#[test]
fn the_action_takes_only_a_release_with_the_right_checksum() {
    let repository = Repository::new();
    // In the place of GitHub's own program: what it downloads lies here.
    repository.0.file("gh", "#!/bin/sh\ncp \"$HOME\"/release/* .\n");
    repository.bash("chmod +x gh; mkdir release temp; cp \"$(command -v toolpact)\" toolpact", &[]).code(0);
    repository
        .bash("tar -czf release/toolpact-x86_64-unknown-linux-musl.tar.gz toolpact; rm toolpact", &[])
        .code(0);
    repository.bash("cd release; sha256sum *.gz >SHA256SUMS; echo \"$(printf '0%.0s' {1..64})  other.tar.gz\" >>SHA256SUMS", &[]).code(0);
    // Whoever has a toolpact keeps it; here nobody has.
    let script = format!("PATH=\"$HOME:/usr/bin:/bin\"; {}", step("Install toolpact"));
    let install = |system: &str| {
        let place = |name: &str| repository.file(name).to_string_lossy().into_owned();
        let (temp, path) = (place("temp"), place("path"));
        let env = [
            ("VERSION", "v0.1.0"),
            ("REPOSITORY", "o/r"),
            ("GH_TOKEN", "t"),
            ("SYSTEM", system),
            ("RUNNER_TEMP", &temp),
            ("GITHUB_PATH", &path),
        ];
        repository.bash(&script, &env)
    };
    install("Linux-X64").code(0);
    let folder = fs::read_to_string(repository.file("path")).expect("a folder is named");
    assert!(Path::new(folder.trim()).join("toolpact").is_file(), "{folder}");
    let ended = install("Windows-X64").code(3);
    assert!(
        ended.stderr.contains("::error::there is no release of toolpact for Windows-X64"),
        "{}",
        ended.stderr
    );
    repository
        .bash("rm path; rm -r temp/*; echo >>release/toolpact-x86_64-unknown-linux-musl.tar.gz", &[])
        .code(0);
    install("Linux-X64").code(1);
    assert!(!repository.file("path").exists(), "a release with another checksum is put into the path");
}

#[test]
fn the_job_of_gitlab_writes_what_it_promises() {
    let job = &yaml(".gitlab/gate.yml")[".toolpact-gate"];
    let lines: Vec<&str> =
        job["script"].as_array().expect("lines").iter().filter_map(Value::as_str).collect();
    for (list, code) in [("orders-1.json", PASSED), ("orders-3-breaking.json", BLOCKED)] {
        let repository = Repository::new();
        let args = format!("--file {}", recorded(list));
        repository.bash(&lines.join("\n"), &[("TOOLPACT_ARGS", &args), ("GITLAB_CI", "true")]).code(code);
        for (kind, name) in job["artifacts"]["reports"].as_object().expect("reports") {
            assert!(repository.file(name.as_str().expect("a file")).is_file(), "{kind}");
        }
    }
}

#[test]
fn a_commit_that_breaks_callers_is_stopped_by_the_hook() {
    let Some(hooks) = installed("pre-commit-4.7.0", "bin/pre-commit") else { return };
    let repository = Repository::new();
    let servers = |release: &str| {
        let text = format!(
            r#"{{"mcpServers": {{"shop": {{"command": "toolpact", "args": ["demo-server", "--release", "{release}"]}}}}}}"#
        );
        repository.0.file("mcp.json", text);
    };
    servers("1");
    let git = "git -c user.name=ann -c user.email=ann@example.com -c init.defaultBranch=main";
    let ours = root().join(".pre-commit-hooks.yaml");
    // Where the hooks come from is a repository of its own.
    repository
        .bash(
            &format!(
                "mkdir hooks; cp '{}' hooks/; cd hooks; {git} init -q; {git} add -A; {git} commit -qm hooks",
                ours.display()
            ),
            &[],
        )
        .code(0);
    repository.bash("rm toolpact.lock; toolpact lock", &[]).code(0);
    let config = r#"echo "repos: [{repo: $HOME/hooks, rev: $(git -C hooks rev-parse HEAD), hooks: [{id: toolpact-gate}]}]" >.pre-commit-config.yaml"#;
    repository.bash(config, &[]).code(0);
    let hooks = hooks.display();
    repository
        .bash(
            &format!(
                "{git} init -q; '{hooks}' install; {git} add mcp.json toolpact.lock .pre-commit-config.yaml"
            ),
            &[],
        )
        .code(0);
    let commit = format!("{git} commit -qam change");
    repository.bash(&commit, &[]).code(0);
    servers("3");
    let ended = repository.bash(&commit, &[]).code(1);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("gate: blocked by ") && said.contains("  change   "), "{said}");
}

#[test]
fn what_github_and_gitlab_read_is_what_their_schemas_say() {
    let Some(program) = installed("check-jsonschema-0.39.0", "bin/check-jsonschema") else { return };
    for (schema, file) in [
        ("vendor.github-workflows", ".github/workflows/release.yml"),
        ("vendor.github-actions", "action/action.yml"),
        ("vendor.gitlab-ci", ".gitlab/gate.yml"),
    ] {
        let args = ["--builtin-schema", schema, file];
        let ended = Command::new(&program).args(args).current_dir(root()).output().expect("it starts");
        assert!(ended.status.success(), "{file}: {}", String::from_utf8_lossy(&ended.stdout));
    }
}
