//! Parses arguments, runs a command, maps its outcome to an exit code; and puts the two faces of the service together,
//! which do not know each other.

use std::{io, process::ExitCode};

use toolpact::{app::App, cli};

fn main() -> ExitCode {
    cli::main(|listener, app, stop| Box::pin(serve(listener, app, stop)))
}

async fn serve(listener: tokio::net::TcpListener, app: App, stop: cli::Stop) -> io::Result<()> {
    _ = (listener, app);
    stop.await;
    Ok(())
}
