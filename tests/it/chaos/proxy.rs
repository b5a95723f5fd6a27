//! A bad network: what stands between a replica and its database, and passes on what it likes.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::JoinSet,
};

/// What it does to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// Passes everything on.
    Sound,
    /// Closes those there are; new ones are closed as they come.
    Cut,
    /// Takes everything and passes nothing on, and never closes. Those that were there then stay so for ever.
    Silent,
    /// Ends what the server says, while what the client says still arrives.
    HalfClosed,
    /// Passes everything on, late.
    Slow,
    /// Passes a `COMMIT` on and closes before its answer.
    NoAnswerToCommit,
    /// Closes instead of passing a `COMMIT` on.
    NoCommit,
}

/// How late.
const LATE: Duration = Duration::from_millis(20);

/// Listens for as long as it lives.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    network: watch::Sender<Network>,
    _running: JoinSet<()>,
}

impl Proxy {
    /// In front of a server that listens on a socket of the file system.
    pub(super) async fn before(server: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let address = listener.local_addr().expect("it is bound");
        let (network, state) = watch::channel(Network::Sound);
        let mut running = JoinSet::new();
        running.spawn(listen(listener, server.to_owned(), state));
        Self { address, network, _running: running }
    }

    pub(super) fn becomes(&self, network: Network) {
        self.network.send_replace(network);
    }
}

async fn listen(listener: TcpListener, server: PathBuf, state: watch::Receiver<Network>) {
    // Ends with this task.
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (server, state) = (server.clone(), state.clone());
        connections.spawn(async move { _ = connection(client, &server, state).await });
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(client: TcpStream, server: &Path, state: watch::Receiver<Network>) -> io::Result<()> {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = UnixStream::connect(server).await?.into_split();
    let silent = Arc::new(AtomicBool::new(*state.borrow() == Network::Silent));
    let up = Line { says: Side::Client, state: state.clone(), silent: silent.clone() };
    let down = Line { says: Side::Server, state, silent };
    // Either end ends both, unless only one way is to be ended.
    tokio::select! {
        ended = up.carry(from_client, to_server) => ended,
        ended = down.carry(from_server, to_client) => ended,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// One way of a connection.
struct Line {
    says: Side,
    state: watch::Receiver<Network>,
    /// Once it was silent it stays so.
    silent: Arc<AtomicBool>,
}

impl Line {
    async fn carry(
        mut self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = tokio::select! {
                read = from.read(&mut buffer) => Some(read?),
                changed = self.state.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    None
                }
            };
            let network = *self.state.borrow_and_update();
            if network == Network::Silent {
                self.silent.store(true, Ordering::Relaxed);
            }
            if self.silent.load(Ordering::Relaxed) {
                match read {
                    Some(0) if self.says == Side::Client => return Ok(()),
                    // The server may go as it likes: nobody hears of it.
                    Some(0) => std::future::pending().await,
                    Some(_) | None => continue,
                }
            }
            match (network, self.says) {
                (Network::Cut, _) => return Ok(()),
                (Network::HalfClosed, Side::Server) => {
                    to.shutdown().await?;
                    std::future::pending::<()>().await;
                }
                (Network::Slow, _) => tokio::time::sleep(LATE).await,
                _ => {}
            }
            let said = match read {
                None => continue,
                Some(0) => return Ok(()),
                Some(read) => &buffer[..read],
            };
            let commits = self.says == Side::Client && said.windows(6).any(|word| word == b"COMMIT");
            match network {
                Network::NoCommit if commits => return Ok(()),
                Network::NoAnswerToCommit if commits => {
                    to.write_all(said).await?;
                    return to.flush().await;
                }
                _ => to.write_all(said).await?,
            }
        }
    }
}
