//! Commands that print a credential: ended in time, with everything that they started.

use std::{fs::File, io::Read as _, process::Command, time::Duration};

use toolpact::mcp::credential::{NotPrinted, printed};

/// Bash code that says on a pipe that it is up, and holds that pipe with a child of its own.
fn stubborn(pipe: &std::path::Path) -> Vec<String> {
    assert!(Command::new("mkfifo").arg(pipe).status().is_ok_and(|s| s.success()), "a pipe is made");
    let code = format!("trap '' TERM HUP; exec 3<>'{}'; sleep 600 & echo up >&3; wait", pipe.display());
    vec!["-c".to_owned(), code]
}

/// Whether nobody holds the pipe any more; waits until it is so.
fn is_gone(pipe: &std::path::Path) -> bool {
    let mut left = String::new();
    // Held by ourselves for writing, it can be read to its end once we let go.
    let writer = File::options().read(true).write(true).open(pipe).expect("the pipe is there");
    let mut reader = File::open(pipe).expect("the pipe is there");
    drop(writer);
    reader.read_to_string(&mut left).is_ok()
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_its_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("alive");
    let args = stubborn(&pipe);
    let ended = printed("bash", &args, 100, Duration::from_millis(300)).await;
    assert!(matches!(ended, Err(NotPrinted::Late(_))), "{ended:?}");
    assert!(is_gone(&pipe));
}

#[tokio::test]
async fn a_command_that_nobody_waits_for_is_ended_with_its_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("alive");
    let args = stubborn(&pipe);
    let asked = tokio::spawn(async move { printed("bash", &args, 100, Duration::from_secs(600)).await });
    let waited = pipe.clone();
    let up = tokio::task::spawn_blocking(move || {
        let mut line = [0; 3];
        File::open(waited).and_then(|mut pipe| pipe.read_exact(&mut line)).map(|()| line)
    });
    assert_eq!(up.await.expect("it ran").expect("the command is up"), *b"up\n");
    asked.abort();
    assert!(asked.await.is_err_and(|e| e.is_cancelled()));
    assert!(is_gone(&pipe));
}

#[tokio::test]
async fn a_command_that_prints_too_much_is_ended() {
    let args = ["-c".to_owned(), "while :; do echo s3cr3t; done".to_owned()];
    let ended = printed("bash", &args, 100, Duration::from_secs(600)).await;
    assert!(matches!(ended, Err(NotPrinted::TooLong(100))), "{ended:?}");
}
