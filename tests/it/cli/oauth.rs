//! A client of OAuth on the command line: its secret comes from a variable and goes nowhere.

use super::{COULD_NOT_RUN, INVALID, PASSED};
use crate::{
    command::{Ended, User},
    mcp::http::oauth::{SECRET, TOKEN, honest, start},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_url_is_asked_and_registered_as_a_client() {
    let (base, _log) = start(honest).await;
    let asked = tokio::task::spawn_blocking(move || {
        let user = User::new();
        let run = |args: &[&str], secret: Option<&str>| -> Ended {
            let mut command = user.command(args);
            command.envs(secret.map(|secret| ("CLIENT_SECRET", secret)));
            let output = command.output().expect("the binary starts");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let ended = Ended {
                code: output.status.code().unwrap_or(-1),
                stdout: text(&output.stdout),
                stderr: text(&output.stderr),
            };
            let all = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!all.contains(SECRET) && !all.contains(TOKEN), "{args:?}: {all}");
            ended
        };
        let url = format!("{base}/mcp");
        let to = ["--url", &url, "--oauth-client-id", "client", "--oauth-client-secret-env", "CLIENT_SECRET"];
        let snapshot = [&["-vv", "snapshot", "mine"], &to[..]].concat();
        let ended = run(&snapshot, Some(SECRET)).code(PASSED);
        assert!(ended.stdout.contains("1 tools"), "{}", ended.stdout);
        let ended = run(&snapshot, Some("another")).code(COULD_NOT_RUN);
        for part in ["(auth_required)", "error `invalid_client`", "check the client's id and secret"] {
            assert!(ended.stderr.contains(part), "no {part:?} in\n{}", ended.stderr);
        }
        let ended = run(&snapshot, None).code(INVALID);
        assert!(ended.stderr.contains("the variable `CLIENT_SECRET` is not set"), "{}", ended.stderr);

        run(&[&["servers", "add", "mine"], &to[..]].concat(), None).code(PASSED);
        run(&["snapshot", "mine"], Some(SECRET)).code(PASSED);
        run(&["log", "--format", "json"], None).code(PASSED);
        for (args, part) in [
            (
                &["snapshot", "a", "--url", &url, "--oauth-client-id", "client"] as &[&str],
                "--oauth-client-secret-env",
            ),
            (&["snapshot", "a", "--url", &url, "--oauth-scope", "x"], "--oauth-client-id"),
            (
                &[
                    "servers",
                    "add",
                    "a",
                    "--oauth-client-id",
                    "c",
                    "--oauth-client-secret-env",
                    SECRET,
                    "--",
                    "x",
                ],
                "expected the name of a variable",
            ),
            (
                &[
                    "servers",
                    "add",
                    "a",
                    "--oauth-client-id",
                    "c",
                    "--oauth-client-secret-env",
                    "S",
                    "--",
                    "x",
                ],
                "for a URL",
            ),
            (
                &["snapshot", "a", "--oauth-client-id", "c", "--oauth-client-secret-env", "HOME", "--", "x"],
                "for a URL",
            ),
            (
                &["snapshot", "a", "--oauth-client-id", "c", "--oauth-client-secret-env", "HOME"],
                "server's command is empty",
            ),
        ] {
            let ended = user.run(args).code(INVALID);
            assert!(ended.stderr.contains(part), "{args:?}: no {part:?} in\n{}", ended.stderr);
        }
    });
    asked.await.expect("it ran");
}
