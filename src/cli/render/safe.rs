//! Text that a server wrote, made safe for a terminal: nothing it says can move the cursor, set a colour, hide, reorder
//! or forge a line. Every such character is shown as its code instead.

use std::fmt::Write;

use serde_json::Value;

use crate::json::is_hidden;

/// How much of a value or name is shown; a reader decides on less, and the JSON form has all of it.
pub(in crate::cli) const SHOWN: usize = 160;

/// One line of at most `limit` characters.
pub(in crate::cli) fn line(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit));
    let mut left = text.chars();
    for c in left.by_ref().take(limit) {
        push(&mut out, c);
    }
    let rest = left.count();
    if rest > 0 {
        _ = write!(out, "… ({rest} more characters)");
    }
    out
}

/// A name or sentence of ordinary length.
pub(in crate::cli) fn word(text: &str) -> String {
    line(text, SHOWN)
}

/// A JSON value on one line.
pub(in crate::cli) fn value(value: &Value) -> String {
    line(&value.to_string(), SHOWN)
}

/// A JSON value on one line, whole, to be copied: what is unsafe is escaped as JSON escapes it.
pub(in crate::cli) fn whole(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        if is_hidden(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(out, "\\u{unit:04x}"));
        } else {
            out.push(c);
        }
    }
    out
}

/// Several lines; every one after the first is indented, so that none can pass for a line of ours.
pub(in crate::cli) fn paragraph(text: &str) -> String {
    text.trim_end().lines().map(|l| line(l, 2_000)).collect::<Vec<_>>().join("\n  ")
}

fn push(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if is_hidden(c) => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_server_writes_reaches_the_terminal_as_a_command() {
        for (text, expected) in [
            ("search_issues", "search_issues"),
            ("größe 数", "größe 数"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("a\nerror: forged", "a\\nerror: forged"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("\u{e0041}", "\\u{e0041}"),
        ] {
            assert_eq!(word(text), expected);
        }
    }

    #[test]
    fn long_text_is_cut_and_says_so() {
        assert_eq!(line("abcdef", 4), "abcd… (2 more characters)");
        assert_eq!(line("abcd", 4), "abcd");
    }

    #[test]
    fn no_second_line_can_pass_for_ours() {
        assert_eq!(paragraph("first\nerror: forged\n"), "first\n  error: forged");
    }
}
