//! A command of our own user that prints a credential, such as a password manager's. It is run as it stands, no shell
//! sees it, and it is ended with its whole process group where it takes too long.
//!
//! Unlike a server it is nobody else's code, so it has the whole environment: that is where such programs find the
//! session in which they were unlocked. What it prints is a secret and stands in no error; what it says on stderr goes
//! nowhere, because it may be one as well.

use std::{
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    time::timeout,
};

use super::process::signal_group;

/// Why a command printed no credential.
#[derive(Debug, thiserror::Error)]
pub enum NotPrinted {
    /// There is no such program, or it cannot be run.
    #[error("cannot be run: {0}")]
    Start(#[source] io::Error),
    /// It took too long, and was ended.
    #[error("was not done after {0:?}, and was ended")]
    Late(Duration),
    /// It printed more than a credential is.
    #[error("printed more than {0} bytes")]
    TooLong(usize),
    /// It said that it failed.
    #[error("failed ({0})")]
    Failed(ExitStatus),
    /// Its output could not be read.
    #[error("could not be read: {0}")]
    Lost(#[source] io::Error),
}

/// What a command prints on stdout: at most `limit` bytes, and within this time.
///
/// Dropping the future ends the command, children included.
///
/// # Errors
/// Where it does not print that much in that time, or fails.
pub async fn printed(
    program: &str,
    args: &[String],
    limit: usize,
    within: Duration,
) -> Result<Vec<u8>, NotPrinted> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(NotPrinted::Start)?;
    let mut group = Group(child.id().and_then(|id| i32::try_from(id).ok()));
    let Some(stdout) = child.stdout.take() else {
        return Err(NotPrinted::Lost(io::Error::other("a pipe to the process is missing")));
    };
    let status = timeout(within, ended(&mut child, stdout, limit)).await;
    let (bytes, status) = status.unwrap_or(Err(NotPrinted::Late(within)))?;
    // What it left running on purpose (an agent) is its user's.
    group.0 = None;
    if status.success() { Ok(bytes) } else { Err(NotPrinted::Failed(status)) }
}

async fn ended(
    child: &mut Child,
    stdout: impl AsyncRead + Unpin,
    limit: usize,
) -> Result<(Vec<u8>, ExitStatus), NotPrinted> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    stdout.take(most).read_to_end(&mut bytes).await.map_err(NotPrinted::Lost)?;
    if bytes.len() > limit {
        return Err(NotPrinted::TooLong(limit));
    }
    let status = child.wait().await.map_err(NotPrinted::Lost)?;
    Ok((bytes, status))
}

/// A process group that is ended with this value, unless it is taken out.
struct Group(Option<i32>);

impl Drop for Group {
    fn drop(&mut self) {
        signal_group(self.0, libc::SIGKILL);
    }
}
