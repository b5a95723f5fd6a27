//! Generated schemas and instances against the validator: what is proved must hold, what is refuted must be shown.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolpact::{
    contract::Contract,
    diff::{Assumption, Surface, diff},
    schema::{Answer, Schema, contained},
    snapshot,
};

use crate::rules::side;

/// Cases of each property: enough to meet every pair of keywords, few enough to wait for.
const CASES: u32 = 400;

fn names() -> impl Strategy<Value = String> {
    prop_oneof![Just("a"), Just("b"), Just("c"), Just("ab")].prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3i64..6).prop_map(Value::from),
        Just(json!(0.5)),
        Just(json!(2.0)),
        prop_oneof![Just(""), Just("a"), Just("ab"), Just("1"), Just("é")].prop_map(Value::from),
    ]
}

fn instance() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names(), inner), 0..4)
                .prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

fn types() -> impl Strategy<Value = Value> {
    let one = prop_oneof![
        Just("null"),
        Just("boolean"),
        Just("integer"),
        Just("number"),
        Just("string"),
        Just("array"),
        Just("object")
    ];
    prop_oneof![
        3 => one.clone().prop_map(Value::from),
        1 => prop::collection::btree_set(one, 1..4).prop_map(|s| Value::from(s.into_iter().collect::<Vec<_>>())),
    ]
}

/// One keyword of a schema whose subschemas come from `inner`.
fn keyword(inner: BoxedStrategy<Value>) -> BoxedStrategy<(String, Value)> {
    let named = |name: &'static str, value: BoxedStrategy<Value>| {
        value.prop_map(move |v| (name.to_owned(), v)).boxed()
    };
    let count = (0u64..4).prop_map(Value::from).boxed();
    let bound = prop_oneof![(-2i64..5).prop_map(Value::from), Just(json!(1.5))].boxed();
    let list = prop::collection::vec(inner.clone(), 1..4).prop_map(Value::from).boxed();
    let map = prop::collection::vec((names(), inner.clone()), 1..4)
        .prop_map(|all| Value::Object(all.into_iter().collect()))
        .boxed();
    let needs = prop::collection::btree_set(names(), 0..3)
        .prop_map(|s| Value::from(s.into_iter().collect::<Vec<_>>()))
        .boxed();
    let patterns = prop_oneof![Just("^a"), Just("b"), Just("^[a-b]+$"), Just("."), Just("^$"), Just("\\d")];
    prop_oneof![
        6 => named("type", types().boxed()),
        2 => named("enum", prop::collection::vec(instance(), 1..4).prop_map(Value::from).boxed()),
        1 => named("const", instance().boxed()),
        2 => named("minimum", bound.clone()),
        2 => named("maximum", bound.clone()),
        1 => named("exclusiveMinimum", bound.clone()),
        1 => named("exclusiveMaximum", bound),
        1 => named("multipleOf", prop_oneof![Just(json!(1)), Just(json!(2)), Just(json!(0.5))].boxed()),
        1 => named("minLength", count.clone()),
        1 => named("maxLength", count.clone()),
        1 => named("pattern", patterns.clone().prop_map(Value::from).boxed()),
        1 => named("minItems", count.clone()),
        1 => named("maxItems", count.clone()),
        1 => named("uniqueItems", any::<bool>().prop_map(Value::from).boxed()),
        1 => named("minProperties", count.clone()),
        1 => named("maxProperties", count),
        3 => named("required", needs.clone()),
        5 => named("properties", map.clone()),
        2 => named("additionalProperties", inner.clone()),
        1 => named("patternProperties", (patterns, inner.clone()).prop_map(|(p, s)| json!({ p: s })).boxed()),
        1 => named("propertyNames", inner.clone()),
        2 => named("items", inner.clone()),
        1 => named("prefixItems", list.clone()),
        1 => named("contains", inner.clone()),
        1 => named("dependentRequired", (names(), needs).prop_map(|(n, v)| json!({ n: v })).boxed()),
        1 => named("dependentSchemas", map),
        2 => named("allOf", list.clone()),
        3 => named("anyOf", list.clone()),
        2 => named("oneOf", list),
        2 => named("not", inner.clone()),
        1 => named("if", inner.clone()),
        1 => named("then", inner.clone()),
        1 => named("else", inner),
        1 => Just(("$ref".to_owned(), json!("#/$defs/d"))).boxed(),
    ]
    .boxed()
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!(false)),
        types().prop_map(|t| json!({ "type": t })),
    ];
    let node = leaf.prop_recursive(3, 20, 4, |inner| {
        prop::collection::vec(keyword(inner.boxed()), 1..5)
            .prop_map(|all| Value::Object(all.into_iter().collect()))
    });
    (node.clone(), node).prop_map(|(mut root, def)| {
        if let Value::Object(members) = &mut root {
            // A definition that refers to itself in place means nothing; below a value it may.
            members.insert("$defs".to_owned(), json!({ "d": without_reference(def) }));
        }
        root
    })
}

fn without_reference(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(map) => {
            map.remove("$ref");
            map.values_mut().for_each(|v| *v = without_reference(v.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|v| *v = without_reference(v.take())),
        _ => {}
    }
    schema
}

/// A schema and one like it: a keyword dropped, or taken from another schema.
fn pair() -> impl Strategy<Value = (Value, Value)> {
    (schema(), schema(), any::<prop::sample::Index>(), 0..3u8).prop_map(|(a, b, at, how)| {
        let (Value::Object(old), Value::Object(other)) = (&a, &b) else { return (a, b) };
        let mut new = old.clone();
        if how == 0 || other.is_empty() {
            return (a, b);
        }
        if how == 1 {
            let keys: Vec<String> = new.keys().filter(|k| *k != "$defs").cloned().collect();
            if !keys.is_empty() {
                new.shift_remove(&keys[at.index(keys.len())]);
            }
        } else {
            let keys: Vec<&String> = other.keys().filter(|k| *k != "$defs").collect();
            if !keys.is_empty() {
                let key = keys[at.index(keys.len())];
                new.insert(key.clone(), other[key].clone());
            }
        }
        (a.clone(), Value::Object(new))
    })
}

fn config() -> ProptestConfig {
    // The same cases everywhere; a longer hunt takes another number of them.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    ProptestConfig { cases, failure_persistence: None, rng_seed: seed(), ..ProptestConfig::default() }
}

fn seed() -> proptest::test_runner::RngSeed {
    let seed = std::env::var("PROPTEST_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(7);
    proptest::test_runner::RngSeed::Fixed(seed)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_proved_no_value_refutes_and_what_is_refuted_a_value_shows(
        (a, b) in pair(), values in prop::collection::vec(instance(), 40)
    ) {
        let (Ok(first), Ok(second)) = (Schema::new(&a), Schema::new(&b)) else { return Ok(()) };
        let valid = |schema: &Value, value: &Value| jsonschema::is_valid(schema, value);
        match contained(&first, &second, &[]) {
            Answer::Contained(how) => {
                for value in &values {
                    prop_assert!(!valid(&a, value) || valid(&b, value), "{how}: {value} is in {a} and not in {b}");
                }
            }
            Answer::Refuted(found) => {
                prop_assert!(!found.is_empty());
                for shown in found {
                    prop_assert!(valid(&a, &shown.value) && !valid(&b, &shown.value), "{} shows nothing: {a} {b}", shown.value);
                }
            }
            Answer::Unknown(_) => {}
        }
    }

    #[test]
    fn a_report_claims_only_what_its_witnesses_show((a, b) in pair()) {
        let tools = |schema: &Value| json!([{"name": "t", "inputSchema": rooted(schema), "outputSchema": rooted(schema)}]);
        let (before, after) = (tools(&a), tools(&b));
        let reports = [Assumption::Declared, Assumption::Strict]
            .map(|assumption| diff(&side("before", &before), &side("after", &after), assumption));
        for report in &reports {
            let own = match report.assumption {
                Assumption::Declared => report.verdicts.declared,
                Assumption::Strict => report.verdicts.strict,
            };
            prop_assert_eq!(report.verdict, own);
            for finding in report.tools.iter().flat_map(|t| &t.findings) {
                let Some(witness) = &finding.witness else { continue };
                let (good, bad) = match finding.surface {
                    Surface::Output => (rooted(&b), rooted(&a)),
                    _ => (rooted(&a), rooted(&b)),
                };
                prop_assert!(jsonschema::is_valid(&good, &witness.value), "{} is not accepted: {good} {bad}", witness.value);
                prop_assert!(!jsonschema::is_valid(&bad, &witness.value), "{} is not rejected: {good} {bad}", witness.value);
            }
        }
        let same = diff(&side("before", &before), &side("again", &before), Assumption::Strict);
        prop_assert!(same.tools.is_empty());
    }

    #[test]
    fn the_contract_digest_ignores_the_order_of_keys(a in schema()) {
        let digest = |schema: &Value| {
            let tool = json!({"name": "t", "inputSchema": rooted(schema)}).to_string();
            let raws = snapshot::split(&format!("[{tool}]")).expect("a list");
            Contract::of(&raws[0]).expect("a contract").digests().contract.clone()
        };
        prop_assert_eq!(digest(&a), digest(&reversed(&a)));
    }
}

/// As a tool's schema: an object.
fn rooted(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut map = map.clone();
            map.insert("type".to_owned(), json!("object"));
            Value::Object(map)
        }
        other => json!({"type": "object", "properties": {"v": other}}),
    }
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.iter().rev().map(|(k, v)| (k.clone(), reversed(v))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        other => other.clone(),
    }
}
