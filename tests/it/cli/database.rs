//! Which database is meant, and how its tables get there.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use super::{COULD_NOT_RUN, INVALID, PASSED};
use crate::{command::User, database};

const PASSWORD: &str = "hunter2";
const NOBODY: &str = "postgres://ann:hunter2@127.0.0.1:1/tools";

/// Runs a command with these variables; no password is ever said.
fn run(user: &User, args: &[&str], variables: &[(&str, &str)], code: i32) -> String {
    let output = user.command(args).envs(variables.iter().copied()).output().expect("the binary starts");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).replace(&*user.home().to_string_lossy(), "HOME");
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    assert!(!said.contains(PASSWORD), "{args:?}: {said}");
    said
}

#[test]
fn a_database_is_a_file_or_a_url_and_its_password_is_never_shown() {
    let user = User::new();
    let refused = "database `postgres://ann@127.0.0.1:1/tools` could not be opened: Connection refused";
    let unknown = "a database whose URL begins with `mysql:` is not supported";
    for (args, variables, code, said) in [
        (&["status", "--database", NOBODY, "-vv"] as &[&str], &[] as &[_], COULD_NOT_RUN, refused),
        (&["status"], &[("DATABASE_URL", NOBODY)], COULD_NOT_RUN, refused),
        (&["migrate"], &[("TOOLPACT_DATABASE", NOBODY)], COULD_NOT_RUN, refused),
        (&["serve", "--listen", "127.0.0.1:0"], &[("DATABASE_URL", NOBODY)], COULD_NOT_RUN, refused),
        (&["status", "--help"], &[("TOOLPACT_DATABASE", NOBODY)], PASSED, "postgres://USER:PASSWORD@HOST"),
        (&["status"], &[("DATABASE_URL", "mysql://ann:hunter2@db/tools")], INVALID, unknown),
        (&["status", "--database", "postgres://ann:hunter2@db:x/tools"], &[], INVALID, "invalid port number"),
        (&["status", "--database", "sqlite::memory:"], &[], INVALID, "no file is named for the database"),
        (
            &["status"],
            &[("DATABASE_URL", "sqlite:other.db")],
            COULD_NOT_RUN,
            "there is no database at `other.db`",
        ),
        (&["migrate"], &[("DATABASE_URL", "sqlite:other.db")], PASSED, "database `other.db` is up to date; "),
        (&["migrate"], &[("DATABASE_URL", "sqlite:other.db")], PASSED, "nothing was to do"),
        (&["status"], &[("DATABASE_URL", "other.db")], PASSED, ""),
        // Our own variable and the command line are about us alone.
        (&["status"], &[("DATABASE_URL", NOBODY), ("TOOLPACT_DATABASE", "other.db")], PASSED, ""),
        (&["status", "--database", "other.db"], &[("DATABASE_URL", NOBODY)], PASSED, ""),
        (&["status"], &[("DATABASE_URL", "")], COULD_NOT_RUN, "there is no database at `HOME/.local/share/"),
    ] {
        let answer = run(&user, args, variables, code);
        assert!(answer.contains(said), "{args:?}: {answer}");
    }
}

#[tokio::test]
async fn tables_on_a_server_are_made_when_somebody_says_so_or_serves() {
    if database::server().is_none() {
        return;
    }
    let own = database::Own::new().await;
    let user = User::new();
    let url = own.url();
    let on = [("DATABASE_URL", url.as_str())];
    for args in [&["status"] as &[&str], &["serve", "--listen", "127.0.0.1:0", "--no-migrate"]] {
        let said = run(&user, args, &on, COULD_NOT_RUN);
        assert!(said.contains("its tables are not up to date"), "{said}");
        assert!(said.contains("help: run `toolpact migrate`"), "{said}");
    }
    // Three that start at once on a database without tables.
    let mut started: Vec<_> = (0..3)
        .map(|_| {
            user.command(&["serve", "--listen", "127.0.0.1:0"])
                .envs(on)
                .stdout(Stdio::piped())
                .spawn()
                .expect("it starts")
        })
        .collect();
    for child in &mut started {
        let first = BufReader::new(child.stdout.take().expect("stdout is piped")).lines().next();
        let first = first.expect("it says where").expect("it is text");
        assert!(first.starts_with("toolpact serves http://"), "{first}");
    }
    assert!(run(&user, &["migrate"], &on, PASSED).contains("nothing was to do"));
    run(&user, &["status"], &on, PASSED);
    for mut child in started {
        child.kill().expect("killed");
        child.wait().expect("ended");
    }
}
