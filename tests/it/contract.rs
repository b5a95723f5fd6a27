//! Which texts have a contract, and which contracts are the same.

use serde_json::value::RawValue;
use toolpact::{contract::Contract, snapshot::RawTool};

pub(crate) fn contract(text: &str) -> Result<Contract, String> {
    let raw = RawValue::from_string(text.to_owned()).expect("JSON");
    Contract::of(&RawTool { index: 0, raw: raw.into() }).map_err(|e| e.to_string())
}

#[test]
fn a_contract_is_read_or_refused_by_all_of_the_text() {
    let with = |value: &str| format!(r#"{{"name":"a","inputSchema":{{"x":{value}}}}}"#);
    let nested = |levels: usize| with(&format!("{}{}", "[".repeat(levels), "]".repeat(levels)));
    let cases = [
        (with("1"), Ok("a")),
        (with("100e2"), Ok("a")),
        (with("1e999"), Err("tool `a` is not valid JSON: number out of range")),
        (with(&"9".repeat(400)), Err("tool `a` is not valid JSON: number out of range")),
        (with(r#""\ud83d\udca1""#), Ok("a")),
        (with(r#""\ud83d""#), Err("tool `a` is not valid JSON: ")),
        (with(r#""\\ud83d""#), Ok("a")),
        (with(r#""\"[[{{""#), Ok("a")),
        (nested(98), Ok("a")),
        (nested(99), Err("tool `a` nests 101 levels deep, the limit is 100")),
        (r#"{"inputSchema":{},"name":"\u0061"}"#.to_owned(), Ok("a")),
        (r#"{"name":"a","name":"b","inputSchema":{}}"#.to_owned(), Ok("b")),
        (r#"{"name":"a","inputSchema":1,"inputSchema":{}}"#.to_owned(), Ok("a")),
        (
            r#"{"name":"a","inputSchema":{},"inputSchema":1}"#.to_owned(),
            Err("tool `a` has an `inputSchema` that is no object"),
        ),
        (r#"{"name":"a","inputSchema":{},"outputSchema":null}"#.to_owned(), Ok("a")),
        (
            r#"{"name":"a","inputSchema":{},"outputSchema":[]}"#.to_owned(),
            Err("tool `a` has an `outputSchema` that is no object"),
        ),
        (
            r#"{"name":"a","inputSchema":[]}"#.to_owned(),
            Err("tool `a` has an `inputSchema` that is no object"),
        ),
        (r#"{"name":"a"}"#.to_owned(), Err("tool `a` has no `inputSchema`")),
        (r#"{"name":1,"inputSchema":{}}"#.to_owned(), Err("tool number 1 has the name 1; ")),
        (r#"{"name":"","inputSchema":{}}"#.to_owned(), Err("tool number 1 has the name \"\"; ")),
        (r#"{"inputSchema":{}}"#.to_owned(), Err("tool number 1 has no `name`")),
        (r#"["a",{},{}]"#.to_owned(), Err("tool number 1 is no object")),
    ];
    for (text, expected) in cases {
        match (contract(&text), expected) {
            (Ok(contract), Ok(name)) => {
                assert_eq!(contract.name, name, "{text}");
                assert!(contract.tool().is_object(), "{text}");
            }
            (Err(said), Err(expected)) => assert!(said.starts_with(expected), "{text}: {said}"),
            (said, expected) => panic!("{text}: {said:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn contracts_are_the_same_where_their_digests_are() {
    let texts: Vec<String> = [
        r#""inputSchema":{"maximum":1,"title":"x"}"#,
        r#""inputSchema":{"title":"x","maximum":1.0}"#,
        r#""inputSchema":{"maximum":1e0,"title":"y"}"#,
        r#""inputSchema":{"maximum":0,"title":"x"}"#,
        r#""inputSchema":{"maximum":-0.0,"title":"x"}"#,
        r#""inputSchema":{"enum":[9007199254740993,9007199254740992]}"#,
        r#""inputSchema":{"enum":[9007199254740992,9007199254740993]}"#,
        r#""inputSchema":{"enum":[9007199254740992]}"#,
        r#""inputSchema":{"enum":[9007199254740992.0]}"#,
        r#""inputSchema":{"minimum":9007199254740993,"maximum":9007199254740995}"#,
        r#""inputSchema":{"minimum":9007199254740995,"maximum":9007199254740993}"#,
        r#""inputSchema":{"const":0.1}"#,
        r#""inputSchema":{"const":0.1000000000000000055}"#,
        r#""inputSchema":{"examples":[9007199254740993]}"#,
        r#""inputSchema":{"examples":[9007199254740994]}"#,
        r#""inputSchema":{},"description":"x""#,
        r#""inputSchema":{},"description":"x","_meta":1"#,
        r#""inputSchema":{},"description":"x","execution":{"taskSupport":"required"}"#,
        r#""description":"x","inputSchema":{}"#,
        r#""inputSchema":{},"description":"y","annotations":{"readOnlyHint":true}"#,
    ]
    .iter()
    .map(|members| format!(r#"{{"name":"a",{members}}}"#))
    .collect();
    for a in &texts {
        for b in &texts {
            let (x, y) = (contract(a).expect("a contract"), contract(b).expect("a contract"));
            assert_eq!(x.same_raw(&y), a == b || x.digests().raw == y.digests().raw, "raw: {a} {b}");
            assert_eq!(
                x.same_contract(&y),
                x.digests().contract == y.digests().contract,
                "contract: {a} {b}"
            );
            let presentation = x.digests().presentation == y.digests().presentation;
            assert_eq!(x.same_presentation(&y), presentation, "presentation: {a} {b}");
        }
    }
}

#[test]
fn execution_is_judged_and_not_part_of_the_contract_digest() {
    let digests = |members: &str| {
        let text = format!(r#"{{"name":"a","inputSchema":{{}}{members}}}"#);
        contract(&text).expect("a contract").digests().clone()
    };
    let (without, with) = (digests(""), digests(r#","execution":{"taskSupport":"required"}"#));
    // A digest that changed with the policy would look like drift in every tool that says `forbidden`.
    assert_eq!((&without.contract, &without.presentation), (&with.contract, &with.presentation));
    assert_ne!(without.raw, with.raw);
}
