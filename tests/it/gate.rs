//! What a gate judges with, without files or servers: settings, waivers, announcements, declared versions.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use serde_json::{Value, json};
use toolpact::{
    diff::{Assumption, Bump, Report, Side, diff},
    gate::{
        Declared, Grounds, Judgement, LockedServer, Policy, Standing, declared, judge,
        judge::announced,
        lock::{self, Lock},
        policy::DeclaredVersion,
        settings, waiver,
    },
    snapshot::{RawTool, read_saved},
};

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

const TODAY: &str = "2026-11-30";

fn tools(list: &Value) -> Vec<RawTool> {
    read_saved(&list.to_string()).expect("a list").tools
}

fn locked(list: &Value, before: Option<&LockedServer>, on: &str) -> LockedServer {
    LockedServer::of("shop".parse().expect("a name"), &tools(list), before, day(on))
        .expect("it can be locked")
}

fn side(list: &Value) -> Side {
    Lock { servers: vec![locked(list, None, TODAY)] }.side("list")
}

fn report(before: &Value, after: &Value) -> Report {
    diff(&side(before), &side(after), Assumption::Declared)
}

/// A tool of this name with these arguments, all of them required.
fn tool(name: &str, required: &[&str]) -> Value {
    let properties: Value = required.iter().map(|r| ((*r).to_owned(), json!({"type": "string"}))).collect();
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties, "required": required}})
}

/// The judgement of a release that requires a new argument, under these settings.
fn judged(settings_text: &str) -> Judgement {
    let settings = settings::read(settings_text).unwrap_or_else(|e| panic!("{e}"));
    let report = report(&json!([tool("find", &["a"])]), &json!([tool("find", &["a", "b"])]));
    let grounds = Grounds { policy: settings.policy, waivers: settings.waivers, ..Grounds::default() };
    judge(report, grounds, day(TODAY))
}

/// The fingerprint of that release's break.
fn fingerprint() -> String {
    let judgement = judged("{}");
    let (_, finding, _) = judgement.findings().next().expect("it breaks");
    waiver::digits(&finding.fingerprint)
}

#[test]
fn settings_say_what_blocks() {
    for (text, passes) in [
        ("{}", false),
        ("policy: {fail-on: breaking}", false),
        ("policy: {fail-on: risky}", false),
        ("policy: {fail-on: none}", true),
        ("policy: {fail-on: {input: none}}", true),
        ("policy: {fail-on: {output: none}}", false),
        ("policy: {fail-on: {default: none, input: undecided}}", false),
        ("policy: {rules: [{rule: required-added, level: risky}]}", true),
        ("policy: {rules: [{rule: required-added, level: compatible}]}", true),
        ("policy: {rules: [{rule: required-removed, level: compatible}]}", false),
        ("policy: {rules: [{tools: [\"find*\"], level: risky}]}", true),
        ("policy: {rules: [{tools: [\"!find*\"], level: risky}]}", false),
        ("policy: {rules: [{at: /required, level: risky}]}", true),
        ("policy: {rules: [{at: \"/properties/**\", level: risky}]}", false),
        ("policy: {rules: [{surface: output, level: risky}]}", false),
        ("policy: {rules: [{server: shop, level: risky}]}", true),
        // The first that fits holds.
        ("policy: {rules: [{tools: [find], level: breaking}, {surface: input, level: risky}]}", false),
    ] {
        assert_eq!(judged(text).blocked.is_none(), passes, "{text}");
    }
}

#[test]
fn what_is_wrong_with_settings_is_told_with_its_place() {
    for (text, said) in [
        ("polcy: {}", "1:1: unknown key `polcy` in the settings; did you mean `policy`?"),
        ("policy:\n  failOn: breaking", "2:3: unknown key `failOn` in a policy; did you mean `fail-on`?"),
        ("policy: {fail-on: all}", "1:19: unknown word `all`"),
        ("policy: {fail-on: {inptu: none}}", "1:20: unknown key `inptu`"),
        ("policy: {rules: [{rule: requierd-added, level: risky}]}", "did you mean `required-added`?"),
        ("policy: {rules: [{level: risky}]}", "1:18: this would judge every change alike"),
        ("policy: {rules: [{at: \"[\", level: risky}]}", "1:23: `[` is no pattern of places"),
        ("policy: {deprecation-days: -1}", "`deprecation-days` is the number -1"),
        ("servers: {a: {}}", "1:14: server `a` has no `command`, `url` or `file`"),
        (
            "servers: {a: {file: x, url: \"https://h\"}}",
            "a server has either a `file`, or a `command` or `url`",
        ),
        (
            "servers: {a: {command: [x], env: {API_TOKEN: abcdefghijkl}}}",
            "`API_TOKEN` holds a secret in clear",
        ),
        ("servers: {-a: {file: x}}", "`-a` cannot be the name of a server"),
        ("waivers: [{fingerprint: 0123456789ab, reason: x}]", "has no `expires`"),
        ("waivers: [{fingerprint: 0123, reason: x, expires: 2027-01-01}]", "`0123` is no fingerprint"),
        ("waivers: [{fingerprint: \"the message\", reason: x, expires: 2027-01-01}]", "is no fingerprint"),
        (
            "waivers: [{fingerprint: abcdefabcdef, reason: \" \", expires: 2027-01-01}]",
            "it is empty; say why",
        ),
        (
            "waivers: [{fingerprint: abcdefabcdef, reason: x, expires: soon}]",
            "`soon` is no day such as 2027-01-31",
        ),
        ("a: [", "1:"),
    ] {
        let error = settings::read(text).expect_err(text).to_string();
        assert!(error.contains(said), "{text}: no `{said}` in `{error}`");
    }
    assert!(settings::read("").expect("an empty file says nothing").servers.is_empty());
}

#[test]
fn a_waiver_counts_through_its_last_day_and_for_its_change_alone() {
    let waiver = |print: &str, expires: &str| {
        judged(&format!(
            "waivers: [{{fingerprint: \"{print}\", reason: callers moved, expires: {expires}, owner: ann}}]"
        ))
    };
    let print = fingerprint();
    for print in [&print[..], &print[..12]] {
        let judgement = waiver(print, TODAY);
        assert_eq!((judgement.blocked.is_none(), judgement.unused.len()), (true, 0));
        assert!(judgement.standing.values().any(|s| matches!(s, Standing::Waived { .. })));
    }
    let expired = waiver(&print, "2026-11-29");
    assert!(expired.blocked.is_some());
    let names: Vec<_> = expired.expired().map(|w| w.owner.as_deref()).collect();
    assert_eq!(names, [Some("ann")]);
    let of_another = waiver("0123456789ab", "2027-01-01");
    assert_eq!((of_another.blocked.is_some(), of_another.unused.len()), (true, 1));
}

#[test]
fn what_is_absolute_is_neither_waived_nor_judged_otherwise() {
    let twice = json!([tool("find", &[]), tool("find", &[])]);
    let side = |list: &Value| {
        let contracts =
            tools(list).iter().map(|t| toolpact::contract::Contract::of(t).expect("a tool")).collect();
        Side { label: "list".to_owned(), servers: vec![(None, contracts)] }
    };
    let report = || diff(&side(&json!([tool("find", &[])])), &side(&twice), Assumption::Declared);
    let found = report();
    let print = waiver::digits(&found.findings().next().expect("a finding").1.fingerprint);
    let settings = settings::read(&format!(
        "policy: {{fail-on: none, rules: [{{rule: duplicate-tool-name, level: compatible}}]}}\n\
         waivers: [{{fingerprint: \"{print}\", reason: x, expires: 2027-01-01}}]"
    ))
    .expect("settings");
    let grounds = Grounds { policy: settings.policy, waivers: settings.waivers, ..Grounds::default() };
    let blocked = judge(report(), grounds, day(TODAY)).blocked.expect("it blocks");
    assert_eq!(blocked.rule, "duplicate-tool-name");
}

#[test]
fn what_was_announced_long_enough_may_go() {
    let announced_tool =
        json!({"name": "old", "description": "Deprecated: use new.", "inputSchema": {"type": "object"}});
    let with = |schema: Value| json!({"name": "find", "inputSchema": {"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}, "b": schema}}});
    let first = json!([announced_tool, with(json!({"type": "string"}))]);
    let second = json!([announced_tool, with(json!({"type": "string", "deprecated": true}))]);
    // The lockfile keeps the day on which each was first announced, however often it is written.
    let one = locked(&first, None, "2026-08-01");
    let two = locked(&second, Some(&one), "2026-10-15");
    let again = locked(&second, Some(&two), "2026-11-20");
    let lock = Lock { servers: vec![again] };
    let written = lock.write();
    assert!(written.contains("\ndeprecated 2026-08-01 \"\"\n"), "{written}");
    assert!(written.contains("\ndeprecated 2026-10-15 \"/inputSchema/properties/b\"\n"), "{written}");
    let lock = lock::read(&written).expect("it was just written");

    let gone = json!([{"name": "find", "inputSchema": {"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}}}]);
    let standing = |days: Option<u32>| {
        let report = diff(&lock.side("lock"), &side(&gone), Assumption::Declared);
        let policy = Policy { deprecation_days: days, ..Policy::default() };
        let grounds = Grounds { policy, announced: announced(&lock), ..Grounds::default() };
        let judgement = judge(report, grounds, day(TODAY));
        let of = |rule: &str| {
            let mut all = judgement.findings();
            all.find(|(_, f, _)| f.rule == rule).map(|(_, _, s)| s.clone()).expect(rule)
        };
        (of("tool-removed"), of("property-removed"))
    };
    assert_eq!(standing(None), (Standing::Blocks, Standing::Blocks));
    let (tool, parameter) = standing(Some(90));
    assert_eq!(tool, Standing::Announced { since: day("2026-08-01") });
    assert_eq!(parameter, Standing::TooSoon { since: day("2026-10-15"), from: day("2027-01-13") });
    let (_, parameter) = standing(Some(30));
    assert_eq!(parameter, Standing::Announced { since: day("2026-10-15") });
}

#[test]
fn a_declared_version_is_told_required_or_enough() {
    let report = report(&json!([tool("find", &["a"])]), &json!([tool("find", &["a", "b"])]));
    let judgement = |mode: DeclaredVersion, version: &str| {
        let declared = Declared { version: version.to_owned(), place: "package.json".to_owned() };
        let check = declared::check("shop", None, "1.4.0", &declared, Bump::Major).expect("versions");
        let policy = Policy { declared_version: mode, ..Policy::default() };
        let grounds = Grounds { policy, versions: vec![check], ..Grounds::default() };
        judge(report.clone(), grounds, day(TODAY))
    };
    for (mode, version, blocking) in [
        (DeclaredVersion::Tell, "1.5.0", 1),
        (DeclaredVersion::Tell, "2.0.0", 1),
        // The break, and the version that does not say it.
        (DeclaredVersion::Require, "1.5.0", 2),
        (DeclaredVersion::Require, "2.0.0", 1),
        (DeclaredVersion::Allow, "1.5.0", 2),
        (DeclaredVersion::Allow, "2.0.0", 0),
    ] {
        assert_eq!(judgement(mode, version).blocking, blocking, "{mode:?} {version}");
    }
}

#[test]
fn a_lockfile_is_read_as_it_was_written() {
    let list = json!([
        {"name": "b \"quoted\"\n", "description": "\u{202e}\u{7f}\u{1f600}", "inputSchema": {"type": "object"}},
        {"name": "a", "inputSchema": {"const": 1e300}, "_meta": {"x": [1, [], {}, null, true]}},
    ]);
    let written = Lock { servers: vec![locked(&list, None, TODAY)] }.write();
    let read = lock::read(&written).unwrap_or_else(|e| panic!("{e}\n{written}"));
    assert_eq!(read.write(), written);
    let same = diff(&read.side("lock"), &side(&list), Assumption::Declared);
    assert_eq!((same.tools.len(), same.unchanged), (0, 2));
    assert_eq!(announced(&read), BTreeMap::new());
    // Every block can be pointed at.
    let line = read.line_of("shop", "a");
    assert_eq!(written.lines().nth(line - 1), Some("tool \"a\""));
    assert!(written.is_ascii() || written.contains('\u{1f600}'));
}

#[test]
fn the_schema_of_the_settings_takes_what_the_reader_takes() {
    let schema = settings::schema::schema();
    jsonschema::meta::validate(&schema).unwrap_or_else(|e| panic!("{e}"));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    // No key of either is unknown to the other.
    assert!(!has_nothing(&schema), "a key has no schema");
    let waiver = |more: &str| format!("waivers: [{{fingerprint: 7b1b6f4b7635, reason: r, {more}}}]");
    for (text, good) in [
        ("", true),
        ("{}", true),
        ("lockfile: a.lock", true),
        ("lockfile: [a]", false),
        ("lokfile: a", false),
        ("servers: {a: {command: [node, b.js], env: {A: b}, cwd: c, version: package.json}}", true),
        ("servers: {a: {url: 'https://h.example/mcp', headers: {A: '${A}'}}}", true),
        ("servers: {a: {file: tools.json}}", true),
        ("servers: {a: {}}", false),
        ("servers: {a: {file: tools.json, url: 'https://h.example/mcp'}}", false),
        ("servers: {a: {command: []}}", false),
        ("servers: {-a: {file: tools.json}}", false),
        ("servers: {a: {file: tools.json, port: 1}}", false),
        ("policy: {assume: strict, formats: assert, declared-version: allow, deprecation-days: 90}", true),
        ("policy: {assume: lax}", false),
        ("policy: {formats: maybe}", false),
        ("policy: {declared-version: maybe}", false),
        ("policy: {deprecation-days: -1}", false),
        ("policy: {deprecation-days: soon}", false),
        ("policy: {fail-on: none}", true),
        ("policy: {fail-on: compatible}", false),
        ("policy: {fail-on: {default: undecided, presentation: risky, output: none}}", true),
        ("policy: {fail-on: {outputs: none}}", false),
        ("policy: {rules: [{rule: description-changed, tools: [\"a*\"], level: compatible}]}", true),
        ("policy: {rules: [{rule: no-such, level: risky}]}", false),
        ("policy: {rules: [{level: risky}]}", false),
        ("policy: {rules: [{surface: output}]}", false),
        ("policy: {rules: [{at: '/properties/**', surface: input, server: a, level: breaking}]}", true),
        (&waiver("expires: 2027-01-31, owner: o"), true),
        (&waiver("owner: o"), false),
        (&waiver("expires: soon"), false),
        ("waivers: [{fingerprint: 7b1b, reason: r, expires: 2027-01-31}]", false),
        ("waivers: [{fingerprint: 7b1b6f4b7635, reason: ' ', expires: 2027-01-31}]", false),
        (
            "service: {url: 'https://h.example', environment: production, catalog: a, on-unreachable: use-lockfile}",
            true,
        ),
        ("service: {url: 'https://h.example', environment: production}", true),
        ("service: {url: 'https://h.example'}", false),
        ("service: {environment: production}", false),
        ("service: {url: 'https://h.example', environment: production, on-unreachable: pass}", false),
    ] {
        let value: Value = serde_yaml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let read = settings::read(text);
        assert_eq!((read.is_ok(), validator.is_valid(&value)), (good, good), "{text}: {read:?}");
    }
}

/// Whether something in a schema is allowed to nobody.
fn has_nothing(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.clone().any(|(_, value)| *value == Value::Bool(false))
        || match schema {
            Value::Object(members) => members.values().any(has_nothing),
            Value::Array(items) => items.iter().any(has_nothing),
            _ => false,
        }
}
