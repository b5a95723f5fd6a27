//! Parses arguments, runs a command, maps its outcome to an exit code; and puts the two faces of the service together,
//! which do not know each other.

use std::{io, process::ExitCode};

use tokio::net::TcpListener;
use toolpact::{app::App, cli, http, web};

/// A diff makes and drops some ten thousand small values on two threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main(|listener, app, stop| Box::pin(serve(listener, app, stop)))
}

async fn serve(listener: TcpListener, app: App, stop: cli::Stop) -> io::Result<()> {
    let bound = listener.local_addr()?;
    let router = http::layers(http::router(app.clone()).merge(web::router(app)), bound);
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}
