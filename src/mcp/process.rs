//! A server's process: started in a group of its own with a small environment, drained, and ended with all its
//! children on every path.
//!
//! Running it is running foreign code with the caller's rights; what it does not need to know it is not told.

use std::{
    ffi::OsStr,
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
    time::timeout,
};

use crate::secret;

/// How long a server may take to end after its stdin was closed. It has nothing to save, for all it did was to list, and
/// Python needs half a second to end by itself: that would be a tenth of a snapshot and more.
const CLOSE_GRACE: Duration = Duration::from_millis(20);
/// How long it may take to end after SIGTERM, and the system to end it after SIGKILL.
const SIGNAL_GRACE: Duration = Duration::from_secs(1);
/// How long a process that closed its stdout may take to be gone.
const EXIT_GRACE: Duration = Duration::from_millis(500);
/// How long stderr may stay open after the process ended (a grandchild may hold it).
const DRAIN_GRACE: Duration = Duration::from_millis(200);
/// What is kept of stderr: enough for a stack trace.
const STDERR_TAIL: usize = 8 << 10;
/// Read from stdout at a time.
const CHUNK: usize = 64 << 10;

/// What a server's process inherits: what programs need to start, find their caches and reach a registry. Everything
/// else stays here, for the environment of a CI job or a shell is full of secrets.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    // Reaching a registry or a remote API.
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    // Where runtimes and package managers live.
    "VIRTUAL_ENV",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "NVM_DIR",
    "VOLTA_HOME",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "DENO_DIR",
    "BUN_INSTALL",
    "DOTNET_ROOT",
    // Reaching a container engine.
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
];

/// The same, by how the name begins.
const INHERITED_PREFIXES: &[&str] =
    &["LC_", "XDG_", "SSL_CERT_", "NODE_", "npm_config_", "NPM_CONFIG_", "PYTHON", "PIP_", "UV_"];

/// Names with such a word in them are credentials, whatever they begin with (`NODE_AUTH_TOKEN`, `UV_PUBLISH_PASSWORD`).
/// Registry logins that a start needs belong into the package manager's own file.
const NEVER_INHERITED: &[&str] = &["TOKEN", "PASSWORD", "USERNAME", "SECRET", "_AUTH", "_KEY"];

/// Whether a variable is handed on: by its name, and unless its value has a URL with a login in it. A proxy may be named
/// without a scheme.
fn inherits(name: &OsStr, value: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let text = value.to_string_lossy();
    let upper = name.to_ascii_uppercase();
    (INHERITED.contains(&name) || INHERITED_PREFIXES.iter().any(|p| name.starts_with(p)))
        && !NEVER_INHERITED.iter().any(|word| upper.contains(word))
        && !secret::logins(&text).any(|login| login.password.is_some() || login.scheme != "ssh")
        && !(upper.ends_with("_PROXY") && text.contains('@'))
}

/// What is started.
#[derive(Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) program: &'a str,
    pub(super) args: &'a [String],
    /// Set over what is inherited.
    pub(super) env: &'a [(String, String)],
    pub(super) cwd: Option<&'a Path>,
}

/// A running server.
pub(super) struct Process {
    child: Child,
    /// The process group; the same number as the first process.
    pub(super) group: Option<i32>,
    /// `None` once it was closed.
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: BufReader<ChildStdout>,
    stderr: Arc<Tail>,
    drain: JoinHandle<()>,
    status: Option<ExitStatus>,
}

impl Process {
    pub(super) fn start(start: &Start<'_>) -> io::Result<Self> {
        let mut command = Command::new(start.program);
        if let Some(cwd) = start.cwd {
            command.current_dir(cwd);
        }
        let mut child = command
            .args(start.args)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, value)| inherits(name, value)))
            .envs(start.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::other("a pipe to the process is missing");
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = Arc::new(Tail::default());
        let drain = tokio::spawn(drain(child.stderr.take().ok_or_else(missing)?, Arc::clone(&stderr)));
        Ok(Self {
            group: child.id().and_then(|id| i32::try_from(id).ok()),
            stdin: child.stdin.take(),
            stdout: BufReader::with_capacity(CHUNK, stdout),
            child,
            stderr,
            drain,
            status: None,
        })
    }

    /// How the process ended, if it did so by itself; asked after its stdout was closed.
    pub(super) async fn ended(&mut self) -> Option<ExitStatus> {
        self.wait(EXIT_GRACE).await;
        self.status
    }

    /// Ends the process and its children: stdin closed, then SIGTERM, then SIGKILL.
    pub(super) async fn stop(&mut self) {
        drop(self.stdin.take());
        if !self.wait(CLOSE_GRACE).await {
            // What it says from here on is about our signal.
            self.stderr.mute();
            self.signal(libc::SIGTERM);
            self.wait(SIGNAL_GRACE).await;
        }
        // Children that outlived the first process; and that one, where it ignores all of the above.
        self.signal(libc::SIGKILL);
        self.group = None;
        self.wait(SIGNAL_GRACE).await;
        // What it said last is often the cause.
        let _ = timeout(DRAIN_GRACE, &mut self.drain).await;
    }

    /// The end of stderr, without what would move a reader's cursor.
    pub(super) fn stderr_tail(&self) -> String {
        let bytes = self.stderr.lock();
        let tail = &bytes[bytes.len().saturating_sub(STDERR_TAIL)..];
        let text: String = String::from_utf8_lossy(tail)
            .chars()
            .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
            .collect();
        text.trim().to_owned()
    }

    async fn wait(&mut self, grace: Duration) -> bool {
        if self.status.is_none()
            && let Ok(Ok(status)) = timeout(grace, self.child.wait()).await
        {
            self.status = Some(status);
        }
        self.status.is_some()
    }

    fn signal(&self, signal: i32) {
        signal_group(self.group, signal);
    }
}

/// Signals a group that we made.
pub(super) fn signal_group(group: Option<i32>, signal: i32) {
    let Some(group) = group.filter(|group| *group > 1) else { return };
    // SAFETY: `kill` touches no memory of ours. The group is one that a process of ours leads; its number stays taken as
    // long as any of its processes lives.
    #[allow(unsafe_code, reason = "there is no safe call in std that reaches a process group")]
    let _ = unsafe { libc::kill(-group, signal) };
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        self.drain.abort();
    }
}

/// The end of what a process wrote to stderr.
#[derive(Default)]
struct Tail {
    bytes: Mutex<Vec<u8>>,
    muted: AtomicBool,
}

impl Tail {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        // Bytes are whole whatever happened to who held them.
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mute(&self) {
        self.muted.store(true, Ordering::Relaxed);
    }

    fn add(&self, more: &[u8]) {
        if self.muted.load(Ordering::Relaxed) {
            return;
        }
        let mut bytes = self.lock();
        bytes.extend_from_slice(more);
        if bytes.len() > 2 * STDERR_TAIL {
            let excess = bytes.len() - STDERR_TAIL;
            bytes.drain(..excess);
        }
    }
}

/// Reads stderr to its end, whatever its size: a full pipe would stop the server.
async fn drain(mut from: ChildStderr, tail: Arc<Tail>) {
    let mut chunk = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut chunk).await {
        tail.add(&chunk[..n]);
    }
}

#[cfg(test)]
mod tests {
    use super::inherits;

    #[test]
    fn a_variable_with_a_login_in_it_is_not_handed_on() {
        for (name, value, expected) in [
            ("PATH", "/bin", true),
            ("HTTPS_PROXY", "http://proxy:3128", true),
            ("HTTPS_PROXY", "http://u:p@proxy:3128", false),
            ("https_proxy", "u:p@proxy:3128", false),
            ("PIP_INDEX_URL", "https://pypi.example/simple", true),
            ("PIP_INDEX_URL", "https://login@pypi.example/simple", false),
            ("PIP_EXTRA_INDEX_URL", "https://a.example/ https://u:p@b.example/", false),
            ("UV_INDEX", "own=https://u:p@b.example/simple", false),
            ("UV_INDEX_OWN_USERNAME", "ann", false),
            ("UV_INDEX_OWN_PASSWORD", "p", false),
            ("DOCKER_HOST", "ssh://ann@host", true),
            ("npm_config_registry", "https://registry.example/@scope/", true),
            ("DATABASE_URL", "x", false),
        ] {
            assert_eq!(inherits(name.as_ref(), value.as_ref()), expected, "{name}={value}");
        }
    }
}
