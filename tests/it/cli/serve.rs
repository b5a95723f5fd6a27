//! The service as the command starts and ends it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::Stdio,
};

use super::{COULD_NOT_RUN, PASSED};
use crate::command::User;

/// Gets a page the way a browser begins.
fn get(url: &str, cookie: &str) -> String {
    let rest = url.strip_prefix("http://").expect("it is plain HTTP");
    let (host, path) = rest.split_once('/').expect("it has a path");
    let mut stream = TcpStream::connect(host).expect("it listens");
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n")
        .expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers text");
    answer
}

#[test]
fn the_demo_serves_a_review_and_leaves_nothing_behind() {
    let user = User::new();
    let mut child = user
        .command(&["serve", "--demo", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let first = lines.next().expect("it says where").expect("it is text");
    let url = first.strip_prefix("toolpact serves ").unwrap_or_else(|| panic!("no URL in {first}"));
    let root: String = url.split('/').take(3).collect::<Vec<_>>().join("/") + "/";
    assert!(get(&root, "").contains("location: /login?next="), "nobody looks who is not signed in");
    let signed_in = get(url, "");
    let header = |name: &str| {
        let line = signed_in.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name}in {signed_in}")).trim().to_owned()
    };
    let cookie = header("set-cookie: ").split(';').next().expect("a cookie").to_owned();
    let page = get(&format!("{root}{}", header("location: ").trim_start_matches('/')), &cookie);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains("breaking"), "{page}");
    assert!(get(&root, &cookie).starts_with("HTTP/1.1 200"));
    assert!(get(&format!("{root}api/v1/environments"), &cookie).contains("application/json"));
    assert!(get(url, "").starts_with("HTTP/1.1 403"), "the link is good once");

    let killed = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(killed.expect("kill starts").success());
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(PASSED));
    let left: Vec<_> = std::fs::read_dir(user.home()).expect("it is there").collect();
    assert!(left.is_empty(), "the demo left {left:?}");
}

/// Starts a service of the user's that says where it is, and waits until it does.
fn serving(user: &User, args: &[&str]) -> (std::process::Child, String) {
    started(user.command(&[&["serve", "--listen", "127.0.0.1:0", "--no-poll"], args].concat()))
}

/// The same with these variables.
#[cfg(feature = "otel")]
pub(super) fn serving_with(user: &User, variables: &[(&str, &str)]) -> (std::process::Child, String) {
    let mut command = user.command(&["serve", "--listen", "127.0.0.1:0", "--no-poll"]);
    command.envs(variables.iter().copied());
    started(command)
}

fn started(mut command: std::process::Command) -> (std::process::Child, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let first = BufReader::new(child.stdout.take().expect("stdout is piped")).lines().next();
    let first = first.expect("it says where").expect("it is text");
    let url =
        first.strip_prefix("toolpact serves ").unwrap_or_else(|| panic!("no URL in {first}")).to_owned();
    (child, url)
}

pub(super) fn terminate(child: &std::process::Child) {
    let sent = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill starts").success());
}

#[test]
fn a_service_that_is_told_to_stop_says_so_first_and_a_second_word_ends_it() {
    let user = User::new();
    let (mut child, url) = serving(&user, &["--drain-delay", "300"]);
    assert!(get(&format!("{url}readyz"), "").starts_with("HTTP/1.1 200"));
    terminate(&child);
    // The signal takes its time to be heard.
    let said =
        (0..100_000).map(|_| get(&format!("{url}readyz"), "")).find(|a| !a.starts_with("HTTP/1.1 200"));
    let said = said.expect("it drains");
    assert!(said.starts_with("HTTP/1.1 503") && said.contains("\"code\":\"draining\""), "{said}");
    assert!(get(&format!("{url}api/v1/catalogs"), "").starts_with("HTTP/1.1 401"), "it still answers");
    terminate(&child);
    assert_eq!(child.wait().expect("it ends").code(), Some(PASSED));
}

#[test]
fn a_request_that_has_begun_is_answered_though_the_service_was_told_to_stop() {
    let user = User::new();
    let manager = std::os::unix::net::UnixDatagram::bind(user.home().join("notify")).expect("a socket");
    let told = || {
        let mut text = [0; 64];
        let read = manager.recv(&mut text).expect("a message");
        String::from_utf8_lossy(&text[..read]).trim().to_owned()
    };
    let mut child = user
        .command(&["serve", "--listen", "127.0.0.1:0", "--no-poll"])
        .env("NOTIFY_SOCKET", user.home().join("notify"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let lines: Vec<String> = lines.map_while(Result::ok).take(4).collect();
    assert_eq!(told(), "READY=1");
    let host = lines[0].strip_prefix("toolpact serves http://").expect("a URL").trim_end_matches('/');
    let token = lines[3].rsplit(' ').next().expect("a token");
    let body = r#"{"baseline":{"tools":[]},"candidate":{"tools":[]}}"#;
    let (first, rest) = body.split_at(10);
    let mut stream = TcpStream::connect(host).expect("it listens");
    let length = body.len();
    let head = format!("POST /api/v1/diff HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n");
    let kind = "Content-Type: application/json\r\nConnection: close\r\nExpect: 100-continue\r\n";
    write!(stream, "{head}{kind}Content-Length: {length}\r\n\r\n").expect("it reads");
    // It says so once it reads the body: the request has begun.
    let mut said = [0; 25];
    stream.read_exact(&mut said).expect("it goes on");
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
    write!(stream, "{first}").expect("it reads");
    terminate(&child);
    assert_eq!(told(), "STOPPING=1");
    // Once it takes no more requests, which it does as soon as it was told to stop.
    while TcpStream::connect(host).is_ok() {}
    write!(stream, "{rest}").expect("it still reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(child.wait().expect("it ends").code(), Some(PASSED));
}

#[test]
fn a_log_for_programs_names_requests_and_no_secrets() {
    let user = User::new();
    let (mut child, url) = serving(&user, &["--log-format", "json", "-vv"]);
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut stream = TcpStream::connect(&host).expect("it listens");
    let asked = "GET /api/v1/catalogs?limit=canary HTTP/1.1\r\nX-Request-Id: req-7\r\nAuthorization: Bearer canary\r\n";
    write!(stream, "{asked}Cookie: a=canary\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.contains("x-request-id: req-7"), "{answer}");
    terminate(&child);
    let mut log = String::new();
    child.stderr.take().expect("stderr is piped").read_to_string(&mut log).expect("text");
    child.wait().expect("it ends");
    let lines: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert!(lines.iter().any(|line| line["span"]["id"] == "req-7"), "{log}");
    assert!(
        lines.iter().any(|line| line["message"].as_str().is_some_and(|m| m.contains("told to stop"))),
        "{log}"
    );
    assert!(!log.contains("canary"), "{log}");
}

#[test]
fn a_port_that_is_taken_could_not_run() {
    let user = User::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let address = taken.local_addr().expect("it is bound").to_string();
    let ended = user.run(&["serve", "--listen", &address]).code(COULD_NOT_RUN);
    assert!(ended.stderr.contains(&address) && ended.stderr.contains("help: "), "{}", ended.stderr);
}

#[test]
fn a_poller_that_is_killed_is_followed_by_another() {
    let user = User::new();
    let starts = user.home().join("starts");
    assert!(std::process::Command::new("mkfifo").arg(&starts).status().expect("coreutils").success());
    // Says that it was started, and by whom, and then nothing until its stdin ends.
    let script = user.file("server", format!("echo $PPID > '{}'; cat > /dev/null\n", starts.display()));
    let config = serde_json::json!({"mcpServers": {"silent": {"command": "bash", "args": [script]}}});
    user.file("mcp.json", config.to_string());
    user.run(&["import", "mcp.json"]).code(PASSED);
    let serve = || {
        user.command(&["serve", "--listen", "127.0.0.1:0", "--poll-lease", "1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts")
    };
    // Opened when the server writes, and that is when it starts.
    let started_by = || std::fs::read_to_string(&starts).expect("a pipe").trim().to_owned();
    let mut first = serve();
    assert_eq!(started_by(), first.id().to_string());
    let mut second = serve();
    first.kill().expect("killed with SIGKILL");
    first.wait().expect("ended");
    // On a busy machine the first may have been late for its own claim, and have begun anew.
    let followed = (0..5).any(|_| started_by() == second.id().to_string());
    assert!(followed, "its claim ended, and nothing was lost");
    second.kill().expect("killed");
    second.wait().expect("ended");
}
