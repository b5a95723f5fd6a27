//! What operators rely on is there: every metric that an alert or a panel names, every command of the runbook, every
//! setting from where it was said.

use std::collections::BTreeSet;

use crate::{
    ask::{answer, get},
    command::User,
    seed,
};

const ALERTS: &str = include_str!("../../deploy/alerts.yaml");
const DASHBOARD: &str = include_str!("../../deploy/grafana.json");
const RUNBOOK: &str = include_str!("../../deploy/RUNBOOK.md");
const EXAMPLE: &str = include_str!("../../deploy/toolpact.yaml");
const UNIT: &str = include_str!("../../deploy/toolpact.service");

/// The metrics that a text names; a histogram by its own name.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
    let metrics = words.filter(|word| word.starts_with("toolpact_"));
    metrics.map(|word| word.trim_end_matches("_bucket").to_owned()).collect()
}

#[tokio::test]
async fn every_metric_that_an_alert_or_a_panel_names_is_told() {
    let app = seed::story().await;
    // Twice: the first answer is counted when it has gone out.
    answer(&app, get("/api/v1/catalogs")).await;
    let told = answer(&app, get("/metrics")).await;
    assert_eq!(told.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let told = told.body;
    let (alerts, panels) = (named(ALERTS), named(DASHBOARD));
    assert!(alerts.len() > 5 && panels.len() > 10, "{alerts:?} {panels:?}");
    for name in alerts.iter().chain(&panels) {
        assert!(told.contains(&format!("# TYPE {name} ")), "nobody tells `{name}`:\n{told}");
    }
    let types = told.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    for name in types {
        assert!(alerts.contains(name) || panels.contains(name), "nobody looks at `{name}`");
    }
    for sample in [
        "toolpact_database_up 1",
        "toolpact_draining 0",
        "toolpact_pointer_generation{environment=\"production\",catalog=\"shop\"} 3",
        "toolpact_http_requests_total{route=\"/api/v1/catalogs\",method=\"GET\",status=\"200\"}",
        "toolpact_snapshots_total{outcome=\"too_large\"} 0",
        "toolpact_diffs_total{verdict=\"breaking\"}",
        "toolpact_leases{kind=\"poll\"} 0",
    ] {
        assert!(told.contains(sample), "{sample} is missing:\n{told}");
    }
}

#[tokio::test]
async fn what_callers_write_makes_no_series() {
    let app = seed::empty().await;
    for path in ["/api/v1/canary-1", "/canary-2", "/api/v1/catalogs/canary-3"] {
        answer(&app, get(path)).await;
    }
    answer(&app, get("/api/v1/catalogs").method("CANARY".parse().expect("a method"))).await;
    let told = answer(&app, get("/metrics")).await.body;
    assert!(!told.to_ascii_lowercase().contains("canary"), "{told}");
}

#[test]
fn the_commands_of_the_runbook_are_commands() {
    let user = User::new();
    let database = user.home().join("toolpact.db").to_string_lossy().into_owned();
    let mut seen = 0;
    for line in RUNBOOK.lines().filter_map(|line| line.trim().strip_prefix("toolpact ")) {
        let line = line.replace("$(date +%F)", "today");
        let command = |line: &str| {
            [" #", " | ", " > "]
                .iter()
                .fold(line.to_owned(), |line, mark| line.split(mark).next().unwrap_or_default().to_owned())
        };
        let line = command(&line);
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| match word {
                "\"$DB\"" | "/var/lib/toolpact/toolpact.db" | "postgres:///toolpact_restored" => {
                    database.clone()
                }
                path if path.starts_with("/var/backups/") => format!("copy-{seen}.db"),
                word => word.to_owned(),
            })
            .collect();
        let ended = user.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!ended.stderr.contains("Usage:"), "{line}: {}", ended.stderr);
        seen += 1;
    }
    assert!(seen > 20, "{seen} commands");
    for anchor in ALERTS.lines().filter_map(|line| line.split("RUNBOOK.md#").nth(1)) {
        let anchor = anchor.trim_end_matches(['"', '}']);
        let heads = RUNBOOK.lines().filter_map(|line| line.strip_prefix("## "));
        let known = heads.map(|head| head.to_lowercase().replace(' ', "-")).any(|head| head == anchor);
        assert!(known, "the runbook has no part `{anchor}`");
    }
}

/// How `config print` tells a setting.
fn printed(user: &User, variables: &[(&str, &str)], args: &[&str], key: &str) -> (String, String) {
    let args = [&["config", "print"], args].concat();
    let output = user.command(&args).envs(variables.iter().copied()).output().expect("it starts");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let line = said.lines().find(|line| line.split_whitespace().next() == Some(key));
    let line = line.unwrap_or_else(|| panic!("no {key} in {said}{errors}"));
    let mut words = line.split_whitespace().skip(1);
    let value = words.next().unwrap_or_default().to_owned();
    (value, words.collect::<Vec<_>>().join(" "))
}

#[test]
fn a_setting_comes_from_a_variable_a_file_or_its_default() {
    let user = User::new();
    let file =
        user.file("c.yaml", "poll-lease: 7\nlisten: 127.0.0.1:1\nallow-network: [10.0.0.0/8, 127.0.0.0/8]\n");
    let config = ["--config", &*file.to_string_lossy()];
    let from_file = format!("file {}", file.display());
    for (variables, args, key, value, from) in [
        (vec![], vec![], "poll-lease", "30", "default"),
        (vec![], config.to_vec(), "poll-lease", "7", from_file.as_str()),
        (
            vec![("TOOLPACT_POLL_LEASE", "9")],
            config.to_vec(),
            "poll-lease",
            "9",
            "variable TOOLPACT_POLL_LEASE",
        ),
        (vec![], config.to_vec(), "listen", "127.0.0.1:1", from_file.as_str()),
        (vec![], config.to_vec(), "poll-interval", "900", "default"),
    ] {
        let (said, came) = printed(&user, &variables, &args, key);
        assert_eq!((said.as_str(), came.as_str()), (value, from), "{key} {variables:?}");
    }
    // A flag counts more than all of them: the port of the file cannot be listened on.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let taken = taken.local_addr().expect("it is bound").to_string();
    let ended = user.run(&["serve", "--config", "c.yaml", "--listen", &taken]).code(3);
    assert!(ended.stderr.contains(&taken), "{}", ended.stderr);
}

#[test]
fn a_password_is_read_from_a_file_and_printed_nowhere() {
    let user = User::new();
    user.file("url", "postgres://ann:canary@db.example:5433/pact\n");
    let file = user.file("c.yaml", "database-file: url\n");
    let named = [("TOOLPACT_DATABASE_FILE", "url")];
    let shown = "postgres://ann@db.example:5433/pact";
    let by_variable = printed(&user, &named, &["--redacted"], "database");
    assert_eq!(by_variable, (shown.to_owned(), "variable TOOLPACT_DATABASE_FILE".to_owned()));
    let config = ["--config", &*file.to_string_lossy()];
    assert_eq!(
        printed(&user, &[], &config, "database"),
        (shown.to_owned(), format!("file {}", file.display()))
    );
    let both = [named[0], ("TOOLPACT_DATABASE", "x.db")];
    let output = user.command(&["status"]).envs(both).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("both `TOOLPACT_DATABASE` and"), "{said}");
}

#[test]
fn a_file_that_says_something_else_is_refused_with_the_place() {
    let user = User::new();
    for (text, expected) in [
        (
            "listen: 127.0.0.1:0\npoll-leese: 5\n",
            "c.yaml:2:1: `poll-leese` is no setting; did you mean `poll-lease`?",
        ),
        ("poll-lease: soon\n", "c.yaml: invalid value 'soon' for '--poll-lease"),
        ("no-poll: maybe\n", "c.yaml: unexpected value 'maybe' for '--no-poll"),
        ("- a\n", "settings, each `name: value`"),
        ("database: a\ndatabase-file: b\n", "both `database` and `database-file` stand there"),
        ("database-file: nowhere\n", "the file `nowhere` that `database-file` names cannot be read"),
    ] {
        user.file("c.yaml", text);
        for args in [["serve", "--config", "c.yaml"].as_slice(), &["config", "print", "--config", "c.yaml"]] {
            let ended = user.run(args).code(2);
            assert!(ended.stderr.contains(expected), "{text}: {}", ended.stderr);
        }
    }
    let ended = user.run(&["serve", "--config", "nowhere.yaml"]).code(2);
    assert!(ended.stderr.contains("the configuration `nowhere.yaml` cannot be read"), "{}", ended.stderr);
}

#[test]
fn the_example_of_a_configuration_is_one() {
    let user = User::new();
    // What is commented out is a setting as well; of two that say where the database is, one.
    let uncommented = |line: &'static str| {
        line.strip_prefix('#').filter(|rest| rest.starts_with(char::is_lowercase)).unwrap_or(line)
    };
    let whole: Vec<&str> =
        EXAMPLE.lines().map(uncommented).filter(|line| !line.starts_with("database-file")).collect();
    assert!(whole.iter().any(|line| line.starts_with("allow-network: ")), "{whole:?}");
    user.file("c.yaml", whole.join("\n"));
    user.run(&["config", "print", "--config", "c.yaml"]).code(0);
    user.file("c.yaml", EXAMPLE);
    user.run(&["config", "print", "--config", "c.yaml"]).code(0);
    assert!(UNIT.contains("Type=notify"), "it tells systemd when it is ready");
}
