//! What can be a source, and what is shown of one.

use toolpact::mcp::{self, Limits, Source};

fn refused(url: &str, headers: &[(&str, &str)]) -> String {
    let headers = headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Source::http(url, headers).expect_err("it is to be refused").to_string()
}

#[test]
fn what_can_never_work_is_refused_at_once() {
    for (message, words) in [
        (Source::stdio(vec![]).expect_err("empty").to_string(), "the server's command is empty"),
        (Source::stdio(vec![String::new()]).expect_err("empty").to_string(), "the server's command is empty"),
        (
            refused("example.com/mcp", &[]),
            "`example.com/mcp` is no URL of an MCP server: relative URL without a base",
        ),
        (refused("file:///etc/passwd", &[]), "the scheme `file` is not http or https"),
        (refused("http://", &[]), "empty host"),
        (
            refused("https://x/mcp", &[("a b", "1")]),
            "the header `a b` cannot be sent: that is no header name",
        ),
        (
            refused("https://x/mcp", &[("x-key", "a\nb")]),
            "the header `x-key` cannot be sent: its value has characters",
        ),
        (refused("https://x/mcp", &[("Mcp-Session-Id", "1")]), "the protocol sets it itself"),
    ] {
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn secrets_of_a_source_are_never_shown() {
    let headers = vec![("Authorization".to_owned(), "Bearer hidden-1".to_owned())];
    let source =
        Source::http("https://user:hidden-2@example.com/mcp?key=hidden-3#hidden-4", headers).expect("valid");
    assert_eq!(source.target(), "https://example.com/mcp");
    assert!(!format!("{source:?}").contains("hidden"));
    assert!(!refused("ftp://user:hidden@example.com/", &[]).contains("hidden"));
    assert!(!refused("user:hidden@example.com", &[]).contains("hidden"));
}

#[test]
fn a_listing_may_run_on_any_thread() {
    fn sendable(_: impl Send) {}
    let source = Source::stdio(vec!["server".to_owned()]).expect("there is a command");
    sendable(mcp::list(&source, &Limits::default()));
}
