//! Two texts, an empty line between them: read as tool lists and diffed, whatever they are. A third is read as recorded calls.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolpact::{
    contract::Contract,
    diff::{Assumption, Calls, Level, Origin, Side, diff, diff_with_calls},
    snapshot,
};

fn side(text: &str) -> Option<Side> {
    let tools = snapshot::read_saved(text).ok()?.tools;
    let contracts = tools.iter().map(Contract::of).collect::<Result<_, _>>().ok()?;
    Some(Side { label: "a list".to_owned(), servers: vec![(None, contracts)] })
}

fuzz_target!(|text: &str| {
    let (baseline, rest) = text.split_once("\n\n").unwrap_or((text, text));
    let (candidate, calls) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let (Some(baseline), Some(candidate)) = (side(baseline), side(candidate)) else { return };
    let declared = diff(&baseline, &candidate, Assumption::Declared);
    let strict = diff(&baseline, &candidate, Assumption::Strict);
    assert_eq!(declared.verdicts, strict.verdicts, "the assumption asked for changes both verdicts");
    for report in [&declared, &strict] {
        for (_, finding) in report.findings() {
            assert!(finding.witness.is_none() || finding.level == Level::Breaking, "a witness of nothing");
        }
        let text = serde_json::to_string(report).expect("a report is JSON");
        let read: toolpact::diff::Report = serde_json::from_str(&text).expect("and is read again");
        assert_eq!(read.verdict, report.verdict);
    }
    if let (false, Ok(calls)) = (calls.is_empty(), Calls::read(calls)) {
        let recorded = diff_with_calls(&baseline, &candidate, Assumption::Declared, &calls);
        assert!(recorded.verdict >= declared.verdict, "recorded calls make a verdict better");
        let shown = recorded.findings().filter_map(|(_, f)| f.witness.as_ref()).any(|w| w.origin == Origin::Recorded);
        let broken = recorded.calls.is_some_and(|calls| calls.broken > 0);
        assert!(shown <= broken, "a call is shown that does not break");
    }
    for side in [&baseline, &candidate] {
        let same = diff(side, side, Assumption::Strict);
        assert!(same.findings().all(|(_, f)| f.absolute || f.rule == "duplicate-tool-name"), "a list differs from itself");
    }
});
