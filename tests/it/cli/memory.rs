//! What the longest lists take that may be listed: the whole process, from the first byte to the last row.

use std::{
    fs,
    io::Read as _,
    process::{Child, Stdio},
};

use crate::command::{User, script};

/// Bytes of a page: four of them are just less than a listing may have, and each than a message may.
const PAGE: usize = 16_700_000;
/// What the process may take at its peak, in kilobytes.
const MOST: usize = 200_000;

/// `tools` of a page, made of the next texts of tools until there is room for no more.
fn page(mut tool: impl FnMut() -> String, last: bool, nth: usize) -> String {
    let mut tools = tool();
    loop {
        let next = tool();
        if tools.len() + next.len() + 100 > PAGE {
            break;
        }
        tools.push(',');
        tools.push_str(&next);
    }
    let cursor = if last { String::new() } else { format!(r#","nextCursor":"{}""#, nth + 1) };
    format!(r#"{{"tools":[{tools}]{cursor}}}"#)
}

/// The largest part of memory that a running process had so far, in kilobytes.
fn peak(child: &Child) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Lists four pages of such tools, and tells how that ended and what it took.
fn listed(tool: impl Fn(usize) -> String) -> (String, usize) {
    let user = User::new();
    let mut nth = 0;
    for number in 0..4 {
        let page = page(
            || {
                nth += 1;
                tool(nth)
            },
            number == 3,
            number,
        );
        user.file(&format!("page-{number}"), page);
    }
    // More than a pipe holds: the process cannot end before what it says is read.
    let about = format!(r#""instructions":"{0}","_":"{0}","serverInfo""#, "a".repeat(65_000));
    let about = about.replace(r#""_""#, r#""title""#);
    let answer = format!(
        r#"[[ $line =~ \"cursor\":\"([0-9])\" ]] && at=${{BASH_REMATCH[1]}} || at=0
    printf '{{"jsonrpc":"2.0","id":%s,"result":' "$id"; cat {}/page-$at; printf '}}\n'"#,
        user.home().display()
    );
    let server = script(&answer)
        .replace(r#""serverInfo""#, &about)
        .replace(r#""version":"1""#, &format!(r#""version":"1","title":"{}""#, "b".repeat(65_000)));
    let server = user.file("server", server);
    let mut child = user
        .command(&["snapshot", "big", "--format", "json", "--", "bash", &server.to_string_lossy()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdout = child.stdout.take().expect("piped");
    let mut told = vec![0];
    stdout.read_exact(&mut told).expect("it tells what it recorded");
    let peak = peak(&child);
    stdout.read_to_end(&mut told).expect("text");
    child.wait().expect("ended");
    let told: serde_json::Value = serde_json::from_slice(&told).expect("JSON");
    let listing = &told["listing"];
    (format!("{} {} {}", listing["outcome"], listing["tools"], listing["evidence"]["message"]), peak)
}

/// What is listed, tool by tool, and how that ends.
type Row<'a> = (&'a str, &'a dyn Fn(usize) -> String, &'a str);

#[test]
fn a_list_as_long_as_may_be_takes_less_than_200_mb() {
    let zeros = |n: usize| vec!["0"; n].join(",");
    let tool = |nth: usize, schema: &str| {
        format!(r#"{{"name":"t{nth}","inputSchema":{{"type":"object",{schema}}}}}"#)
    };
    let long = format!(r#""title":"{}""#, "long".repeat(PAGE / 4 / 8));
    let properties = (0..120)
        .map(|i| format!(r#""property_{i}":{{"type":"string","description":"of some use, {i}"}}"#))
        .collect::<Vec<_>>();
    let properties = format!(r#""properties":{{{}}}"#, properties.join(","));
    let values = format!(r#""enum":[{}]"#, zeros(99_900));
    let mixed = |nth: usize| match nth % 200 {
        0 => tool(nth, &long),
        of if of % 20 == 1 => tool(nth, &values),
        _ => tool(nth, &properties),
    };
    let too_many = |nth| tool(nth, &format!(r#""enum":[{}]"#, zeros(PAGE / 4 - 100)));
    let rows: [Row<'_>; 2] = [
        ("long texts, many tools and as many values as may be", &mixed, "\"ok\" 2"),
        ("more values than may be", &too_many, "\"too_large\" null"),
    ];
    let mut complaints = Vec::new();
    for (name, tool, expected) in rows {
        let (ended, kilobytes) = listed(tool);
        println!("{name}: {kilobytes} kB, {ended}");
        if !ended.starts_with(expected) || kilobytes >= MOST {
            complaints.push(format!("{name}: {kilobytes} kB, {ended}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
