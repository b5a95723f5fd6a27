//! A PostgreSQL server of a test's own, to be restarted at will. `tests/run` says in `TEST_POSTGRES_BIN` where its programs
//! are, and in `TEST_POSTGRES_USER` who runs them where root must not.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

use tempfile::TempDir;

pub(super) struct Server {
    folder: TempDir,
    programs: PathBuf,
}

impl Server {
    /// None where nobody said where the programs are, which is said loudly; in CI that fails.
    pub(super) fn start() -> Option<Self> {
        let Some(programs) = env::var_os("TEST_POSTGRES_BIN").filter(|path| !path.is_empty()) else {
            assert!(env::var_os("CI").is_none(), "CI leaves nothing out, and TEST_POSTGRES_BIN is not set");
            eprintln!("LEFT OUT: TEST_POSTGRES_BIN names no folder with initdb and pg_ctl");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        if let Some(user) = user() {
            let given = Command::new("chown").arg(user).arg(folder.path()).status().expect("coreutils");
            assert!(given.success(), "the folder is given to the user of the server");
        }
        let server = Self { folder, programs: programs.into() };
        let data = server.data();
        server.run("initdb", &["-D", &data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]);
        let settings = format!(
            "-c listen_addresses='' -c unix_socket_directories={} -c fsync=off",
            server.folder.path().display()
        );
        server.control(&["-o", &settings, "start"]);
        Some(server)
    }

    /// Ends it in the middle of whatever it does, and starts it again.
    pub(super) fn restart(&self) {
        self.control(&["-m", "immediate", "restart"]);
    }

    /// What names its one database.
    pub(super) fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user=postgres", self.folder.path().display())
    }

    /// Where it listens.
    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join(".s.PGSQL.5432")
    }

    fn data(&self) -> String {
        self.folder.path().join("data").to_string_lossy().into_owned()
    }

    fn control(&self, order: &[&str]) {
        let (data, log) = (self.data(), self.folder.path().join("log"));
        self.run("pg_ctl", &[&["-D", &data, "-l", &log.to_string_lossy(), "-w"], order].concat());
    }

    fn run(&self, program: &str, args: &[&str]) {
        let path = self.programs.join(program);
        let mut command = match user() {
            Some(user) => {
                let mut command = Command::new("runuser");
                command.args(["-u", &user, "--"]).arg(path);
                command
            }
            None => Command::new(path),
        };
        // A server that it starts keeps what it inherits, so it gets nothing that somebody waits for.
        let ended = command
            .args(args)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap_or_else(|e| panic!("{program}: {e}"));
        assert!(ended.success(), "{program} {args:?}: {ended}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Whoever looks into a failure wants the first one.
            let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.stop()));
            _ = stopped;
        } else {
            self.stop();
        }
    }
}

impl Server {
    fn stop(&self) {
        self.control(&["-m", "immediate", "stop"]);
    }
}

fn user() -> Option<String> {
    env::var("TEST_POSTGRES_USER").ok().filter(|user| !user.is_empty())
}
