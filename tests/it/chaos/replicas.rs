//! Processes that serve one database, killed and started again.

use std::{net::SocketAddr, path::Path, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::watch,
};

use super::proxy::Proxy;
use crate::command::User;

/// A process, or the place of one that was killed.
pub(super) struct Replica {
    user: User,
    database: String,
    /// What its connections to the database go through, where that is a server.
    pub(super) proxy: Option<Proxy>,
    child: tokio::sync::Mutex<Option<Child>>,
    address: watch::Sender<Option<SocketAddr>>,
}

impl Replica {
    /// On a file.
    pub(super) fn on_file(path: &str) -> Self {
        Self::new(path.to_owned(), None)
    }

    /// On a server that listens on a socket of the file system.
    pub(super) async fn on_server(socket: &Path) -> Self {
        let proxy = Proxy::before(socket).await;
        Self::new(format!("postgres://postgres@{}/postgres?sslmode=disable", proxy.address), Some(proxy))
    }

    fn new(database: String, proxy: Option<Proxy>) -> Self {
        let address = watch::Sender::new(None);
        Self { user: User::new(), database, proxy, child: tokio::sync::Mutex::default(), address }
    }

    /// Makes what clients call it with, straight in its database.
    pub(super) async fn make_token(&self) -> String {
        let args = ["tokens", "create", "chaos", "--role", "admin", "--quiet"];
        let mut command = Command::from(self.user.command(&args));
        let ended = command.env("DATABASE_URL", &self.database).output().await.expect("it starts");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).expect("a token is text").trim().to_owned()
    }

    /// Starts it, and waits until it says where it listens.
    pub(super) async fn start(&self) {
        let mut command =
            Command::from(self.user.command(&["serve", "--listen", "127.0.0.1:0", "--no-poll"]));
        let mut child = command
            .env("DATABASE_URL", &self.database)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let first = lines.next_line().await.expect("it is text").expect("it says where");
        let url =
            first.strip_prefix("toolpact serves http://").unwrap_or_else(|| panic!("no URL in {first}"));
        let address = url.trim_end_matches('/').parse().unwrap_or_else(|e| panic!("{url}: {e}"));
        *self.child.lock().await = Some(child);
        self.address.send_replace(Some(address));
    }

    /// `kill -9`.
    pub(super) async fn kill(&self) {
        self.address.send_replace(None);
        if let Some(mut child) = self.child.lock().await.take() {
            child.kill().await.expect("it was running");
        }
    }

    /// Where it listens, when it does.
    pub(super) async fn address(&self) -> SocketAddr {
        let mut address = self.address.subscribe();
        let listening = address.wait_for(Option::is_some).await.expect("it lives as long as the replica");
        listening.expect("waited for")
    }

    /// Where it listens, if it does now.
    pub(super) fn address_now(&self) -> Option<SocketAddr> {
        *self.address.borrow()
    }
}
