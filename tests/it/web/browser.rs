//! The pages in a real Chromium, served by the built binary: the story by mouse and by keys alone, what a hostile server wrote,
//! and how every page looks to a checker of accessibility.
//!
//! `tests/run` installs what this needs. Without it these tests pass and say so; in CI they fail. Screenshots are left in
//! `target/screenshots`.

use std::{
    env,
    io::{BufRead as _, BufReader, Lines},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    cli::reports,
    command::{User, answers, script},
    database,
    real::installed,
};

/// The folder that `tests/run` makes.
const PACKAGES: &str = "browser-1.65.1";

#[test]
fn the_story_is_told_by_mouse() {
    drive("mouse", &User::new(), &["--demo"]);
}

#[test]
fn the_story_is_told_by_keys_alone() {
    drive("keyboard", &User::new(), &["--demo"]);
}

/// The same on the database that the tests are run on, where what the demo does at its start is done by hand.
#[test]
fn the_story_is_told_on_either_database() {
    if ready().is_some() {
        for hands in ["mouse", "keyboard"] {
            drive(hands, &prepared(), &[]);
        }
    }
}

/// Each has a page open on which the other acts: nothing is approved or moved on what is not so any more. Then the service is
/// started anew over the same database, and both go on where they were.
#[test]
fn two_review_at_once_and_the_service_is_started_anew() {
    if ready().is_none() {
        return;
    }
    let user = prepared();
    let token = |owner: &str| {
        let args = ["tokens", "create", owner, "--role", "reviewer,operator", "--quiet"];
        user.run(&args).code(0).stdout.trim().to_owned()
    };
    let tokens = [token("ann"), token("ben")];
    let sessions = user.home().join("sessions.json");
    let more = [
        ("TOKEN", tokens[0].as_str()),
        ("OTHER", tokens[1].as_str()),
        ("SESSIONS", sessions.to_str().expect("a path of letters")),
    ];
    for what in ["two", "anew"] {
        told(what, &Service::start(&user, &[]).base, &more);
    }
}

/// With the script and without it.
#[test]
fn servers_are_imported_and_a_snapshot_is_followed_while_it_is_taken() {
    let user = User::with_database();
    let list = answers(r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#);
    let file = user.file("server.sh", script(&list));
    user.run(&["servers", "add", "orders", "--", "bash", &file.to_string_lossy()]).code(0);
    drive("servers", &user, &[]);
}

#[test]
fn every_page_is_accessible_in_light_and_dark_and_on_a_telephone() {
    drive("looks", &User::new(), &["--demo"]);
}

#[test]
fn nothing_that_a_hostile_server_wrote_happens() {
    let user = User::with_database();
    if ready().is_none() {
        return;
    }
    for (number, tools) in [(1, hostile(false)), (2, hostile(true))] {
        let file = user.file(&format!("list-{number}.json"), tools.to_string());
        user.run(&["snapshot", "evil", "--file", &file.to_string_lossy()]).code(0);
        if number == 1 {
            user.run(&["draft", "shop", "--server", "evil"]).code(0);
            let version = approved(&user, "d-1", WORDS[0]);
            user.run(&["promote", "production", &version, "--reason", WORDS[1]]).code(0);
        }
    }
    drive("hostile", &user, &[]);
}

/// As who reads a pull request sees it: the severest open, the rest folded, and what a server wrote to the letter.
#[test]
fn the_markdown_of_a_gate_is_shown_as_it_is_meant() {
    if ready().is_none() {
        return;
    }
    let list = |tools: Vec<Value>| json!({ "tools": tools }).to_string();
    let many = |required: Value| {
        let schema =
            json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": required});
        list((0..9).map(|n| json!({"name": format!("tool_{n}"), "inputSchema": schema})).collect())
    };
    let shows = |name: &str, lists: [String; 2], code: i32, says: Value, hides: Value| {
        let user = User::new();
        user.file("one.json", &lists[0]);
        user.file("two.json", &lists[1]);
        user.run(&["lock", "--server", "s", "--file", "one.json"]).code(0);
        let html = reports::rendered(&reports::reported(&user, &["--file", "two.json"], code)("md"));
        json!({"name": name, "html": html, "says": says, "hides": hides})
    };
    let word = "<img src=x onerror=1>`|**[a](https://h/)@ann #1 </details>%0A::error::";
    let files = [
        shows("same", [many(json!([])), many(json!([]))], 0, json!(["✅ toolpact gate: passed"]), json!([])),
        shows(
            "blocked",
            [many(json!([])), many(json!(["id"]))],
            1,
            json!([
                "❌ toolpact gate: blocked by",
                "breaking tool_0 on s: ",
                "shown by {}",
                "4 more",
                "required bump: major"
            ]),
            json!(["breaking tool_8 on s: "]),
        ),
        shows("hostile", [reports::hostile(false), reports::hostile(true)], 1, json!([word]), json!([])),
    ];
    let user = User::new();
    let path = user.file("files.json", json!(files).to_string());
    told("markdown", "about:blank", &[("TOKEN", ""), ("FILES", path.to_str().expect("a path of letters"))]);
}

/// A database with two versions, the later of them live in `staging`, and a third release of the server that waits for a review.
fn prepared() -> User {
    let user = User::with_database();
    for number in 1..=3 {
        let file = user.file(&format!("orders-{number}.json"), release(number).to_string());
        user.run(&["snapshot", "orders", "--file", &file.to_string_lossy()]).code(0);
        if number == 1 {
            user.run(&["draft", "shop", "--server", "orders"]).code(0);
        }
        if number < 3 {
            let version = approved(&user, &format!("d-{number}"), "looked at");
            user.run(&["promote", "staging", &version, "--reason", "tried there"]).code(0);
        }
    }
    user
}

/// What a release of the server lists: the second adds a parameter, the third takes a value and a tool away.
fn release(number: usize) -> Value {
    let states: &[&str] = if number < 3 { &["open", "sent", "all"] } else { &["open", "sent"] };
    let mut properties = json!({ "state": { "enum": states } });
    if number > 1 {
        properties["limit"] = json!({ "type": "integer" });
    }
    let tool = |name: &str, properties: &Value| {
        let schema = json!({ "type": "object", "properties": properties });
        json!({ "name": name, "description": format!("{name} of orders"), "inputSchema": schema })
    };
    let mut tools = vec![tool("find", &properties), tool("track", &json!({ "id": { "type": "string" } }))];
    if number < 3 {
        tools.push(tool("export", &json!({})));
    }
    json!({ "tools": tools })
}

/// Approves a draft of `shop` whatever it breaks, and gives the version that it became.
fn approved(user: &User, draft: &str, reason: &str) -> String {
    let said = user.run(&["approve", "shop", draft, "--accept-breaking", "--reason", reason]).code(0).stdout;
    let (_, version) = said.split_once("shop@").expect("it names the version");
    let version: String = version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    version.trim_end_matches('.').to_owned()
}

/// Markup, attributes that break out, links that run, templates, and characters that nobody sees or that turn the text around.
const WORDS: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' autofocus onfocus='alert(1)",
    "</textarea></title></style></script><svg onload=alert(1)>",
    "javascript:alert(1)",
    "[here](javascript:alert(1)) <a href=\"https://evil.example\">x</a> {{7*7}} ${7*7}",
    "\u{202e}txt.exe\u{202c} \u{2066}\u{200b}\u{feff}\u{e0068}\u{e0069}",
    "<base href=\"https://evil.example/\"><meta http-equiv=refresh content=\"0;url=https://evil.example\">",
];

/// A list of tools with the worst that text can be wherever a server may write something.
fn hostile(changed: bool) -> Value {
    let huge = "word".repeat(2_000);
    let tools: Vec<Value> = WORDS
        .iter()
        .chain([&huge.as_str()])
        .enumerate()
        .map(|(i, word)| {
            let kind = if changed { "integer" } else { "string" };
            let said = if changed { format!("now {word}") } else { format!("once {word}") };
            json!({
                "name": if i % 2 == 0 { format!("tool_{i}") } else { (*word).chars().take(120).collect() },
                "title": word, "description": said,
                "icons": [{"src": "https://evil.example/icon.png"}],
                "inputSchema": {
                    "type": "object", "title": word, "required": [word], "additionalProperties": false,
                    "properties": {
                        *word: {"type": kind, "description": said, "examples": [word]},
                        "choice": {"enum": if changed { json!([word]) } else { json!([word, "other"]) }, "default": word},
                        "pattern": {"type": "string", "pattern": format!("^{}$", word.chars().filter(char::is_ascii_alphanumeric).take(40).collect::<String>())},
                    },
                },
                "outputSchema": {"type": "object", "properties": {*word: {"type": if changed { "string" } else { "boolean" }}}},
                "annotations": {"title": word, "readOnlyHint": !changed, *word: word},
                "_meta": {*word: word},
            })
        })
        .collect();
    json!({"tools": tools})
}

/// The packages and the browser, or nothing, said loudly.
fn ready() -> Option<(PathBuf, PathBuf)> {
    let packages = installed(PACKAGES, "node_modules")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let browser = ["chromium", "chromium-browser"].iter().find_map(|name| {
        env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
    });
    if browser.is_none() {
        let message = "LEFT OUT: chromium is not installed; run tests/run";
        assert!(env::var("CI").as_deref() != Ok("true"), "{message}");
        eprintln!("{message}");
    }
    Some((packages, browser?))
}

/// Starts the service for the first time, and has the script do this to it.
fn drive(what: &str, user: &User, more: &[&str]) {
    // The demo has a database of its own, whichever the tests are run on.
    if (more.contains(&"--demo") && database::server().is_some()) || ready().is_none() {
        return;
    }
    let mut service = Service::start(user, more);
    let token = service.says("shown this once: ");
    told(what, &service.base, &[("TOKEN", &token)]);
}

/// Has the script do this to the service there.
fn told(what: &str, base: &str, more: &[(&str, &str)]) {
    let (packages, browser) = ready().expect("it was asked before");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ended = Command::new("node")
        .arg(root.join("tests/it/web/browser.mjs"))
        .env("PACKAGES", packages)
        .env("CHROMIUM", browser)
        .env("BASE", base)
        .env("SHOTS", root.join("target/screenshots"))
        .env("DO", what)
        .envs(more.iter().copied())
        .output()
        .expect("node starts");
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{said}");
    println!("{said}");
}

/// A running service; ended when dropped.
struct Service {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Where its pages begin.
    base: String,
}

impl Service {
    fn start(user: &User, more: &[&str]) -> Self {
        let args = [&["serve", "--no-poll", "--listen", "127.0.0.1:0"], more].concat();
        let process = user.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut process = process.expect("the binary starts");
        let lines = BufReader::new(process.stdout.take().expect("stdout is piped")).lines();
        let mut service = Self { process, lines, base: String::new() };
        let url = service.says("toolpact serves ");
        service.base = url.split('/').take(3).collect::<Vec<_>>().join("/") + "/";
        service
    }

    /// What it says behind this mark.
    fn says(&mut self, mark: &str) -> String {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        let found = lines.find_map(|line| line.split_once(mark).map(|(_, rest)| rest.to_owned()));
        found.unwrap_or_else(|| panic!("the service does not say `{mark}`"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}
