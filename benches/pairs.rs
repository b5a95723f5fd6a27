//! Pairs of real tools that changed from one release to the next: what the answer costs, without a process around it.

#[path = "support/corpus.rs"]
mod corpus;
#[path = "support/times.rs"]
mod times;

use std::{slice::from_ref, time::Duration};

use corpus::{Pair, pairs};
use serde_json::{Value, value::RawValue};
use times::{ROUNDS, row, timed};
use toolpact::{
    contract::Contract,
    diff::{Assumption, Side, diff},
    schema::{self, Schema},
    snapshot::RawTool,
};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Changed tools in the long list.
const MANY: usize = 2_200;

fn side(tools: &[RawTool]) -> Side {
    let contracts = tools.iter().map(|raw| Contract::of(raw).expect("a tool")).collect();
    Side { label: String::new(), servers: vec![(None, contracts)] }
}

/// The quickest of several rounds.
fn quickest(mut once: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| once()).min().unwrap_or_default()
}

fn main() {
    let pairs = pairs();
    let Some(first) = pairs.first() else { return };
    // What is done once a process is no part of a pair.
    let _ = diff(&side(from_ref(&first.before)), &side(from_ref(&first.after)), Assumption::Declared);
    let mut tools = Vec::new();
    let mut questions = Vec::new();
    for pair in &pairs {
        let name = pair.name.as_str();
        let time = quickest(|| {
            let (b, c) = (side(from_ref(&pair.before)), side(from_ref(&pair.after)));
            timed(|| diff(&b, &c, Assumption::Declared)).0
        });
        tools.push((time, name));
        if let Some((b, c)) = pair.input_schemas() {
            let time = quickest(|| {
                timed(|| Some(schema::contained(&Schema::new(&b).ok()?, &Schema::new(&c).ok()?, &[]))).0
            });
            questions.push((time, name));
        }
    }
    row("changed tools, judged", tools);
    row("changed input schemas, one question", questions);
    let renamed = |tool: &RawTool, i: usize| {
        let mut value: Value = serde_json::from_str(tool.raw.get()).expect("JSON");
        value["name"] = format!("tool_{i}").into();
        RawTool { index: i, raw: RawValue::from_string(value.to_string()).expect("JSON").into() }
    };
    let many = |of: &dyn Fn(&Pair) -> &RawTool| -> Vec<RawTool> {
        pairs.iter().cycle().take(MANY).enumerate().map(|(i, pair)| renamed(of(pair), i)).collect()
    };
    let (before, after) = (many(&|p| &p.before), many(&|p| &p.after));
    let time = quickest(|| {
        let (b, c) = (side(&before), side(&after));
        timed(|| diff(&b, &c, Assumption::Declared)).0
    });
    println!("{MANY} changed tools in one list: {:.0} ms", time.as_secs_f64() * 1e3);
}
