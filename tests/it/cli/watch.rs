//! `watch`: what a person sees who follows a server.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use crate::command::{Telling, User};

#[test]
fn a_server_that_tells_is_seen_to_change() {
    let (user, server) = (User::new(), Telling::new("a"));
    let mut watching = user
        .command(&["watch", "orders", "--", "bash", &server.script()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("piped")).lines().map(|l| l.expect("text"));
    let mut until = |words: &str| {
        lines.by_ref().find(|line| line.contains(words)).unwrap_or_else(|| panic!("no line with `{words}`"))
    };
    until("orders@");
    until("first snapshot of this server");
    let _server = server.change("b");
    until("drift: differs from the snapshot before");
    let asked = std::process::Command::new("kill").args(["-INT", &watching.id().to_string()]).status();
    assert!(asked.expect("started").success());
    assert!(watching.wait().expect("ended").success(), "to stop watching is no failure");
    let listed = user.run(&["tools", "orders@latest"]).code(0);
    assert!(listed.stdout.contains(r#""name":"b""#), "{}", listed.stdout);
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let user = User::new();
    for (args, code, words) in [
        (&["watch", "orders"][..], 2, "no server is registered"),
        (&["watch", "orders", "--file", "list.json"], 2, "a saved answer does not change"),
    ] {
        let ended = user.run(args).code(code);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}
