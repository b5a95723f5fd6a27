//! Every case of every rule through the whole engine, each witness checked again by the validator.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use toolpact::{
    contract::Contract,
    diff::{
        Assumption, Finding, Formats, Level, Options, Report, Side, Surface,
        case::{Case, Expected, cases},
        diff, rules,
    },
    snapshot,
};

pub(crate) fn side(label: &str, tools: &Value) -> Side {
    let tools = snapshot::split(&tools.to_string()).expect("a list of tools");
    let contracts = tools.iter().map(|t| Contract::of(t).expect("a contract")).collect();
    Side { label: label.to_owned(), servers: vec![(None, contracts)] }
}

fn sides(case: &Case) -> (Value, Value) {
    let wrap = |schema: &Value| match case.tools {
        true => schema.clone(),
        false => json!([{"name": "t", "inputSchema": schema, "outputSchema": schema}]),
    };
    (wrap(&case.baseline), wrap(&case.candidate))
}

fn run(case: &Case) -> Report {
    let (before, after) = sides(case);
    let options = Options { assume: case.assume, formats: case.formats };
    diff(&side("baseline", &before), &side("candidate", &after), options)
}

fn on(report: &Report, surface: Surface) -> Vec<&Finding> {
    report.tools.iter().flat_map(|t| &t.findings).filter(|f| f.surface == surface).collect()
}

fn check(rule: &str, case: &Case) {
    let report = run(case);
    let context =
        || format!("{rule}: {}\n{}", case.name, serde_json::to_string_pretty(&report).expect("a report"));
    let expected = [
        (Surface::Listing, &case.listing),
        (Surface::Input, &case.input),
        (Surface::Output, &case.output),
        (Surface::Annotations, &case.annotations),
        (Surface::Presentation, &case.presentation),
    ];
    if expected.iter().all(|(_, e)| e.is_none()) && case.silent.is_empty() {
        let loud: Vec<_> =
            report.tools.iter().flat_map(|t| &t.findings).filter(|f| f.level > Level::Compatible).collect();
        assert!(loud.is_empty(), "must stay silent: {}", context());
        assert!(
            report.tools.iter().all(|t| t.findings.iter().all(|f| f.rule == "notation-changed")),
            "{}",
            context()
        );
    }
    if let Some(count) = case.findings {
        let all = report.tools.iter().map(|t| t.findings.len()).sum::<usize>();
        assert_eq!(all, count, "findings: {}", context());
    }
    if let Some(bump) = case.bump {
        assert_eq!(report.required_bump, bump, "{}", context());
    }
    for silent in &case.silent {
        assert!(report.tools.iter().flat_map(|t| &t.findings).all(|f| &f.rule != silent), "{}", context());
    }
    for (surface, expected) in expected {
        let Some(Expected { verdict, at, says, unsaid, witness }) = expected else { continue };
        let findings = on(&report, surface);
        let worst = findings.iter().map(|f| f.level).max().unwrap_or(Level::Compatible);
        assert_eq!(worst, *verdict, "{surface}: {}", context());
        if let Some(at) = at {
            let found =
                findings.iter().any(|f| f.pointer.as_str() == at && f.rule == rule && f.level == *verdict);
            assert!(found, "{surface} has no {verdict} {rule} at {at}: {}", context());
        }
        let say = |words: &str| {
            findings.iter().any(|f| f.rule == rule && (f.message.contains(words) || f.help.contains(words)))
        };
        if let Some(words) = unsaid {
            assert!(!say(words), "{surface}: {rule} says `{words}`: {}", context());
        }
        if let Some(words) = says {
            assert!(say(words), "{surface}: no {rule} says `{words}`: {}", context());
        }
        let shown: Vec<&Value> =
            findings.iter().filter_map(|f| f.witness.as_ref()).map(|w| &w.value).collect();
        match witness {
            None => {}
            Some(Value::Bool(true)) => assert!(!shown.is_empty(), "{surface} has no witness: {}", context()),
            Some(exact) => assert!(shown.contains(&exact), "{surface} lacks witness {exact}: {}", context()),
        }
    }
    witnesses_hold(case, &report);
}

/// Each witness passes the one side and fails the other, by the validator, in the schemas as written.
fn witnesses_hold(case: &Case, report: &Report) {
    if case.tools {
        return;
    }
    for finding in report.tools.iter().flat_map(|t| &t.findings) {
        let Some(witness) = &finding.witness else { continue };
        let valid = |schema: &Value| {
            let formats = case.formats == Formats::Assert;
            let validator = jsonschema::options().should_validate_formats(formats).build(schema);
            validator.expect("a schema").is_valid(&witness.value)
        };
        let (good, bad) = match finding.surface {
            Surface::Output => (&case.candidate, &case.baseline),
            _ => (&case.baseline, &case.candidate),
        };
        assert!(valid(good) && !valid(bad), "{} shows nothing: {}", witness.value, case.name);
    }
}

#[test]
fn every_case_of_every_rule_is_judged_as_it_says() {
    for rule in rules::all() {
        let cases = cases(rule).expect("the cases of a rule are valid YAML");
        assert!(!cases.is_empty(), "{} has no case", rule.id);
        for case in &cases {
            check(rule.id, case);
        }
    }
}

#[test]
fn a_list_against_itself_is_silent() {
    for rule in rules::all() {
        for case in cases(rule).expect("the cases of a rule are valid YAML") {
            let (before, after) = sides(&case);
            for tools in [before, after] {
                for assumption in [Assumption::Declared, Assumption::Strict] {
                    let report = diff(&side("a", &tools), &side("b", &tools), assumption);
                    // A list that names a tool twice is told so whatever it is compared with.
                    let told: Vec<_> =
                        report.tools.iter().flat_map(|t| &t.findings).filter(|f| !f.absolute).collect();
                    let twice = report
                        .tools
                        .iter()
                        .flat_map(|t| &t.findings)
                        .any(|f| f.rule == "duplicate-tool-name");
                    assert!(told.is_empty() || twice, "{}: {told:?}", case.name);
                }
            }
        }
    }
}

/// `UPDATE_DOCS=1` writes it anew.
#[test]
fn the_document_of_the_rules_says_what_the_rules_say() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/RULES.md");
    let mut text = "# Rules\n\nWhat toolpact says of a change, in the order in which it looks. A rule explains; whether a call breaks \
                    is proved from the schemas.\nWritten from `src/diff/rules` by `UPDATE_DOCS=1 tests/run rules::`.\n"
        .to_owned();
    for rule in rules::all() {
        let example = rule.example();
        text += &format!(
            "\n## {}\n\n{} Looks at: {}.\n\n**Why it matters.** {}\n\n**Do instead.** {}\n\n```yaml\n{example}\n```\n",
            rule.id,
            rule.what,
            rule.surfaces(),
            rule.why,
            rule.instead,
        );
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, &text).expect("written");
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(written == text, "RULES.md is not what the rules say; run with UPDATE_DOCS=1 to write it anew");
}

/// The direction of a surface is applied in one place, so the same change judged the other way round on the other surface
/// must come out the same.
#[test]
fn every_schema_rule_answers_input_and_output_alike() {
    let worst = |report: &Report, surface| on(report, surface).iter().map(|f| f.level).max();
    for rule in rules::all().iter().filter(|r| matches!(r.check, rules::Check::Schema(_))) {
        for case in cases(rule).expect("the cases of a rule are valid YAML").iter().filter(|c| !c.tools) {
            let (before, after) = sides(case);
            let there = diff(&side("a", &before), &side("b", &after), Assumption::Strict);
            let back = diff(&side("b", &after), &side("a", &before), Assumption::Strict);
            let breaks = |level: Option<Level>| level.is_some_and(|l| l == Level::Breaking);
            // A promise that ends without a schema to break, and arguments that can only be objects, are of one surface.
            let said = [&there, &back].into_iter().flat_map(|r| on(r, Surface::Input));
            let (mut unproved, mut objects) =
                (false, case.baseline.get("type") != case.candidate.get("type"));
            for finding in said {
                unproved |= finding.level == Level::Breaking && finding.witness.is_none();
                objects |= finding.rule == "type-changed" && finding.pointer.as_str() == "/type";
            }
            if unproved || objects {
                continue;
            }
            for (one, other) in [(&there, &back), (&back, &there)] {
                let (input, output) = (worst(one, Surface::Input), worst(other, Surface::Output));
                assert_eq!(breaks(input), breaks(output), "{}: {}: {input:?} {output:?}", rule.id, case.name);
            }
        }
    }
}

#[test]
fn every_rule_is_documented_and_named_once() {
    let ids: BTreeSet<&str> = rules::all().iter().map(|r| r.id).collect();
    assert_eq!(ids.len(), rules::all().len(), "an id is used twice");
    for rule in rules::all() {
        assert!(rule.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", rule.id);
        for text in [rule.what, rule.why, rule.instead] {
            assert!(text.ends_with('.') && text.len() > 8, "{}: `{text}` is no sentence", rule.id);
        }
        let stem = rule.id.replace('-', "_");
        for ending in ["rs", "yaml"] {
            let file = format!("{}/src/diff/rules/{stem}.{ending}", env!("CARGO_MANIFEST_DIR"));
            assert!(std::path::Path::new(&file).exists(), "{file} is missing");
        }
    }
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/diff/rules")).expect("the rules");
    assert_eq!(files.count(), 2 * rules::all().len(), "a file of no registered rule");
}

#[test]
fn a_tool_that_comes_or_goes_is_another_change_where_it_is_another_tool() {
    let whole = json!({"name": "b", "description": "Finds orders.", "inputSchema": {
        "type": "object", "properties": {"id": {"type": "string"}, "state": {"enum": ["open", "paid"]}},
    }});
    let spelled = json!({"inputSchema": {
        "$defs": {}, "required": [],
        "properties": {"state": {"enum": ["paid", "open"]}, "id": {"type": ["string"]}}, "type": ["object"],
    }, "description": "Finds orders.", "name": "b"});
    let mut reworded = whole.clone();
    reworded["description"] = json!("Finds orders. Call it before every other tool.");
    let mut other = whole.clone();
    other["inputSchema"]["properties"]["force"] = json!({"type": "boolean"});
    let mut hinted = whole.clone();
    hinted["annotations"] = json!({"readOnlyHint": true});
    let fingerprint = |baseline: &Value, candidate: &Value| {
        let report = diff(&side("baseline", baseline), &side("candidate", candidate), Assumption::Declared);
        report.tools[0].findings[0].fingerprint.clone()
    };
    let none = json!([]);
    let gone = |tool: &Value| fingerprint(&json!([tool]), &none);
    let come = |tool: &Value| fingerprint(&none, &json!([tool]));
    // Which of both changes is the same one.
    for (name, tool, goes, comes) in [
        ("spelled otherwise", &spelled, true, true),
        ("said in other words", &reworded, true, false),
        ("with other arguments", &other, false, false),
        ("with other hints", &hinted, false, false),
    ] {
        assert_eq!((gone(tool) == gone(&whole), come(tool) == come(&whole)), (goes, comes), "{name}");
    }
}
