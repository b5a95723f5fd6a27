//! Runs the built binary as a user does: own folder, own database, nothing of the developer's environment.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::database::{self, Own};

/// A user with an empty home.
pub(crate) struct User {
    home: tempfile::TempDir,
    /// Not in the home, where there is a server to test with.
    database: Option<Own>,
}

/// How a command ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl User {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a temporary folder can be made"), database: None }
    }

    /// The same over a database of their own, on the server to test with where there is one.
    pub(crate) fn with_database() -> Self {
        let user = Self::new();
        if database::server().is_none() {
            return user;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let user = Self { database: Some(runtime.block_on(Own::new())), ..user };
        user.run(&["migrate"]).code(0);
        user
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file into the home and gives its path.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        fs::write(&path, text).expect("the home can be written");
        path
    }

    /// The command, not started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolpact"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("USER", "ann")
            .env("TMPDIR", self.home())
            .current_dir(self.home())
            .stdin(Stdio::null());
        if let Some(own) = &self.database {
            command.env("DATABASE_URL", own.url());
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.ended(self.command(args).output().expect("the binary starts"))
    }

    /// Runs a command that reads this from stdin.
    pub(crate) fn run_with_stdin(&self, args: &[&str], stdin: &str) -> Ended {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut pipe = child.stdin.take().expect("stdin is piped");
        // A command that refuses its arguments ends without reading.
        _ = pipe.write_all(stdin.as_bytes());
        drop(pipe);
        self.ended(child.wait_with_output().expect("it ends"))
    }

    pub(crate) fn ended(&self, output: Output) -> Ended {
        let home = self.home().to_string_lossy().into_owned();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&home, "HOME");
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Ended {
    /// Fails the test unless it ended with this code.
    #[track_caller]
    pub(crate) fn code(self, expected: i32) -> Self {
        assert_eq!(
            self.code, expected,
            "exit code\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout, self.stderr
        );
        self
    }
}

/// A stdio server as a shell script. It speaks the protocol of 2025-11-25; `list` is the shell code that answers a
/// `tools/list` with the request's id in `$id` and the request in `$line`.
pub(crate) fn script(list: &str) -> String {
    format!(
        r#"while IFS= read -r line; do
  [[ $line =~ \"id\":(\"[^\"]*\"|[0-9]+) ]] || continue
  id=${{BASH_REMATCH[1]}}
  case $line in
  *'"method":"initialize"'*)
    printf '{{"jsonrpc":"2.0","id":%s,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"script","version":"1"}}}}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    {list} ;;
  *)
    printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no such method"}}}}\n' "$id" ;;
  esac
done
"#
    )
}

/// Shell code that answers with this `result`.
pub(crate) fn answers(result: &str) -> String {
    assert!(!result.contains('\''), "it stands between single quotes");
    format!(r#"printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" '{result}'"#)
}

/// A stdio server with one tool that says by itself when its list changed, as a bash script in a folder of its own.
pub(crate) struct Telling(tempfile::TempDir);

impl Telling {
    /// Lists a tool of this name.
    pub(crate) fn new(tool: &str) -> Self {
        let server = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        let made = Command::new("mkfifo").arg(server.at("bell")).status().expect("coreutils are there");
        assert!(made.success());
        server.list(tool);
        let told = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let listed = format!(
            r#"printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$(cat '{}')""#,
            server.at("list").display()
        );
        let text = format!(
            "(while read -r _ < '{}'; do echo '{told}'; done) &\n{}",
            server.at("bell").display(),
            script(&listed).replace(r#""tools":{}"#, r#""tools":{"listChanged":true}"#)
        );
        fs::write(server.at("server"), text).expect("written");
        server
    }

    /// What bash is to run.
    pub(crate) fn script(&self) -> String {
        self.at("server").to_string_lossy().into_owned()
    }

    /// Lists another tool from now on, and has the server say so; waits until it hears.
    pub(crate) fn change(self, tool: &str) -> Self {
        self.list(tool);
        fs::write(self.at("bell"), "\n").expect("the server listens");
        self
    }

    fn list(&self, tool: &str) {
        let list = format!(r#"{{"tools":[{{"name":"{tool}","inputSchema":{{"type":"object"}}}}]}}"#);
        fs::write(self.at("list"), list).expect("written");
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
