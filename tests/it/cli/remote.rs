//! The gate of a service: blocked, decided on, green; and every way in which the service cannot judge.

use std::{
    io::{BufRead, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
};

use serde_json::{Value, json};
use toolpact::remote::Service;

use super::{BLOCKED, COULD_NOT_RUN, INVALID, PASSED, recorded};
use crate::command::{Ended, User};

/// A service of an operator's, with the first release of the recorded server live in production.
struct Serving {
    operator: User,
    child: Child,
    url: String,
    version: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Serving {
    fn new() -> Self {
        let operator = User::with_database();
        operator.run(&["snapshot", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
        operator.run(&["draft", "shop", "--server", "orders"]).code(PASSED);
        let approved = operator.run(&["approve", "shop", "d-1", "--reason", "first"]).code(PASSED).stdout;
        let at = approved.find("shop@").expect("it names a version") + "shop@".len();
        let version: String =
            approved[at..].chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        operator.run(&["promote", "production", &version, "--reason", "first"]).code(PASSED);
        let mut child = operator
            .command(&["serve", "--listen", "127.0.0.1:0", "--no-poll"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let first = BufReader::new(child.stdout.take().expect("stdout is piped")).lines().next();
        let first = first.expect("it says where").expect("it is text");
        let url = first.strip_prefix("toolpact serves ").unwrap_or_else(|| panic!("no URL in {first}"));
        let url = url.trim_end_matches('/').to_owned();
        Self { operator, child, url, version }
    }

    fn token(&self, args: &[&str]) -> String {
        let args = [&["tokens", "create", "--quiet"], args].concat();
        self.operator.run(&args).code(PASSED).stdout.trim().to_owned()
    }

    /// Decides by the API, as whoever holds the token.
    fn decides(&self, token: &str, body: &Value) {
        let service = Service::new(&self.url, Some(token.to_owned())).expect("a service");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let asked = service.post::<Value>("/api/v1/catalogs/shop/decisions", body.to_string(), None);
        runtime.block_on(asked).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Stands before a service and has it say no where it says yes, without a reason: a later one may know more than this program.
fn refusing(url: &str) -> String {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let relay = format!("http://{}", port.local_addr().expect("an address"));
    let host = url.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for stream in port.incoming().map_while(Result::ok) {
            let (head, body) = message(&mut BufReader::new(&stream));
            let (first, rest) = head.split_once('\n').expect("a request");
            let mut service = TcpStream::connect(&host).expect("it listens");
            write!(service, "{first}\nconnection: close\r\n{rest}\r\n{body}").expect("it reads");
            let (head, body) = message(&mut BufReader::new(&service));
            let body = body.replace("\"passes\":true", "\"passes\":false");
            let head: String =
                head.split_inclusive('\n').filter(|line| !line.starts_with("content-length")).collect();
            let length = body.len();
            _ = write!(&stream, "{head}content-length: {length}\r\n\r\n{body}");
        }
    });
    relay
}

/// The head, without the line that ends it, and the body of a message.
fn message(from: &mut impl BufRead) -> (String, String) {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        from.read_line(&mut line).expect("a line");
        if line.trim().is_empty() {
            break;
        }
        if let Some(said) = line.strip_prefix("content-length: ") {
            length = said.trim().parse().expect("a number");
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).expect("the body");
    (head, String::from_utf8(body).expect("text"))
}

/// Runs a command of an author's with a token.
fn run(author: &User, token: &str, args: &[&str]) -> Ended {
    let mut command = author.command(args);
    if !token.is_empty() {
        command.env("TOOLPACT_TOKEN", token);
    }
    let output = command.output().expect("the binary starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended {
        code: output.status.code().unwrap_or(-1),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// `gate` of a recorded list against production.
fn gate<'a>(url: &'a str, file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args =
        ["gate", "--service", url, "--environment", "production", "--server", "orders", "--file", file];
    [&args[..], more].concat()
}

#[test]
fn a_build_that_breaks_production_is_green_once_somebody_accepts_it_there() {
    let serving = Serving::new();
    let (ci, ben) = (
        serving.token(&["ann", "--kind", "ci", "--role", "author"]),
        serving.token(&["ben", "--role", "reviewer"]),
    );
    let (author, url) = (User::new(), serving.url.as_str());
    let (same, breaking) = (recorded("orders-1.json"), recorded("orders-3-breaking.json"));

    let silent = run(&author, &ci, &gate(url, &same, &[])).code(PASSED);
    assert!(silent.stdout.starts_with("gate: passed; nothing changed"), "{}", silent.stdout);
    let build =
        ["--repository", "acme/orders", "--commit", "3f9c2d1", "--branch", "less", "--pull-request", "42"];
    let blocked = run(&author, &ci, &gate(url, &breaking, &build)).code(BLOCKED);
    let link = format!("have it accepted at {url}/checks/2");
    assert!(blocked.stdout.contains(&link) && blocked.stdout.contains("witness"), "{}", blocked.stdout);
    let last = blocked.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("gate: blocked by "), "{last}");
    let told =
        run(&author, &ci, &gate(url, &breaking, &[&build[..], &["--format", "json"]].concat())).code(BLOCKED);
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!(
        told["service"],
        json!({
            "url": format!("{url}/"), "environment": "production", "check": 2, "page": format!("{url}/checks/2"),
        })
    );
    let changes: Vec<&Value> = told["standing"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|s| s["is"] == "blocks")
        .map(|s| &s["fingerprint"])
        .collect();
    assert!(!changes.is_empty(), "{told:#}");
    // In the summary of a pull request as well.
    let md =
        run(&author, &ci, &gate(url, &breaking, &[&build[..], &["--report", "md=-"]].concat())).code(BLOCKED);
    assert!(
        md.stdout.contains("Review these changes</a>") && md.stdout.contains("checks&#47;2"),
        "{}",
        md.stdout
    );
    // A rehearsal has no page.
    let dry = run(&author, &ci, &gate(url, &breaking, &["--dry-run"])).code(BLOCKED);
    assert!(!dry.stdout.contains("/checks/"), "{}", dry.stdout);

    let decide = json!({
        "check": 2, "changes": changes, "ruling": "accept", "reason": "callers have moved", "environment": "production",
    });
    serving.decides(&ben, &decide);
    let green = run(&author, &ci, &gate(url, &breaking, &build)).code(PASSED);
    assert!(green.stdout.contains("accepted by ben: callers have moved"), "{}", green.stdout);
    assert!(green.stdout.contains(&format!("check: {url}/checks/2")), "{}", green.stdout);
    // On another commit it is decided as well, and a check of its own.
    let other = run(&author, &ci, &gate(url, &breaking, &["--commit", "a1"])).code(PASSED);
    assert!(other.stdout.contains(&format!("check: {url}/checks/3")), "{}", other.stdout);
    let decide = json!({"check": 2, "changes": [changes[0]], "ruling": "reject", "reason": "one has not"});
    serving.decides(&ben, &decide);
    let red = run(&author, &ci, &gate(url, &breaking, &build)).code(BLOCKED);
    assert!(red.stdout.contains("by ben: one has not"), "{}", red.stdout);
    let log = serving.operator.run(&["log"]).code(PASSED).stdout;
    assert!(log.contains("check.registered") && log.contains("ci:ann"), "{log}");
    serving.operator.run(&["audit", "verify"]).code(PASSED);
}

#[test]
fn a_service_that_cannot_judge_is_an_error_with_the_next_step_and_never_a_pass() {
    let serving = Serving::new();
    let ci = serving.token(&["ann", "--kind", "ci", "--role", "author"]);
    let viewer = serving.token(&["ann", "--kind", "ci", "--role", "viewer"]);
    let foreign = serving.token(&["ann", "--kind", "ci", "--role", "author", "--catalog", "other"]);
    let elsewhere = serving.token(&["ann", "--kind", "ci", "--role", "author", "--environment", "staging"]);
    let gone = serving.token(&["ann", "--kind", "ci", "--role", "author"]);
    let listed = serving.operator.run(&["tokens", "list", "--format", "json"]).code(PASSED).stdout;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let id =
        listed.as_array().and_then(|all| all.last()).and_then(|t| t["id"].as_str()).expect("the last one");
    serving.operator.run(&["tokens", "revoke", id]).code(PASSED);
    let author = User::new();
    let large = author.file(
        "large.json",
        json!([{"name": "a", "description": "x".repeat(17 << 20), "inputSchema": {}}]).to_string(),
    );
    let (url, same, large) =
        (serving.url.as_str(), recorded("orders-1.json"), large.to_string_lossy().into_owned());
    let invalid = "put a token of kind ci with the role author into TOOLPACT_TOKEN";
    for (token, args, code, said, help) in [
        ("", gate(url, &same, &[]), INVALID, "does not take the token: unauthenticated", invalid),
        (gone.as_str(), gate(url, &same, &[]), INVALID, "invalid-token", invalid),
        ("tp_no", gate(url, &same, &[]), INVALID, "invalid-token", invalid),
        (&viewer, gate(url, &same, &[]), INVALID, "role-needed", "author"),
        (&foreign, gate(url, &same, &["--catalog", "shop"]), INVALID, "out-of-scope", "scope"),
        (&elsewhere, gate(url, &same, &[]), INVALID, "out-of-scope", "scope"),
        (&ci, gate(url, &same, &["--catalog", "shpo"]), INVALID, "unknown-catalog", "known: shop"),
        (&ci, gate(url, &large, &[]), INVALID, "which reads 16777216", "--server NAME"),
        (&ci, gate(url, &same, &["--fail-on", "none"]), INVALID, "`--fail-on` cannot be said", "--offline"),
        (
            &ci,
            gate("http://127.0.0.1:1", &same, &[]),
            COULD_NOT_RUN,
            "could not be reached",
            "--on-unreachable use-lockfile",
        ),
        (
            &ci,
            gate("http://127.0.0.1:1", &same, &["--on-unreachable", "use-lockfile"]),
            COULD_NOT_RUN,
            "there is no lockfile `toolpact.lock` to judge by instead",
            "commit a lockfile",
        ),
        (&ci, gate("http://pact.example.com", &same, &[]), INVALID, "a token would travel in clear", ""),
        (
            &ci,
            gate(&format!("{url}/elsewhere"), &same, &[]),
            COULD_NOT_RUN,
            "no toolpact service",
            "no proxy",
        ),
    ] {
        let ended = run(&author, token, &args);
        assert_eq!(ended.code, code, "{args:?}: {}{}", ended.stdout, ended.stderr);
        for says in [said, help] {
            assert!(ended.stderr.contains(says), "{args:?}: no `{says}` in\n{}", ended.stderr);
        }
        assert!(!ended.stderr.contains(ci.as_str()), "a token is nobody's to read");
    }
    let ended = run(&author, &ci, &gate(&refusing(url), &same, &[])).code(COULD_NOT_RUN);
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains("says that the build does not pass"), "{all}");
    // What the command line names, the tree does not turn elsewhere.
    author.file(
        "toolpact.yaml",
        "service: {url: 'http://127.0.0.1:1', environment: staging, catalog: other, on-unreachable: use-lockfile}\n",
    );
    run(&author, &ci, &gate(url, &same, &[])).code(PASSED);
    run(&author, &ci, &gate("http://127.0.0.1:1", &same, &[])).code(COULD_NOT_RUN);
    let ended = run(&author, &ci, &["gate", "--service", url, "--file", &same]).code(INVALID);
    assert!(ended.stderr.contains("no environment to hold the build against"), "{}", ended.stderr);
    let args =
        ["gate", "--service", url, "--environment", "prodution", "--server", "orders", "--file", &same];
    let ended = run(&author, &ci, &args).code(INVALID);
    assert!(ended.stderr.contains("did you mean `production`?"), "{}", ended.stderr);
    let args =
        ["gate", "--service", url, "--environment", "production", "--server", "order", "--file", &same];
    let ended = run(&author, &ci, &args).code(INVALID);
    assert!(
        ended.stderr.contains("holds no server `order`") && ended.stderr.contains("orders"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_version_that_a_tool_declares_is_held_against_what_is_live() {
    let serving = Serving::new();
    let ci = serving.token(&["ann", "--kind", "ci", "--role", "author"]);
    let list = |version: &str, more: Value| {
        let mut properties = json!({"sku": {"type": "string"}});
        properties.as_object_mut().expect("one").extend(more.as_object().cloned().unwrap_or_default());
        let schema = json!({"type": "object", "properties": properties});
        json!({"tools": [{"name": "find", "inputSchema": schema, "_meta": {"version": version}}]}).to_string()
    };
    let operator = &serving.operator;
    operator.file("live.json", list("1.4.0", json!({})));
    operator.run(&["snapshot", "orders", "--file", "live.json"]).code(PASSED);
    let approve = ["approve", "shop", "d-2", "--accept-breaking", "--reason", "versions"];
    let said = operator.run(&approve).code(PASSED).stdout;
    let version = said.split_once("shop@").expect("it names the version").1;
    let version = version.split(char::is_whitespace).next().expect("a version");
    operator.run(&["promote", "production", version, "--reason", "versions"]).code(PASSED);

    let author = User::new();
    author.file("toolpact.yaml", "policy: {declared-version: require}\n");
    for (declared, more, code, says) in [
        ("1.4.0", json!({}), PASSED, "gate: passed"),
        ("1.4.0", json!({"note": {"type": "string"}}), BLOCKED, "needs 1.5.0"),
        ("1.5.0", json!({"note": {"type": "string"}}), PASSED, "gate: passed"),
    ] {
        author.file("build.json", list(declared, more));
        let ended = run(&author, &ci, &gate(&serving.url, "build.json", &[]));
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, code, "{declared}: {all}");
        assert!(all.contains(says), "{declared}: no `{says}` in {all}");
    }
}

#[test]
fn what_was_announced_in_an_environment_may_go_after_the_days_that_are_promised_there() {
    let serving = Serving::new();
    let ci = serving.token(&["ann", "--kind", "ci", "--role", "author"]);
    let (operator, author) = (&serving.operator, User::new());
    let tool = |name: &str, says: &str| json!({"name": name, "description": says, "inputSchema": {"type": "object"}});
    let live = json!({"tools": [tool("find", "Finds."), tool("seek", "Deprecated: use find.")]});
    operator.file("live.json", live.to_string());
    operator.run(&["snapshot", "orders", "--file", "live.json"]).code(PASSED);
    let said = operator.run(&["approve", "shop", "d-2", "--accept-breaking", "--reason", "it goes"]);
    let said = said.code(PASSED).stdout;
    let version = said.split_once("shop@").expect("it names the version").1;
    let version = version.split(char::is_whitespace).next().expect("a version");
    operator.run(&["promote", "production", version, "--reason", "it goes"]).code(PASSED);

    let build = json!({"tools": [tool("find", "Finds.")]}).to_string();
    author.file("build.json", &build);
    for (policy, code, is, says) in [
        ("{}", BLOCKED, "blocks", "gate: blocked by "),
        ("{deprecationDays: 90}", BLOCKED, "too-soon", "it may come from "),
        // What is promised for no day may go on the day of its announcement.
        ("{deprecationDays: 0}", PASSED, "announced", "long enough"),
    ] {
        operator.file("shop.yaml", format!("catalog: shop\npolicy: {policy}\n"));
        operator.run(&["apply", "-f", "shop.yaml"]).code(PASSED);
        let text = run(&author, &ci, &gate(&serving.url, "build.json", &[])).code(code).stdout;
        assert!(text.contains(says), "{policy}: {text}");
        let args = gate(&serving.url, "build.json", &["--format", "json"]);
        let told: Value = serde_json::from_str(&run(&author, &ci, &args).code(code).stdout).expect("JSON");
        assert_eq!(told["standing"][0]["is"], is, "{told:#}");
    }
    // The operator is told the same of the draft that is made of it.
    operator.file("build.json", &build);
    operator.run(&["snapshot", "orders", "--file", "build.json"]).code(PASSED);
    let shown = operator.run(&["show", "shop", "d-3"]).code(PASSED).stdout;
    let says = ["passes: breaking: tool", "0 days promised: it may go"];
    assert!(says.iter().all(|says| shown.contains(says)), "{shown}");
    operator.run(&["approve", "shop", "d-3", "--reason", "it went"]).code(PASSED);
}

#[test]
fn the_settings_of_a_tree_name_the_service_and_what_is_done_where_it_is_down() {
    let author = User::new();
    let (same, breaking) = (recorded("orders-1.json"), recorded("orders-3-breaking.json"));
    author.run(&["lock", "--server", "orders", "--file", &same]).code(PASSED);
    let settings = |file: &str, more: &str| {
        let text = format!(
            "service: {{url: 'http://127.0.0.1:1', environment: production{more}}}\nservers: {{orders: {{file: '{file}'}}}}\n"
        );
        author.file("toolpact.yaml", text);
    };
    let down = "by the lockfile, for the service could not be reached";
    for (file, more, args, code, says) in [
        (&same, "", &["gate"][..], COULD_NOT_RUN, "could not be reached"),
        (&same, ", on-unreachable: fail-closed", &["gate"], COULD_NOT_RUN, "could not be reached"),
        (&same, ", on-unreachable: use-lockfile", &["gate"], PASSED, down),
        (&breaking, ", on-unreachable: use-lockfile", &["gate"], BLOCKED, down),
        (&breaking, ", on-unreachable: use-lockfile", &["gate", "--quiet"], BLOCKED, down),
        (&same, "", &["gate", "--on-unreachable", "use-lockfile"], PASSED, down),
        (&same, "", &["gate", "--offline"], PASSED, "gate: passed; nothing changed (3 tools)"),
        (&breaking, "", &["gate", "--offline"], BLOCKED, "gate: blocked by "),
        // What is not there is not judged, and so does not pass.
        (&same, "", &["gate", "--offline", "--server", "ordres"], INVALID, "did you mean `orders`?"),
        (&same, "", &["gate", "--server", "ordres"], INVALID, "did you mean `orders`?"),
        (&same, ", on-unreachable: pass", &["gate"], INVALID, "unknown word `pass`"),
        (&same, ", on-unreachable: use-lockfile", &["gate", "--format", "json"], PASSED, "\"unreachable\": "),
        (
            &same,
            ", on-unreachable: use-lockfile",
            &["gate", "--report", "md=-"],
            PASSED,
            "service not reached",
        ),
    ] {
        settings(file, more);
        let ended = author.run(args);
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, code, "{more} {args:?}: {all}");
        assert!(all.contains(says), "{more} {args:?}: no `{says}` in {all}");
    }
}

#[test]
fn a_script_that_deploys_is_told_whether_a_version_may_go() {
    let serving = Serving::new();
    let ci = serving.token(&["ann", "--kind", "ci", "--role", "author", "--catalog", "shop"]);
    let (operator, url, first) =
        (&serving.operator, serving.url.as_str(), format!("shop@{}", serving.version));
    operator.run(&["snapshot", "orders", "--file", &recorded("orders-3-breaking.json")]).code(PASSED);
    let accepted = ["approve", "shop", "d-2", "--reason", "moved", "--accept-breaking"];
    let approved = operator.run(&accepted).code(PASSED).stdout;
    let at = approved.find("shop@").expect("it names a version");
    let second: String =
        approved[at..].chars().take_while(|c| c.is_ascii_graphic() && *c != ',' && *c != ':').collect();
    let rules = "catalog: shop\nenvironments:\n  production: {after: staging, probe: skip}\n  staging: {probe: skip}\nservers: {orders: {}}\n";
    operator.file("shop.yaml", rules);
    operator.run(&["apply", "shop.yaml"]).code(PASSED);
    for (target, environment, code, says) in [
        (first.as_str(), "production", PASSED, "yes: shop@"),
        (&second, "production", BLOCKED, "was never live in `staging`"),
        (&second, "staging", PASSED, "may go to staging"),
        (&second, "prodution", INVALID, "did you mean `production`?"),
        ("shop@2020.01.01", "production", INVALID, "has no version 2020.01.01"),
        ("shpo@2020.01.01", "production", INVALID, "shpo"),
        ("shop", "production", INVALID, "expected CATALOG@VERSION"),
    ] {
        let args = ["can-i-promote", target, "--environment", environment];
        for args in [args.to_vec(), [&args[..], &["--service", url]].concat()] {
            let ended = if args.contains(&url) { run(&User::new(), &ci, &args) } else { operator.run(&args) };
            let all = format!("{}{}", ended.stdout, ended.stderr);
            // What lies outside of a scope is not told.
            if target.starts_with("shpo") && args.contains(&url) {
                assert_eq!(ended.code, INVALID, "{all}");
                continue;
            }
            assert_eq!(ended.code, code, "{args:?}: {all}");
            assert!(all.contains(says), "{args:?}: no `{says}` in {all}");
        }
    }
    let args =
        ["can-i-promote", &second, "--environment", "production", "--service", url, "--format", "json"];
    let told: Value =
        serde_json::from_str(&run(&User::new(), &ci, &args).code(BLOCKED).stdout).expect("JSON");
    assert_eq!(
        (&told["allowed"], &told["live"], &told["environment"]),
        (&json!(false), &json!(false), &json!("production"))
    );
    let blocking: Vec<&Value> = told["gates"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|g| g["passed"] == false)
        .map(|g| &g["code"])
        .collect();
    assert_eq!(blocking, ["order"]);
    let args = ["can-i-promote", &second, "--environment", "staging", "--service", &refusing(url)];
    let ended = run(&User::new(), &ci, &args).code(BLOCKED);
    assert!(ended.stdout.contains("the service says no"), "{}", ended.stdout);
    let args = ["can-i-promote", &second, "--environment", "production", "--service", "http://127.0.0.1:1"];
    let ended = run(&User::new(), &ci, &args).code(COULD_NOT_RUN);
    assert!(ended.stderr.contains("could not be reached"), "{}", ended.stderr);
}
