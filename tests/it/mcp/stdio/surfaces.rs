//! What a server offers beside its tools: read after them where it says that it has it, and never at their cost.

use std::time::Duration;

use toolpact::{
    mcp::{self, Limits, Source},
    snapshot::{Outcome, SurfaceKind, SurfaceListing},
};

use super::{A, READ, REST, list, page, say, script, tools};
use crate::mcp::{hasty, patient};

const ODD: &str = r#"{ "name":"\u0061", "x":1e2, "x":2 }"#;

/// A modern server with these capabilities, up to the question after its list of tools, which has id 3.
fn with(capabilities: &str, steps: &[&str]) -> String {
    let result = format!(
        r#"{{"supportedVersions":["2026-07-28"],"capabilities":{capabilities},"ttlMs":0,"cacheScope":"private","resultType":"complete"}}"#
    );
    let (discovered, listed) = (page(1, &result), tools(2, &[A]));
    let mut all = vec![READ, &discovered, READ, &listed];
    all.extend(steps);
    script(&all)
}

/// Reads a line and ends where it does not ask for this.
fn asked(method: &str) -> String {
    format!(r#"read -r line || exit 0; case $line in *'"method":"{method}"'*) ;; *) exit 9;; esac"#)
}

fn told(surface: &SurfaceListing) -> String {
    let items: Vec<&str> = surface.items.iter().map(|item| item.raw.get()).collect();
    format!("{}: {} {} {}", surface.kind.as_str(), surface.outcome, items.join(","), surface.message)
}

#[tokio::test]
async fn surfaces_are_read_after_the_tools_where_they_are_declared() {
    let (prompts, resources, templates) =
        (asked("prompts/list"), asked("resources/list"), asked("resources/templates/list"));
    let refused =
        |id: u64| say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#));
    let rows: Vec<(&str, String, Limits, &[&str])> = vec![
        ("none is declared", with(r#"{"tools":{}}"#, &[READ, "exit 9"]), patient(), &[]),
        ("null is none", with(r#"{"prompts":null}"#, &[READ, "exit 9"]), patient(), &[]),
        (
            "prompts on two pages, byte for byte",
            with(
                r#"{"prompts":{}}"#,
                &[
                    &prompts,
                    &page(3, &format!(r#"{{"prompts":[ {ODD} ],"nextCursor":"p2"}}"#)),
                    &prompts,
                    &page(4, r#"{"prompts":[1]}"#),
                    REST,
                ],
            ),
            patient(),
            &[r#"prompts: ok { "name":"\u0061", "x":1e2, "x":2 },1 "#],
        ),
        (
            "resources without templates",
            with(
                r#"{"resources":{}}"#,
                &[&resources, &page(3, r#"{"resources":[]}"#), &templates, &refused(4), REST],
            ),
            patient(),
            &[
                "resources: ok  ",
                "resource_templates: error  `sh -c …` answered `resources/templates/list` with error -32601: no",
            ],
        ),
        (
            "something else in place of prompts",
            with(
                r#"{"prompts":{},"resources":{}}"#,
                &[
                    &prompts,
                    &page(3, r#"{"prompts":{}}"#),
                    &resources,
                    &page(4, r#"{"resources":[2]}"#),
                    &templates,
                    &page(5, r#"{"resourceTemplates":[3]}"#),
                    REST,
                ],
            ),
            patient(),
            &[
                "prompts: malformed  `sh -c …` answered `prompts/list` with something else: `prompts` is an object",
                "resources: ok 2 ",
                "resource_templates: ok 3 ",
            ],
        ),
        (
            "prompts without end",
            with(
                r#"{"prompts":{}}"#,
                &[
                    "id=3; while read -r line; do printf '%s\\n' \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,\\\"result\\\":{\\\"prompts\\\":[],\\\"nextCursor\\\":\\\"p$id\\\"}}\"; id=$((id+1)); done",
                ],
            ),
            Limits { pages: 20, ..patient() },
            &["prompts: too_large  `sh -c …` lists its prompts without end: the limit is 20 pages"],
        ),
        (
            "prompts that are too much beside the tools",
            with(
                r#"{"prompts":{},"resources":{}}"#,
                &[
                    READ,
                    &page(3, r#"{"prompts":["ten more bytes than there are left over for them"]}"#),
                    READ,
                    &page(4, r#"{"resources":["as many as are left"]}"#),
                    READ,
                    &page(5, r#"{"resourceTemplates":[]}"#),
                    REST,
                ],
            ),
            Limits { total_bytes: 100, ..patient() },
            &[
                "prompts: too_large  `sh -c …` lists too much: 120 bytes in all, the limit is 100",
                r#"resources: ok "as many as are left" "#,
                "resource_templates: too_large  `sh -c …` lists too much: 117 bytes in all, the limit is 100",
            ],
        ),
        (
            "silence, which is waited for once",
            with(r#"{"prompts":{},"resources":{}}"#, &[REST]),
            Limits { request: Duration::from_millis(300), ..hasty() },
            &[
                "prompts: timeout  `sh -c …` did not answer `prompts/list` within 300ms",
                "resources: timeout  not asked, because `prompts/list` was not answered in time",
                "resource_templates: timeout  not asked, because `prompts/list` was not answered in time",
            ],
        ),
        (
            "a server that ends",
            with(r#"{"prompts":{}}"#, &["exit 3"]),
            patient(),
            &["prompts: unavailable  `sh -c …` exited with code 3 before it answered"],
        ),
    ];
    for (name, script, limits, expected) in rows {
        let listing = list(&script, &limits).await;
        assert_eq!(
            (listing.outcome, listing.tools.len()),
            (Outcome::Ok, 1),
            "{name}: {:?}",
            listing.evidence
        );
        let hide = |text: String| match (text.find("`sh -c "), text.rfind("` ")) {
            // The server's name is its script.
            (Some(from), Some(_)) => {
                let to = text[from + 1..].find('`').map_or(text.len(), |at| from + 1 + at);
                format!("{}sh -c …{}", &text[..=from], &text[to..])
            }
            _ => text,
        };
        let found: Vec<String> = listing.surfaces.iter().map(|s| hide(told(s))).collect();
        assert_eq!(found, expected, "{name}");
        let whole = listing.surfaces.iter().all(|s| (s.outcome == Outcome::Ok) == s.digest.is_some());
        assert!(whole, "{name}: a digest is of a whole list");
    }
}

#[tokio::test]
async fn a_surface_that_moves_is_read_again_and_named() {
    let changed = say(r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#);
    let script = with(
        r#"{"resources":{}}"#,
        &[
            READ,
            &changed,
            &page(3, r#"{"resources":[1]}"#),
            READ,
            &page(4, r#"{"resources":[1,2]}"#),
            READ,
            &page(5, r#"{"resources":[1,2]}"#),
            READ,
            &page(6, r#"{"resourceTemplates":[]}"#),
            REST,
        ],
    );
    let listing = list(&script, &patient()).await;
    assert_eq!(listing.surfaces.iter().map(|s| s.items.len()).collect::<Vec<_>>(), [2, 0]);
    assert_eq!(
        listing.evidence.warnings,
        ["`resources/list`: the list changed while it was read; it was read again"]
    );
}

#[tokio::test]
async fn a_list_of_tools_alone_asks_for_nothing_else() {
    let command = ["sh", "-c", &with(r#"{"prompts":{}}"#, &[READ, "exit 9"])].map(str::to_owned).to_vec();
    let source = Source::stdio(command).expect("a command");
    let listing = mcp::list_tools(&source, &patient()).await;
    assert_eq!((listing.outcome, listing.surfaces.len()), (Outcome::Ok, 0));
    assert_eq!(SurfaceKind::ALL.len(), 3);
}
