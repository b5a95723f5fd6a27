//! Catalog documents, version numbers, and what a draft holds.

use chrono::NaiveDate;
use serde_json::json;
use toolpact::{
    catalog::{
        CatalogVersion, Compatibility, Content, ContractVersion, Member, ReleaseStatus, ServerPin, Version,
        document::{self, Document},
        draft::{self, Release},
    },
    contract::Contract,
    diff::{Bump, Level, Report},
    json::Digest,
    snapshot::Provenance,
};

use crate::support::{is, listing, noon, report, tool};

const BARE: &str = "\
catalogVersion: 2025.01.12
tools:
  - name: order_query
    contractVersion: 1
    compatibility: backward-compatible
  - name: order_query_v2
    contractVersion: 2
    compatibility: breaking
";

fn full() -> String {
    let digest = |c: &str| format!("sha256:{}", c.repeat(64));
    format!(
        "\
catalog: orders
catalogVersion: 2026.11.30.1
policy:
  assume: strict
  formats: assert
  failOn: [breaking, undecided, risky]
  compatibility: input
  against: since-major
  approvals: 2
  maxTools: 40
  deprecationDays: 90
environments:
  production:
    after: staging
    assume: declared
    formats: annotate
    failOn: [breaking]
    rollbackFailOn: [breaking, undecided]
    compatibility: full
    against: ever-live
    approvals: 3
    maxTools: 30
    deprecationDays: 180
    probe: record
    servers:
      orders: orders-production
  staging: {{}}
servers:
  orders:
    command: [toolpact, demo-server, --release, \"1\", \"a b\"]
    env:
      MODE: fast
      ORDERS_TOKEN: \"Bearer ${{ORDERS_TOKEN}}\"
    cwd: \"/srv/orders\"
    snapshot: {a}
    version: \"1.0\"
    protocol: \"2025-11-25\"
  stock:
    url: \"https://stock.example/mcp?x=1\"
    headers:
      Authorization: \"${{STOCK_AUTH}}\"
    transport: sse
  idle: {{}}
tools:
  - name: order_query
    server: orders
    contractVersion: 1.2.0
    compatibility: unchanged
    status: deprecated
    digests:
      policy: tp1
      raw: {a}
      contract: {b}
      presentation: {c}
  - name: \"no\"
    server: stock
    contractVersion: 3
    compatibility: undecided
    status: experimental
",
        a = digest("a"),
        b = digest("b"),
        c = digest("c")
    )
}

fn read(text: &str) -> Document {
    document::read(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn documents_are_written_again_as_they_were_read() {
    let demo = include_str!("../../catalogs/demo.yaml");
    let demo: String = demo.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    for text in [BARE.to_owned(), full(), demo] {
        let document = read(&text);
        assert_eq!(document.write(), text);
        assert_eq!(read(&document.write()), document);
    }
}

#[test]
fn texts_that_yaml_reads_as_something_else_survive_writing() {
    for name in [
        "no",
        "Y",
        "null",
        "-y",
        "---",
        "--",
        "~",
        "1",
        "1.5",
        "-",
        "a: b",
        "#",
        "",
        " ",
        "é",
        "a\"b\\",
        "a\nb",
        "\u{7f}\u{85}\u{2028}",
        "😀",
        "日本",
    ] {
        let mut document = read(BARE);
        let tools = document.tools.as_mut().expect("BARE has tools");
        tools[0].tool = if name.is_empty() { "x".to_owned() } else { name.to_owned() };
        assert_eq!(read(&document.write()), document, "{}", document.write());
    }
}

#[test]
fn wrong_documents_are_refused_with_the_place() {
    let long = "x".repeat(document::MAX_BYTES + 1);
    let deep = format!("tools: {}", "[".repeat(100_000));
    let dashes = "- ".repeat(100_000);
    let bomb = format!("a: &a [x, x, x, x, x, x, x, x]\nb: [{}]", "*a, ".repeat(10));
    let tools = "catalogVersion: 2025.01.12\ntools:\n";
    let tool = format!("{tools}  - name: a\n    contractVersion: 1\n");
    let digests = format!("{tool}    compatibility: initial\n    digests:\n");
    let cases: &[(&str, &str)] = &[
        ("", "1:1: the document is empty; expected `catalogVersion` and `tools`, or `catalog`"),
        (
            "just words",
            "1:1: the document is the text `just words`; expected a catalog document: `catalog`, `catalogVersion`, `policy`, `environments`, `servers`, `tools`",
        ),
        ("catalog: [a", "2:1: did not find expected ',' or ']'"),
        (
            "catalog: a\ncatalogg: b",
            "2:1: unknown key `catalogg` in a catalog document; did you mean `catalog`?",
        ),
        (
            "catalog: a\nzebra: b",
            "2:1: unknown key `zebra` in a catalog document; it may have `catalog`, `catalogVersion`, `policy`, `environments`, `servers`, `tools`",
        ),
        ("catalog: a\n\ncatalog: b", "3:1: key `catalog` stands here twice; a key has one value"),
        (
            "catalog: a b",
            "1:10: `a b` cannot be the name of a catalog; use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter or digit",
        ),
        ("catalog: !x a", "1:10: catalog: tags are not read here; write the plain value"),
        ("1: a", "1:1: invalid type: integer `1`, expected a key that is a text"),
        (
            "catalogVersion: 2025.1.12\ntools: []",
            "1:17: `2025.1.12` is no catalogVersion; one is a date such as 2026.11.30, the second of that day 2026.11.30.1",
        ),
        (
            "catalogVersion: 2025.01\ntools: []",
            "1:17: `catalogVersion` is the number 2025.01; expected a date such as 2026.11.30",
        ),
        (
            "catalogVersion: 2025.02.30\ntools: []",
            "1:17: `2025.02.30` is no catalogVersion; one is a date such as 2026.11.30, the second of that day 2026.11.30.1",
        ),
        (
            "catalogVersion: 2025.02.28.999999\ntools: []",
            "1:17: `2025.02.28.999999` leaves no room for later versions; the last may be 9999.12.31.9999",
        ),
        (
            "catalogVersion: 10000.01.01\ntools: []",
            "1:17: `10000.01.01` leaves no room for later versions; the last may be 9999.12.31.9999",
        ),
        (
            &format!(
                "{tools}  - name: a\n    contractVersion: 18446744073709551615\n    compatibility: initial"
            ),
            "4:22: `18446744073709551615.0.0` leaves no room for later versions; its numbers may have nine digits",
        ),
        ("tools: []", "1:1: `tools` need a `catalogVersion` beside them"),
        ("catalogVersion: 2025.01.12", "1:1: a `catalogVersion` needs `tools` beside it"),
        ("catalogVersion: 2025.01.12\ntools:", "2:7: `tools` is empty; expected a list of tools"),
        ("catalogVersion: 2025.01.12\ntools: {}", "2:8: `tools` is a map; expected a list of tools"),
        (
            &format!("{tools}  - a"),
            "3:5: `tools` is the text `a`; expected a tool: `name`, `server`, `contractVersion`, `compatibility`, `status`, `digests`",
        ),
        (&format!("{tools}  - contractVersion: 1\n    compatibility: initial"), "3:5: a tool has no `name`"),
        (
            &format!("{tools}  - name: 12\n    contractVersion: 1\n    compatibility: initial"),
            "3:11: `name` is the number 12; expected the tool's name",
        ),
        (
            &format!("{tool}    compatability: initial"),
            "5:5: unknown key `compatability` in a tool; did you mean `compatibility`?",
        ),
        (
            &format!("{tool}    compatibility: breakin"),
            "5:20: unknown word `breakin`, expected one of `initial`, `unchanged`, `backward-compatible`, `risky`, `breaking`, `undecided`; did you mean `breaking`?",
        ),
        (
            &format!("{tool}    compatibility: initial\n    status: gone"),
            "6:13: unknown word `gone`, expected one of `active`, `deprecated`, `experimental`",
        ),
        (
            &format!("{tools}  - name: a\n    contractVersion: 1.2\n    compatibility: initial"),
            "4:22: `contractVersion` is the number 1.2; expected a semantic version such as 1.2.0, or an integer such as 1",
        ),
        (
            &format!("{tools}  - name: a\n    contractVersion: .nan\n    compatibility: initial"),
            "4:22: `contractVersion` is the number NaN; expected a semantic version such as 1.2.0, or an integer such as 1",
        ),
        (
            &format!("{tools}  - name: a\n    contractVersion: -1\n    compatibility: initial"),
            "4:22: `contractVersion` is the number -1; expected a semantic version such as 1.2.0, or an integer such as 1",
        ),
        (
            &format!("{tools}  - name: a\n    contractVersion: v1\n    compatibility: initial"),
            "4:22: `v1` is no contractVersion; one is a semantic version such as 1.2.0, or an integer such as 1 for 1.0.0",
        ),
        (
            &format!(
                "{tool}    compatibility: initial\n  - name: a\n    contractVersion: 2\n    compatibility: breaking"
            ),
            "6:11: tool `a` stands here twice; a tool has one entry",
        ),
        (
            &format!("servers:\n  orders: {{}}\n{tool}    compatibility: initial\n    server: order"),
            "8:13: server `order` is not among the `servers` of this document; did you mean `orders`?",
        ),
        (
            &format!("{digests}      policy: tp0"),
            "7:15: the digests were made under policy `tp0`, this toolpact reads `tp1`; snapshot the server again",
        ),
        (
            &format!("{digests}      policy: tp1\n      raw: sha256:12"),
            "8:12: `sha256:12` is not a digest; a digest is `sha256:` and 64 lower-case hex digits",
        ),
        (&format!("{digests}      policy: tp1"), "7:7: a set of digests has no `raw`"),
        (
            "catalog: a\npolicy: {assume: never}",
            "2:18: unknown word `never`, expected one of `declared`, `strict`",
        ),
        (
            "catalog: a\npolicy: {approvals: two}",
            "2:21: `approvals` is the text `two`; expected a number of people",
        ),
        (
            "catalog: a\npolicy: {maxTools: 100001}",
            "2:20: 100001 is too large; expected a number of tools, at most 100000",
        ),
        (
            "catalog: a\npolicy: {against: since-majr}",
            "2:19: unknown word `since-majr`, expected one of `latest`, `since-major`, `ever-live`; did you mean `since-major`?",
        ),
        (
            "catalog: a\nenvironments:\n  production: {after: staging}",
            "3:15: environment `production` comes after `staging`, which is not among the environments",
        ),
        (
            "catalog: a\nenvironments:\n  a: {after: b}\n  b: {after: a}",
            "3:6: environment `a` comes after itself",
        ),
        (
            "catalog: a\nenvironments:\n  a: {aproval: 1}",
            "3:7: unknown key `aproval` in what an environment demands; did you mean `approvals`?",
        ),
        (
            "catalog: a\nservers: {b: {tools: [\"[a\"]}}",
            "2:23: `[a` is no pattern of tool names: unclosed character class; missing ']'",
        ),
        (
            "catalog: a\npolicy: {failOn: breaking}",
            "2:18: `failOn` is the text `breaking`; expected a list of levels",
        ),
        (
            "catalog: a\nservers:\n  a: {command: []}",
            "3:16: `command` is empty; expected a program and its arguments",
        ),
        ("catalog: a\nservers:\n  a: {command: [1]}", "3:17: `command` is the number 1; expected a text"),
        (
            "catalog: a\nservers:\n  a: {command: [x], url: y}",
            "3:21: a server has either a `command` or a `url`",
        ),
        ("catalog: a\nservers:\n  a: {command: [x], headers: {}}", "3:21: `headers` belongs to a `url`"),
        ("catalog: a\nservers:\n  a: {env: {}}", "3:7: `env` belongs to a `command`"),
        (
            "catalog: a\nservers:\n  a:\n    command: [x]\n    env: {A_TOKEN: hidden}",
            "5:20: `A_TOKEN` holds a secret in clear; write a reference such as `${VAR}` and set that variable",
        ),
        (
            "catalog: a\nservers:\n  a:\n    command: [x]\n    env: {DB: 'postgres://a:hidden@h/d'}",
            "5:15: `DB` holds a secret in clear; write a reference such as `${VAR}` and set that variable",
        ),
        (
            "catalog: a\nservers:\n  a:\n    command: [x]\n    env: {A_TOKEN: 'hidden${HOME}'}",
            "5:20: `A_TOKEN` holds a secret in clear; write a reference such as `${VAR}` and set that variable",
        ),
        (
            "catalog: a\nservers:\n  a:\n    command: [x]\n    env: {DB: '${X:-postgres://a:hidden@h/d}'}",
            "5:15: `DB` holds a secret in clear; write a reference such as `${VAR}` and set that variable",
        ),
        (
            "catalog: a\nservers:\n  a: {url: x, transport: ws}",
            "3:26: unknown word `ws`, expected one of `auto`, `streamable-http`, `sse`",
        ),
        (
            "catalog: a\nservers:\n  a b: {}",
            "3:3: `a b` cannot be the name of a server; use 1 to 64 of the characters A-Z a-z 0-9 . _ - and begin with a letter or digit",
        ),
        (&long, "1:1: the document has 1048577 bytes, the limit is 1048576"),
        (&deep, "1:40: more than 32 brackets stand open, a document needs two"),
        (&dashes, "1:257: recursion limit exceeded"),
        (
            &bomb,
            "1:1: unknown key `a` in a catalog document; it may have `catalog`, `catalogVersion`, `policy`, `environments`, `servers`, `tools`",
        ),
        (
            "catalog: a\n---\ncatalog: b",
            "1:1: deserializing from YAML containing more than one document is not supported",
        ),
    ];
    let mut wrong = Vec::new();
    for (text, message) in cases {
        let found = document::read(text).map_or_else(|e| e.to_string(), |d| format!("accepted as {d:?}"));
        if found != *message {
            let shown: String = text.chars().take(200).collect();
            wrong.push(format!("{shown}\n  expected {message}\n  found    {found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn catalog_versions_count_within_the_day() {
    let day = NaiveDate::from_ymd_opt(2026, 11, 30).expect("a day");
    let cases: &[(&[&str], &str)] = &[
        (&[], "2026.11.30"),
        (&["2026.11.29", "2026.11.29.4"], "2026.11.30"),
        (&["2026.11.30"], "2026.11.30.1"),
        (&["2026.11.30.9", "2026.11.30"], "2026.11.30.10"),
    ];
    for (existing, next) in cases {
        let existing = existing.iter().map(|v| is::<CatalogVersion>(v));
        assert_eq!(CatalogVersion::next(day, existing).to_string(), *next);
    }
    let ordered = ["2025.12.31.11", "2026.01.01", "2026.01.01.2", "2026.01.01.10", "2026.01.02"];
    let ordinals: Vec<i64> = ordered.iter().map(|v| is::<CatalogVersion>(v).ordinal()).collect();
    assert!(ordinals.is_sorted(), "{ordinals:?}");
}

#[test]
fn contract_versions_move_by_the_bump() {
    for (from, bump, next) in [
        ("1", Bump::None, "1.0.0"),
        ("1.2.3", Bump::Patch, "1.2.4"),
        ("1.2.3", Bump::Minor, "1.3.0"),
        ("1.2.3", Bump::Major, "2.0.0"),
    ] {
        assert_eq!(is::<ContractVersion>(from).bumped(bump).to_string(), next);
    }
}

// -- what a draft holds -------------------------------------------------------------------------------------------------

fn release(tools: &[serde_json::Value]) -> Release {
    let contracts = listing(tools).tools.iter().map(|t| Contract::of(t).expect("a readable tool")).collect();
    let pin = ServerPin {
        server: is("orders"),
        snapshot: Digest::of(&json!(tools)),
        provenance: Provenance::file("tools.json"),
    };
    Release { pin, contracts }
}

fn version(members: Vec<Member>) -> Version {
    let content = Content::new(members, Vec::new());
    Version {
        catalog: is("orders"),
        version: is("2026.11.29"),
        digest: content.digest(),
        content,
        draft: None,
        approved_by: "ann".to_owned(),
        reason: "because".to_owned(),
        approved_at: noon(),
    }
}

/// A member as an earlier version has it.
fn member(tool: &serde_json::Value, version: &str, pinned: bool) -> Member {
    let name = tool["name"].as_str().expect("a name").to_owned();
    let digests = release(std::slice::from_ref(tool)).contracts[0].digests().clone();
    Member {
        server: pinned.then(|| is("orders")),
        tool: name,
        contract_version: is(version),
        compatibility: Compatibility::Risky,
        status: ReleaseStatus::Deprecated,
        digests: pinned.then_some(digests),
    }
}

#[test]
fn a_draft_numbers_each_contract_by_what_happened_to_it() {
    let (old, new) = (tool("a", &["id"]), tool("a", &["id", "more"]));
    let other = tool("b", &[]);
    let silent = || Report { tools: Vec::new(), ..report("a", Level::Compatible, Bump::None, false) };
    let cases = [
        ("never seen", None, vec![], silent(), "1.0.0", Compatibility::Initial),
        ("the same", Some(member(&new, "1.2.0", true)), vec![], silent(), "1.2.0", Compatibility::Unchanged),
        (
            "compatible",
            Some(member(&old, "1.2.0", true)),
            vec![],
            report("a", Level::Compatible, Bump::Minor, false),
            "1.3.0",
            Compatibility::BackwardCompatible,
        ),
        (
            "risky",
            Some(member(&old, "1.2.0", true)),
            vec![],
            report("a", Level::Risky, Bump::Patch, false),
            "1.2.1",
            Compatibility::Risky,
        ),
        (
            "breaking",
            Some(member(&old, "1.2.0", true)),
            vec![],
            report("a", Level::Breaking, Bump::Major, false),
            "2.0.0",
            Compatibility::Breaking,
        ),
        (
            "undecided",
            Some(member(&old, "1.2.0", true)),
            vec![],
            report("a", Level::Undecided, Bump::Major, false),
            "2.0.0",
            Compatibility::Undecided,
        ),
        (
            "not spoken of",
            Some(member(&old, "1.2.0", true)),
            vec![],
            silent(),
            "2.0.0",
            Compatibility::Undecided,
        ),
        (
            "named without digests",
            Some(member(&old, "4", false)),
            vec![],
            silent(),
            "4.0.0",
            Compatibility::Risky,
        ),
        (
            "back as it was",
            None,
            vec![member(&new, "3.1.0", true)],
            silent(),
            "3.1.0",
            Compatibility::Unchanged,
        ),
        (
            "back as another that nobody could compare",
            None,
            vec![member(&old, "3.1.0", true)],
            silent(),
            "4.0.0",
            Compatibility::Undecided,
        ),
        (
            "back with more",
            None,
            vec![member(&old, "3.1.0", true)],
            report("a", Level::Compatible, Bump::Minor, false),
            "3.2.0",
            Compatibility::BackwardCompatible,
        ),
        (
            "back and broken, in what no digest but the raw one holds",
            None,
            vec![member(&old, "3.1.0", true)],
            report("a", Level::Breaking, Bump::Major, false),
            "4.0.0",
            Compatibility::Breaking,
        ),
    ];
    for (case, before, older, report, number, word) in cases {
        let carried = before.as_ref().map_or(ReleaseStatus::Active, |m| m.status);
        let mut members: Vec<Member> = before.into_iter().collect();
        members.push(member(&other, "1", true));
        let older = [version(older)];
        let (previous, releases) = (version(members), [release(std::slice::from_ref(&new))]);
        let back = draft::returned(&previous, &older, &releases).len();
        assert_eq!(back, usize::from(case.starts_with("back")), "{case}");
        let nothing = silent();
        let (changed, again) = if back == 0 { (&report, &nothing) } else { (&nothing, &report) };
        let content = draft::content(Some(&previous), &older, &releases, changed, again);
        let [only] = content.members.as_slice() else { panic!("{case}: {:?}", content.members) };
        assert_eq!(only.contract_version.to_string(), number, "{case}");
        assert_eq!((only.compatibility, only.status), (word, carried), "{case}");
        assert!(only.digests.is_some() && only.server.is_some(), "{case}");
    }
}
