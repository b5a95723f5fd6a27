//! The pages in a real Chromium, served by the built binary: the story by mouse and by keys alone, what a hostile server wrote,
//! and how every page looks to a checker of accessibility.
//!
//! `tests/run` installs what this needs. Without it these tests pass and say so; in CI they fail. Screenshots are left in
//! `target/screenshots`.

use std::{
    env,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{command::User, database, real::installed};

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
            let approved = ["approve", "shop", "d-1", "--accept-breaking", "--reason", WORDS[0]];
            let said = user.run(&approved).code(0).stdout;
            let (_, version) = said.split_once("shop@").expect("it names the version");
            let version: String = version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            let version = version.trim_end_matches('.');
            user.run(&["promote", "production", version, "--reason", WORDS[1]]).code(0);
        }
    }
    drive("hostile", &user, &[]);
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

/// Starts the service, and has the script do this to it.
fn drive(what: &str, user: &User, more: &[&str]) {
    // The demo has a database of its own, whichever the tests are run on.
    if more.contains(&"--demo") && database::server().is_some() {
        return;
    }
    let Some((packages, browser)) = ready() else { return };
    let args = [&["serve", "--no-poll", "--listen", "127.0.0.1:0"], more].concat();
    let service = user.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut service = Service(service.expect("the binary starts"));
    let mut lines = BufReader::new(service.0.stdout.take().expect("stdout is piped")).lines();
    let mut after = |mark: &str| {
        let found = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once(mark).map(|(_, rest)| rest.to_owned()));
        found.unwrap_or_else(|| panic!("the service does not say `{mark}`"))
    };
    let url = after("toolpact serves ");
    let token = after("shown this once: ");
    let base = url.split('/').take(3).collect::<Vec<_>>().join("/") + "/";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ended = Command::new("node")
        .arg(root.join("tests/it/web/browser.mjs"))
        .env("PACKAGES", packages)
        .env("CHROMIUM", browser)
        .env("BASE", base)
        .env("TOKEN", token)
        .env("SHOTS", root.join("target/screenshots"))
        .env("DO", what)
        .output()
        .expect("node starts");
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{said}");
    println!("{said}");
}

/// A running service; ended when dropped.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}
