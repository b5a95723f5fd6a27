//! Parses arguments, runs a command, maps its outcome to an exit code; and puts the two faces of the service together,
//! which do not know each other.

use std::{io, process::ExitCode, sync::Arc};

use tokio::net::TcpListener;
use toolpact::{app::App, cli, guard::Limits, http, web};

/// A diff makes and drops some ten thousand small values on two threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main(|listener, app, limits, stop| Box::pin(serve(listener, app, limits, stop)))
}

async fn serve(listener: TcpListener, app: App, limits: Limits, stop: cli::Stop) -> io::Result<()> {
    let bound = listener.local_addr()?;
    let routes = http::router(app.clone()).merge(web::router(app.clone()));
    let limits = Arc::new(limits);
    let router = http::service(routes, app.clone(), bound, Arc::clone(&limits));
    // Whoever follows the log would be waited for otherwise.
    let stop = async move {
        stop.await;
        app.stop_following();
    };
    http::serve(listener, router, &limits, stop, http::Bounds::of_this_process()).await
}
