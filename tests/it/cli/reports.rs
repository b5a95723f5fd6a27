//! The reports of a gate: each in the form that its reader takes, and written whatever happened.

use std::fs;

use serde_json::{Value, json};

use super::{BLOCKED, COULD_NOT_RUN, INVALID, PASSED, recorded};
use crate::command::User;

const FORMS: [&str; 7] = ["text", "json", "md", "github", "gitlab", "sarif", "junit"];

/// A repository with a locked server.
fn locked() -> User {
    let user = User::new();
    user.run(&["lock", "--server", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
    user
}

/// The gate of this list, with every report.
pub(crate) fn reported(user: &User, args: &[&str], code: i32) -> impl Fn(&str) -> String + use<> {
    let reports: Vec<String> = FORMS.iter().map(|form| format!("--report={form}={form}.out")).collect();
    for form in FORMS {
        _ = fs::remove_file(user.home().join(format!("{form}.out")));
    }
    let reports: Vec<&str> = reports.iter().map(String::as_str).collect();
    user.run(&[&["gate"], &reports[..], args].concat()).code(code);
    let home = user.home().to_owned();
    move |form| fs::read_to_string(home.join(format!("{form}.out"))).unwrap_or_else(|e| panic!("{form}: {e}"))
}

/// A list in which every text that a server may choose is meant to be taken for something else.
pub(crate) fn hostile(extra: bool) -> String {
    let evil = "<img src=x onerror=1>`|**[a](https://h/)@ann #1 </details>%0A::error::\u{1b}[31m\n- x]]>";
    let schema = |values: Value| json!({"type": "object", "properties": {evil: {"enum": values}}});
    let mut tools = vec![json!({"name": evil, "description": evil, "inputSchema": schema(json!([evil]))})];
    if extra {
        tools[0]["inputSchema"] = schema(json!(["fine"]));
    }
    json!({ "tools": tools }).to_string()
}

#[test]
fn every_report_is_written_whatever_the_end() {
    let user = locked();
    let (same, compatible, breaking) =
        (recorded("orders-1.json"), recorded("orders-2-compatible.json"), recorded("orders-3-breaking.json"));
    let schema: Value =
        serde_json::from_str(&user.run(&["gate", "--schema"]).code(PASSED).stdout).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    for (args, code) in [
        (&["--file", &same][..], PASSED),
        (&["--file", &compatible], PASSED),
        (&["--file", &breaking], BLOCKED),
        (&["--file", "no-such.json"], INVALID),
        (&["--lockfile", "no-such.lock"], INVALID),
        (&["--", "no-such-program"], COULD_NOT_RUN),
    ] {
        let report = reported(&user, args, code);
        let json: Value = serde_json::from_str(&report("json")).expect("JSON");
        let wrong: Vec<String> =
            schema.iter_errors(&json).map(|e| format!("{} at {}", e, e.instance_path())).collect();
        assert!(wrong.is_empty(), "{args:?}: {wrong:?}\n{json:#}");
        assert_eq!(json["exit"], code, "{args:?}");
        assert_eq!(json["passed"], code == PASSED);
        let sarif: Value = serde_json::from_str(&report("sarif")).expect("JSON");
        assert_eq!(sarif["runs"][0]["invocations"][0]["exitCode"], code);
        let codequality: Value = serde_json::from_str(&report("gitlab")).expect("JSON");
        let blocks = codequality
            .as_array()
            .expect("an array")
            .iter()
            .any(|i| i["severity"] == "critical" || i["severity"] == "blocker");
        assert_eq!(blocks, code != PASSED, "{codequality:#}");
        // By a parser that shares nothing with what writes it.
        let junit = junit_parser::from_reader(report("junit").as_bytes()).expect("JUnit");
        assert_eq!(junit.failures + junit.errors > 0, code != PASSED, "{}", report("junit"));
        let text = report("text");
        let last = text.lines().last().unwrap_or_default();
        assert_eq!(last, json["decision"], "{args:?}");
        assert!(report("md").contains(if code == PASSED { "✅" } else { "❌" }));
        assert_eq!(report("github").contains("::error "), code != PASSED, "{}", report("github"));
    }
}

#[test]
fn a_finding_points_at_the_block_of_its_tool() {
    let user = locked();
    let report = reported(&user, &["--file", &recorded("orders-3-breaking.json")], BLOCKED);
    let lock = fs::read_to_string(user.home().join("toolpact.lock")).expect("a lockfile");
    let line = lock.lines().position(|l| l == "tool \"find_orders\"").expect("it is locked") + 1;
    let sarif: Value = serde_json::from_str(&report("sarif")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let found = results.iter().find(|r| r["locations"][0]["logicalLocations"][0]["name"] == "find_orders");
    let place = &found.expect("it breaks")["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "toolpact.lock");
    assert_eq!(place["region"]["startLine"], line);
    assert!(report("github").contains(&format!("::error file=toolpact.lock,line={line},title=")));
    // What a rule is called is in the log, and each result says which it is.
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
}

/// Whoever shows findings reads paths from the root of the repository.
#[test]
fn reports_of_a_server_in_a_folder_name_its_own_lockfile() {
    let user = User::new();
    let folder = user.home().join("servers/orders");
    fs::create_dir_all(&folder).expect("folders");
    fs::create_dir(user.home().join(".git")).expect("a folder");
    let run = |args: &[&str]| {
        let mut command = user.command(args);
        command.current_dir(&folder).env("GITHUB_ACTIONS", "true");
        user.ended(command.output().expect("it starts"))
    };
    run(&["lock", "--server", "orders", "--file", &recorded("orders-1.json")]).code(PASSED);
    let reports = ["--report", "sarif=s.out", "--report", "gitlab=g.out"];
    let breaking = recorded("orders-3-breaking.json");
    let gate = [&["gate", "--file", &breaking][..], &reports].concat();
    let ended = run(&gate).code(BLOCKED);
    let path = "servers/orders/toolpact.lock";
    assert!(ended.stdout.contains(&format!("::error file={path},line=")), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("`toolpact lock --update` takes it into toolpact.lock"),
        "{}",
        ended.stdout
    );
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.join(name)).expect("a report")).expect("JSON")
    };
    let (sarif, gitlab) = (read("s.out"), read("g.out"));
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], path);
    assert_eq!(gitlab[0]["location"]["path"], path);
}

/// A comment of GitHub takes 65,536 characters.
#[test]
fn a_long_answer_fits_into_a_comment_and_cases_have_names_of_their_own() {
    let list = |required: bool, words: usize| {
        let name = |i: usize| format!("p{i}_{}", "<long>".repeat(words));
        let properties: Value = (0..4)
            .map(|i| (name(i), json!({"enum": if required { json!([1]) } else { json!([1, 2]) }})))
            .collect();
        let tool = |i: usize| json!({"name": format!("tool_{i}"), "inputSchema": {"type": "object", "properties": properties}});
        json!({"tools": (0..150).map(tool).collect::<Vec<_>>()}).to_string()
    };
    for words in [1, 60] {
        let user = User::new();
        user.file("one.json", list(false, words));
        user.file("two.json", list(true, words));
        user.run(&["lock", "--server", "s", "--file", "one.json"]).code(PASSED);
        let report = reported(&user, &["--file", "two.json"], BLOCKED);
        let md = report("md");
        assert!(md.len() < 65_000, "{} bytes", md.len());
        assert!(md.contains("\n- and ") && md.ends_with("required bump: major\n"), "{words}: {md}");
        let junit = junit_parser::from_reader(report("junit").as_bytes()).expect("JUnit");
        let cases: Vec<_> = junit.suites.iter().flat_map(|suite| &suite.cases).collect();
        let names: std::collections::BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
        assert_eq!((cases.len(), names.len()), (600, 600));
        assert!(
            cases.iter().all(|case| case.classname.as_deref().is_some_and(|name| name.starts_with("tool_")))
        );
    }
}

/// What is told to be done next does what is asked for.
#[test]
fn the_next_step_fits_what_stopped_the_gate() {
    let tool = |schema: Value| json!({"tools": [{"name": "find", "inputSchema": schema}]}).to_string();
    let user = User::new();
    user.file("one.json", tool(json!({"type": "object"})));
    user.file("wider.json", tool(json!({"type": "object", "properties": {"a": {"type": "string"}}})));
    user.file("none.json", tool(json!({"type": "objekt"})));
    user.file("package.json", r#"{"version": "1.2.0"}"#);
    user.run(&["lock", "--server", "s", "--file", "one.json"]).code(PASSED);
    let accept = "next: keep what callers rely on";
    let ended = user.run(&["gate", "--file", "none.json"]).code(BLOCKED);
    assert!(ended.stdout.contains("next: mend what is never waived"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("under `waivers`"), "{}", ended.stdout);
    user.run(&["gate", "--quiet", "--format", "json", "--file", "one.json"]).code(INVALID);
    user.run(&["gate", "--quiet", "--report", "md=-", "--file", "one.json"]).code(INVALID);
    user.file("toolpact.yaml", "policy: {declared-version: require}");
    let ended = user.run(&["gate", "--file", "wider.json"]).code(BLOCKED);
    assert!(ended.stdout.contains("next: declare 1.3.0 in package.json"), "{}", ended.stdout);
    assert!(!ended.stdout.contains(accept), "{}", ended.stdout);
}

/// What the Markdown of a gate is made of.
const ELEMENTS: [&str; 10] = ["h3", "ul", "li", "p", "code", "strong", "span", "br", "details", "summary"];

/// Markdown as HTML.
pub(crate) fn rendered(md: &str) -> String {
    let mut html = String::new();
    let options = pulldown_cmark::Options::ENABLE_TABLES | pulldown_cmark::Options::ENABLE_STRIKETHROUGH;
    pulldown_cmark::html::push_html(&mut html, pulldown_cmark::Parser::new_ext(md, options));
    html
}

#[test]
fn what_a_server_wrote_stays_text_in_every_report() {
    let user = User::new();
    user.file("one.json", hostile(false));
    user.file("two.json", hostile(true));
    user.run(&["lock", "--server", "s", "--file", "one.json"]).code(PASSED);
    let report = reported(&user, &["--file", "two.json"], BLOCKED);
    for form in FORMS {
        let text = report(form);
        assert!(!text.contains('\u{1b}'), "{form}: {text:?}");
    }
    let md = report("md");
    for sign in ["<img", "</details>%0A", "](", "@ann", "**[", "https://h"] {
        assert!(!md.contains(sign), "{sign} in {md}");
    }
    // One annotation, which no text could end.
    for line in report("github").lines() {
        assert!(line.starts_with("::error file=toolpact.lock,line="), "{line}");
    }
    assert_eq!(
        report("github").matches("::error").count() - report("github").matches("%250A::error").count(),
        report("github").lines().count()
    );
    junit_parser::from_reader(report("junit").as_bytes()).expect("JUnit");
    // As those show it who render it: no element but our own, nowhere a link, and each that begins ends.
    let rendered = rendered(&md);
    for tag in rendered.split('<').skip(1) {
        let name: String =
            tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        assert!(ELEMENTS.contains(&name.as_str()), "<{tag} in {rendered}");
    }
    for name in ELEMENTS.iter().filter(|name| **name != "br") {
        let count = |tag: &str| rendered.matches(tag).count();
        assert_eq!(count(&format!("<{name}>")), count(&format!("</{name}>")), "{name} in {rendered}");
    }
    let changelog = user.run(&["changelog", "one.json", "two.json"]).code(PASSED).stdout;
    assert!(!changelog.contains("\n- x") && !changelog.contains('\u{1b}'), "{changelog}");
    let html = user.run(&["changelog", "one.json", "two.json", "--format", "html"]).code(PASSED).stdout;
    assert!(!html.contains("<img") && html.contains("&lt;img"), "{html}");
}

#[test]
fn sarif_is_what_its_official_schema_says() {
    let path = "node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json";
    let Some(path) = crate::real::installed("jest-sarif-1.0.0-beta.0", path) else { return };
    // A stray bracket makes a pattern of it none in ECMA-262's strict reading.
    let text = fs::read_to_string(path).expect("a file").replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    let schema = jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema");
    let user = locked();
    let breaking = recorded("orders-3-breaking.json");
    let prints = user.run(&["gate", "--file", &breaking]).code(BLOCKED).stdout;
    let print = prints.lines().find_map(|l| l.strip_prefix("  change   ")).expect("a fingerprint");
    user.file(
        "toolpact.yaml",
        format!("waivers: [{{fingerprint: \"{print}\", reason: x, expires: 9999-12-31}}]"),
    );
    let same = recorded("orders-1.json");
    for (args, code) in [
        (&["--file", &same][..], PASSED),
        (&["--file", &breaking], BLOCKED),
        (&["--", "no-such-program"], COULD_NOT_RUN),
    ] {
        let log: Value = serde_json::from_str(&reported(&user, args, code)("sarif")).expect("JSON");
        let wrong: Vec<String> =
            schema.iter_errors(&log).map(|e| format!("{} at {}", e, e.instance_path())).collect();
        assert!(wrong.is_empty(), "{args:?}: {wrong:?}\n{log:#}");
    }
}

#[test]
fn one_report_may_take_the_place_of_the_text() {
    let user = locked();
    let breaking = recorded("orders-3-breaking.json");
    let ended = user.run(&["gate", "--file", &breaking, "--report", "junit=-"]).code(BLOCKED);
    assert!(ended.stdout.starts_with("<?xml"), "{}", ended.stdout);
    user.run(&["gate", "--file", &breaking, "--report", "junit=-", "--report", "md=-"]).code(INVALID);
    user.run(&["gate", "--file", &breaking, "--report", "junit=-", "--format", "json"]).code(INVALID);
    user.run(&["gate", "--file", &breaking, "--report", "pdf=x"]).code(INVALID);
    // One that cannot be written is told, and the others are.
    let ended = user
        .run(&["gate", "--file", &breaking, "--report", "md=no/such/folder.md", "--report", "json=good.json"])
        .code(COULD_NOT_RUN);
    assert!(ended.stderr.contains("report `no/such/folder.md` cannot be written"), "{}", ended.stderr);
    assert!(user.home().join("good.json").exists());
}

#[test]
fn a_summary_of_github_is_added_to_and_annotations_stand_before_the_last_line() {
    let user = locked();
    let summary = user.file("summary.md", "# before\n");
    let output = user
        .command(&[
            "gate",
            "--file",
            &recorded("orders-3-breaking.json"),
            "--report",
            &format!("md={}", summary.display()),
        ])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .expect("it starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.starts_with("::error file=toolpact.lock,line="), "{stdout}");
    assert!(stdout.lines().last().is_some_and(|l| l.starts_with("gate: blocked by ")), "{stdout}");
    let text = fs::read_to_string(&summary).expect("it is there");
    assert!(text.starts_with("# before\n### ❌"), "{text}");
    // Nothing of that where GitHub is not.
    assert!(
        !user
            .run(&["gate", "--file", &recorded("orders-3-breaking.json")])
            .code(BLOCKED)
            .stdout
            .contains("::error")
    );
}

#[test]
fn the_reasons_of_rules_are_told_to_who_asks() {
    let user = locked();
    let breaking = recorded("orders-3-breaking.json");
    let ended = user.run(&["gate", "--file", &breaking, "--explain"]).code(BLOCKED);
    assert!(ended.stdout.contains("  why      ") && ended.stdout.contains("  instead  "), "{}", ended.stdout);
}

#[test]
fn settings_of_a_repository_hold_in_the_gate() {
    let user = locked();
    let breaking = recorded("orders-3-breaking.json");
    let gate = || user.run(&["gate", "--file", &breaking]);
    let first = gate().code(BLOCKED).stdout;
    let print = |text: &str| -> Vec<String> {
        text.lines().filter_map(|l| l.strip_prefix("  change   ")).map(str::to_owned).collect()
    };
    let prints = print(&first);
    assert!(!prints.is_empty(), "{first}");
    let waivers = |expires: &str| -> String {
        let one = |p: &String| {
            format!("  - {{fingerprint: \"{p}\", reason: callers moved, expires: {expires}, owner: team}}\n")
        };
        format!("waivers:\n{}", prints.iter().map(one).collect::<String>())
    };
    user.file("toolpact.yaml", waivers("9999-12-31"));
    let ended = gate().code(PASSED);
    assert!(ended.stdout.contains("  waived   until 9999-12-31: callers moved"), "{}", ended.stdout);
    user.file("toolpact.yaml", waivers("2000-01-01"));
    let ended = gate().code(BLOCKED);
    assert!(ended.stdout.contains("of team ended on 2000-01-01: callers moved"), "{}", ended.stdout);
    user.file(
        "toolpact.yaml",
        "waivers: [{fingerprint: \"0123456789ab\", reason: old, expires: 9999-12-31}]",
    );
    let ended = gate().code(BLOCKED);
    assert!(
        ended.stdout.contains("note: the waiver of 0123456789ab (old) is not needed any more"),
        "{}",
        ended.stdout
    );

    user.file("toolpact.yaml", "policy: {fail-on: none}");
    gate().code(PASSED);
    // The command line is nearer.
    user.run(&["gate", "--file", &breaking, "--fail-on", "breaking"]).code(BLOCKED);
    user.file("toolpact.yaml", "policy:\n  fail_on: none");
    let ended = gate().code(INVALID);
    assert!(ended.stderr.contains("toolpact.yaml:2:3: unknown key `fail_on`"), "{}", ended.stderr);
    user.file("other.yaml", "policy: {fail-on: none}");
    user.run(&["gate", "--config", "other.yaml", "--file", &breaking]).code(PASSED);
    user.run(&["gate", "--config", "no-such.yaml", "--file", &breaking]).code(INVALID);
}

#[test]
fn a_version_that_does_not_say_what_changed_is_told() {
    let user = User::new();
    let demo = |release: &str| {
        vec!["--", env!("CARGO_BIN_EXE_toolpact"), "demo-server", "--release", release]
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let run = |args: &[&str], release: &str| {
        let demo = demo(release);
        let all: Vec<&str> = args.iter().copied().chain(demo.iter().map(String::as_str)).collect();
        user.run(&all)
    };
    for (manifest, text, bumped) in [
        ("package.json", r#"{"version": "1.5.0"}"#, r#"{"version": "2.0.0"}"#),
        (
            "pyproject.toml",
            "[project]\nname = \"x\"\nversion = \"1.5.0\"\n",
            "[project]\nversion = \"2.0.0\"\n",
        ),
        ("Cargo.toml", "[package]\nversion = \"1.5.0\"\n", "[package]\nversion = \"2.0.0\"\n"),
    ] {
        let path = user.file(manifest, text.replace("1.5.0", "1.4.0"));
        run(&["lock", "--update"], "1").code(PASSED);
        user.file(manifest, text);
        let ended = run(&["gate"], "3").code(BLOCKED);
        assert!(
            ended.stdout.contains(&format!("  needs    2.0.0, declared 1.5.0 ({manifest})")),
            "{}",
            ended.stdout
        );
        assert!(
            ended.stdout.contains(&format!("  version: {manifest} declares 1.5.0, needs 2.0.0 (major)")),
            "{}",
            ended.stdout
        );
        user.file("toolpact.yaml", "policy: {declared-version: allow}");
        run(&["gate"], "3").code(BLOCKED);
        user.file(manifest, bumped);
        let ended = run(&["gate"], "3").code(PASSED);
        assert!(ended.stdout.contains("  allowed  by the declared version 2.0.0"), "{}", ended.stdout);
        // A version that is too low blocks by itself, where that is asked for.
        user.file("toolpact.yaml", "policy: {declared-version: require, fail-on: none}");
        user.file(manifest, text);
        let ended = run(&["gate"], "3").code(BLOCKED);
        let last =
            format!("gate: blocked by version-too-low: {manifest} declares 1.5.0, needs 2.0.0 (major)");
        assert_eq!(ended.stdout.lines().last(), Some(last.as_str()));
        fs::remove_file(user.home().join("toolpact.yaml")).expect("it is there");
        fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn a_changelog_is_in_the_words_of_those_who_call() {
    let user = User::new();
    let ended = user
        .run(&[
            "changelog",
            &recorded("orders-1.json"),
            &recorded("orders-3-breaking.json"),
            "--title",
            "2.0.0",
        ])
        .code(PASSED);
    assert!(ended.stdout.starts_with("## 2.0.0\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("\n### Breaking\n"), "{}", ended.stdout);
    let same = recorded("orders-1.json");
    let ended = user.run(&["changelog", &same, &same]).code(PASSED);
    assert!(ended.stdout.contains("Nothing changed that callers rely on."), "{}", ended.stdout);
    // A lockfile is a version as well.
    let user = locked();
    let ended = user.run(&["changelog", "toolpact.lock", &recorded("orders-2-compatible.json")]).code(PASSED);
    assert!(
        ended.stdout.contains("\n### Changed\n") || ended.stdout.contains("\n### Added\n"),
        "{}",
        ended.stdout
    );
}

#[test]
fn completions_and_the_manual_are_made_of_the_arguments() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ended = user.run(&["completions", shell]).code(PASSED);
        assert!(ended.stdout.contains("lock") && ended.stdout.contains("baseline"), "{shell}");
    }
    let bash = user.file("bash.sh", user.run(&["completions", "bash"]).stdout);
    let checked = std::process::Command::new("bash").arg("-n").arg(bash).status().expect("bash starts");
    assert!(checked.success());
    let page = user.run(&["man"]).code(PASSED).stdout;
    assert!(page.contains(".TH toolpact 1"), "{page}");
    let page = user.run(&["man", "gate"]).code(PASSED).stdout;
    assert!(page.contains(".TH toolpact-gate 1") && page.contains("baseline"), "{page}");
    user.run(&["man", "nothing"]).code(INVALID);
    fs::create_dir(user.home().join("man")).expect("made");
    user.run(&["man", "--out", "man"]).code(PASSED);
    assert!(user.home().join("man/toolpact-gate.1").exists());
}

#[test]
fn a_self_test_tries_every_part() {
    let user = User::new();
    let ended = user.run(&["self-test"]).code(PASSED);
    assert_eq!(ended.stdout.lines().last(), Some("self-test: passed"), "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("  ok      ").count(), 6, "{}", ended.stdout);
}
