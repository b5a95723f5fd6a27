//! Connections: accepted, bounded, and ended in good order.
//!
//! A client that sends its request a byte a minute holds a connection and nothing else, and not for long (slow loris). What is
//! counted here is what one process can hold; how often somebody may call is `guard`'s business.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Extension, Router,
    body::Body,
    extract::{ConnectInfo, Request},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_io_timeout::TimeoutStream;
use tower::{Layer as _, Service as _};

use crate::guard::Limits;

/// What a connection may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How long a request's head may take, from when its connection waits for it: an idle connection ends after that as well.
    pub head: Duration,
    /// How long a client may take to read nothing of what it is sent.
    pub write: Duration,
    /// How many connections there may be; the next one waits to be accepted.
    pub connections: usize,
    /// How many of them one address may have, trusted proxies aside; one more is closed at once.
    pub per_address: usize,
}

/// The largest head of a request: a cookie, a token and a long path are a fraction of it.
const HEAD_BYTES: usize = 64 << 10;

impl Default for Bounds {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(30),
            write: Duration::from_secs(60),
            connections: 10_000,
            per_address: 1_000,
        }
    }
}

impl Bounds {
    /// Bounds that this process can keep: the limit of open files is raised to what that many connections need, where the system
    /// lets it, and a quarter of the files is left to the database, to servers that are asked and to those that are told.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::within(open_files())
    }

    /// The same of a process that may have so many files open.
    fn within(files: usize) -> Self {
        let bounds = Self::default();
        let connections = (files / 4 * 3).clamp(1, bounds.connections);
        // A tenth, but where that is little as many as an office behind one address has.
        let per_address = (connections / 10).max(64.min(connections / 2)).clamp(1, bounds.per_address);
        Self { connections, per_address, ..bounds }
    }
}

/// How many files this process may have open, once the limit is raised.
fn open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // No more than is needed: servers that are started as children inherit it, and some close every file that there could be.
    const WANTED: u64 = 16_384;
    let most = limit.maximum.map_or(WANTED, |most| most.min(WANTED));
    let raised = Rlimit { current: limit.current.map(|now| now.max(most)), ..limit };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised,
        // macOS has a limit beyond which none may be set.
        Err(_) => limit,
    };
    now.current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
}

/// Answers what comes to a listener until `stop` ends, and then what was asked before.
///
/// # Errors
/// Never by now; a connection that cannot be accepted is given up alone.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &Limits,
    stop: impl Future<Output = ()> + Send,
    bounds: Bounds,
) -> io::Result<()> {
    let held = Held::default();
    let (graceful, room) = (GracefulShutdown::new(), Arc::new(Semaphore::new(bounds.connections)));
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            // Never closed.
            let permit = Arc::clone(&room).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = accepted => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                tracing::warn!("a connection could not be accepted: {e}");
                // Out of files, most likely: others have to end first.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Closed without a word: whoever holds so many reads none.
        let place = match limits.counted(address.ip()) {
            Some(whose) => match held.one_more(whose, bounds.per_address) {
                Some(place) => Some(place),
                None => continue,
            },
            None => None,
        };
        let connection = connection(&graceful, stream, address, router.clone(), bounds);
        tokio::spawn(async move {
            // A client that hangs up or never ends its request is nobody's failure here.
            _ = connection.await;
            drop((permit, place));
        });
    }
    drop(listener);
    graceful.shutdown().await;
    Ok(())
}

/// How many connections each address has.
#[derive(Debug, Clone, Default)]
struct Held(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One of them, until it is dropped.
struct Place {
    held: Held,
    whose: IpAddr,
}

impl Held {
    /// One more of this address, unless it has as many as it may.
    fn one_more(&self, whose: IpAddr, most: usize) -> Option<Place> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(whose).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Place { held: self.clone(), whose })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.held.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.whose) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.whose);
            }
        }
    }
}

/// One connection, until it ends or is to; it is also told of the address at its other end.
fn connection(
    graceful: &GracefulShutdown,
    stream: TcpStream,
    address: SocketAddr,
    router: Router,
    bounds: Bounds,
) -> impl Future<Output = Result<(), hyper::Error>> + Send + use<> {
    // Answers are written at once; waiting for more to send only costs time here.
    _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(bounds.write));
    let routes = Extension(ConnectInfo(address)).layer(router);
    let answer = service_fn(move |request: Request<Incoming>| {
        let mut routes = routes.clone();
        async move { routes.call(request.map(Body::new)).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), answer);
    graceful.watch(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_files_left_whatever_the_limit_is() {
        for (files, connections, per_address) in [
            (0, 1, 1),
            (16, 12, 6),
            (256, 192, 64),
            (1_024, 768, 76),
            (4_096, 3_072, 307),
            (1 << 20, 10_000, 1_000),
        ] {
            let bounds = Bounds::within(files);
            assert_eq!((bounds.connections, bounds.per_address), (connections, per_address), "{files}");
        }
    }
}
