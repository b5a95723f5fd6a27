//! Pages, and lists that move while they are read.

use toolpact::{mcp::Limits, snapshot::Outcome};

use super::{
    A, B, CHANGED, INITIALIZED, NO_SUCH_METHOD, READ, REST, check, legacy, lists, say, script, then, tools,
};
use crate::mcp::{Expected, fails, ok, ok_with, patient};

#[tokio::test]
async fn pages_are_read_to_the_end_and_no_further() {
    let loops = "id=3; while :; do printf '%s\\n' \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,\\\"result\\\":{\\\"tools\\\":[],\\\"nextCursor\\\":\\\"$CURSOR\\\"}}\"; read -r line || exit 0; id=$((id+1)); done";
    let error = |id: u64| {
        say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"boom"}}}}"#))
    };
    check(vec![
        ("two pages", legacy(&[&then(3, A, r#""p2""#), READ, &tools(4, &[B]), REST]), patient(), ok(2)),
        (
            "an empty cursor is a cursor",
            legacy(&[&then(3, A, r#""""#), READ, &tools(4, &[B]), REST]),
            patient(),
            ok(2),
        ),
        (
            "a cursor goes back as it came",
            legacy(&[
                &then(3, A, r#""a\u0062/\/""#),
                r#"read -r line; case $line in *'"cursor":"a\u0062/\/"'*) ;; *) exit 9;; esac"#,
                &tools(4, &[B]),
                REST,
            ]),
            patient(),
            ok(2),
        ),
        (
            "a null cursor is the end",
            lists(&format!(r#"{{"tools":[{A}],"nextCursor":null}}"#)),
            patient(),
            ok(1),
        ),
        (
            "a numeric cursor",
            lists(&format!(r#"{{"tools":[{A}],"nextCursor":2}}"#)),
            patient(),
            Expected { outcome: Outcome::Malformed, words: "`nextCursor` is a number", tools: 1 },
        ),
        (
            "the same cursor again",
            legacy(&[&loops.replace("$CURSOR", "again")]),
            patient(),
            fails(Outcome::Malformed, "a cursor that was used before"),
        ),
        (
            "ever-new cursors",
            legacy(&[&loops.replace("$CURSOR", "p$id")]),
            Limits { pages: 20, ..patient() },
            fails(Outcome::TooLarge, "the limit is 20 pages"),
        ),
        (
            "an error on page 2, once",
            legacy(&[
                &then(3, A, r#""p2""#),
                READ,
                &error(4),
                READ,
                &then(5, A, r#""p2""#),
                READ,
                &tools(6, &[B]),
                REST,
            ]),
            patient(),
            ok_with(2, "read again from page 1"),
        ),
        (
            "an error on page 2, always",
            legacy(&[
                &then(3, A, r#""p2""#),
                READ,
                &error(4),
                READ,
                &then(5, A, r#""p2""#),
                READ,
                &error(6),
                REST,
            ]),
            patient(),
            Expected { outcome: Outcome::Partial, words: "broke off after page 1", tools: 1 },
        ),
        (
            "death on page 2",
            legacy(&[&then(3, A, r#""p2""#), READ, "exit 7"]),
            patient(),
            Expected { outcome: Outcome::Partial, words: "exited with code 7", tools: 1 },
        ),
        (
            "too many tools",
            legacy(&[&tools(3, &[A, B, A]), REST]),
            Limits { tools: 2, ..patient() },
            Expected { outcome: Outcome::TooLarge, words: "3 tools, the limit is 2", tools: 2 },
        ),
        (
            "too many bytes",
            legacy(&[&then(3, A, r#""p2""#), READ, &tools(4, &[B]), REST]),
            Limits { total_bytes: 100, ..patient() },
            Expected { outcome: Outcome::TooLarge, words: "the limit is 100", tools: 2 },
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_list_that_moves_is_read_until_it_holds_still() {
    let changed = say(CHANGED);
    check(vec![
        (
            "changed before it was asked",
            script(&[
                READ,
                &changed,
                &say(NO_SUCH_METHOD),
                READ,
                &changed,
                &say(INITIALIZED),
                READ,
                READ,
                &tools(3, &[A]),
                REST,
            ]),
            patient(),
            ok(1),
        ),
        (
            "changed while it was read, to the same",
            legacy(&[&changed, &tools(3, &[A]), READ, &tools(4, &[A]), REST]),
            patient(),
            ok(1),
        ),
        (
            "changed while it was read, once",
            legacy(&[&changed, &tools(3, &[A]), READ, &tools(4, &[A, B]), READ, &tools(5, &[A, B]), REST]),
            patient(),
            ok_with(2, "the list changed while it was read"),
        ),
        (
            "never the same",
            legacy(&[
                &changed,
                &tools(3, &[A]),
                READ,
                &changed,
                &tools(4, &[B]),
                READ,
                &changed,
                &tools(5, &[A, B]),
                REST,
            ]),
            patient(),
            Expected { outcome: Outcome::Unstable, words: "other tools each time", tools: 2 },
        ),
        (
            "a tool on two pages, because the list shifted",
            legacy(&[
                &then(3, A, r#""p2""#),
                READ,
                &tools(4, &[A, B]),
                READ,
                &tools(5, &[A, B]),
                READ,
                &tools(6, &[A, B]),
                REST,
            ]),
            patient(),
            ok_with(2, "the list changed while it was read"),
        ),
    ])
    .await;
}
