//! Secrets inside a text: in URLs, in pairs of a name and a value, in JSON.

use serde_json::Value;

use super::{is_issued, is_named, is_one};

/// Stands for a reference in a text that is searched: what it refers to is no part of the text.
pub const HOLE: char = '\u{fffc}';

/// A literal beside a reference and under a secret's name: shorter ones only set the value off.
const LITERAL_LENGTH: usize = 6;

/// Characters of a URL that are searched for its user info. Without an end, a text of many URLs would take forever.
const MAX_LOGIN: usize = 1024;

/// Words before a credential that are none themselves.
const SCHEMES: [&str; 9] =
    ["basic", "bearer", "digest", "token", "key", "apikey", "api-key", "negotiate", "aws4-hmac-sha256"];

/// Whether a secret stands in a text whatever that is called: a URL with a password, a credential of a known issuer, or
/// a value under a secret's name, in JSON, in `NAME=VALUE` (parted by `;`, `,`, `&` or blanks), in `Name: value`, or
/// after an option. References are [`HOLE`]s.
#[must_use]
pub fn holds(text: &str) -> bool {
    let has_login = logins(text).any(|login| login.password.is_some_and(is_said) || is_issued(login.user));
    has_login || is_issued(&text.replace(HOLE, " ")) || in_json(text) || in_pairs(text)
}

/// Whether what stands under this name is a secret, or holds one. References are [`HOLE`]s.
#[must_use]
pub fn stands_under(name: &str, text: &str) -> bool {
    let itself = if text.contains(HOLE) { is_named(name) && is_mixed(text) } else { is_one(name, text) };
    itself || holds(text)
}

/// The user info of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    /// The URL's scheme.
    pub scheme: &'a str,
    /// What stands before the colon.
    pub user: &'a str,
    /// What stands behind it.
    pub password: Option<&'a str>,
}

/// The user infos of all URLs that stand in a text.
pub fn logins(text: &str) -> impl Iterator<Item = Login<'_>> {
    text.match_indices("://").filter_map(move |(at, _)| {
        let scheme = text[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '+').next()?;
        let url = until(&text[at + 3..], |c| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`'));
        let authority = until(url, |c| matches!(c, '/' | '?' | '#'));
        let info = match authority.rsplit_once('@') {
            Some((info, _)) => info,
            // A password with a slash in it: what would be the port is none.
            None => {
                let port = authority.rsplit_once(':').map(|(_, port)| port)?;
                let is_port = port.chars().all(|c| c.is_ascii_digit() || c == HOLE);
                if is_port || authority.starts_with('[') {
                    return None;
                }
                url.rsplit_once('@')?.0
            }
        };
        let (user, password) = info.split_once(':').map_or((info, None), |(user, p)| (user, Some(p)));
        Some(Login { scheme, user, password })
    })
}

/// A text up to where it ends, or to more than a URL's beginning has.
fn until(text: &str, end: impl Fn(char) -> bool) -> &str {
    let end = text.char_indices().enumerate().find(|(number, (_, c))| *number == MAX_LOGIN || end(*c));
    end.map_or(text, |(_, (at, _))| &text[..at])
}

/// Whether a text says anything beside references.
fn is_said(text: &str) -> bool {
    text.chars().any(|c| c != HOLE) && !is_looked_up(text)
}

/// `$NAME`, `$(command)` and its older form: for a shell to replace.
fn is_looked_up(text: &str) -> bool {
    let rest = text.strip_prefix('$').unwrap_or_default();
    rest.starts_with('(')
        || text.starts_with('`')
        || (!rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Whether a text with references has a literal of a secret's length beside them: no scheme, path or URL, and no name.
fn is_mixed(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || matches!(c, ';' | ',')).any(|word| {
        let word = match word.split_once('=') {
            Some((name, value)) if is_name(name) && !value.trim_matches('=').is_empty() => value,
            Some(_) | None => word,
        };
        !is_place(word)
            && word.split(HOLE).any(|literal| literal.len() >= LITERAL_LENGTH && !is_scheme(literal))
    })
}

/// A path or a URL. The password of a URL is looked for elsewhere.
fn is_place(word: &str) -> bool {
    word.trim_start_matches([HOLE, '.', '~']).starts_with(['/', '\\']) || word.contains("://")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Whether a value in the middle of a text is a secret, as one that stands under a secret's name.
fn is_value(text: &str) -> bool {
    if text.contains(HOLE) {
        return is_mixed(text);
    }
    !is_looked_up(text) && !is_place(text) && !is_scheme(text) && is_one("secret", text)
}

fn in_json(text: &str) -> bool {
    let text = text.trim().trim_matches('\'');
    text.starts_with(['{', '[']) && serde_json::from_str(text).is_ok_and(|value| in_value("", &value))
}

fn in_value(name: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => stands_under(name, text),
        Value::Array(items) => items.iter().any(|item| in_value(name, item)),
        Value::Object(members) => members.iter().any(|(name, value)| in_value(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn in_pairs(text: &str) -> bool {
    const QUOTES: [char; 2] = ['"', '\''];
    let mut awaited = false;
    let mut before = "";
    for part in text.split_inclusive(['"', '\'', '\n', ';', ',']) {
        let quoted = part.ends_with(QUOTES);
        let part = part.trim_end_matches(['"', '\'', '\n', ';', ',']).trim();
        if let Some((name, value)) = part.split_once(':')
            && is_named(if name.is_empty() { before } else { name })
            && (is_name(name) || name.is_empty())
            && !value.starts_with("//")
        {
            awaited = value.is_empty();
            if value.split_whitespace().any(is_value) {
                return true;
            }
        }
        for word in part.split(|c: char| c.is_whitespace() || matches!(c, '&' | '?' | '#' | '|')) {
            if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) {
                awaited = is_named(name) && (is_scheme(value) || (value.is_empty() && quoted));
                // JSON or a URL behind a name.
                if is_issued(value) || (is_named(name) && !value.is_empty() && is_value(value)) {
                    return true;
                }
            } else if word.starts_with('-') {
                awaited = is_named(word);
            } else if awaited && !word.is_empty() && word != ":" && !is_scheme(word) {
                if is_value(word) {
                    return true;
                }
                awaited = false;
            }
        }
        before = part;
    }
    // What stands behind a name as a whole.
    text.split_once(['=', ':']).is_some_and(|(name, value)| is_name(name) && in_json(value))
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn a_secret_is_found_inside_a_text() {
        for (text, expected) in [
            ("postgres://ann:hunter2secret@db/x", true),
            ("redis://:hunter2@h", true),
            ("postgres://ann:hunter2/secret@db/x", true),
            ("https://ghp_0123456789abcdef@h/x", true),
            ("see https://h/x and https://u:p@h/", true),
            ("https://h/mcp?api_key=abcdef&x=1", true),
            (r#"{"Authorization":"Bearer ntn_abc"}"#, true),
            (r#"{"a":[{"b":{"token":["abcdef"]}}]}"#, true),
            (r#"{"a":"{\"password\":\"hunter2\"}"}"#, true),
            (r#"{"db":"postgres://a:b@h"}"#, true),
            ("{\"port\":\u{fffc},\"token\":\"abcdef\"}", true),
            (r#"--headers={"X-Api-Key":"abcdef"}"#, true),
            ("Server=h;Password=hunter2abc;", true),
            ("Server=h; User Id=sa; Password=\"hunter2 abc\";", true),
            ("host=h password=hunter2", true),
            ("AccountName=a;AccountKey=aGVsbG8gd29ybGQ==", true),
            ("api-key=abcdef,x=1", true),
            ("Authorization=Basic abcdef", true),
            ("export TOKEN=abcdef; exec srv", true),
            ("srv --token abcdef", true),
            ("curl -H 'X-Api-Key: abcdef' https://h", true),
            ("curl -H \"Authorization: Bearer abcdef\" https://h", true),
            ("Authorization: Basic \u{fffc}:hunter2secret", true),
            ("--token=hunter2secret\u{fffc}", true),
            ("--keyboard=us", false),
            ("https://example.com/mcp", false),
            ("https://h:8080/@scope/package", false),
            ("https://[::1]:80/a@b", false),
            ("ssh://git@host/x", false),
            ("postgres://ann:\u{fffc}@db/x", false),
            ("MODE=fast;LEVEL=2", false),
            ("PASSENGER=1", false),
            (r#"{"a":1}"#, false),
            ("{\"max_tokens\":4096,\"Authorization\":\"Bearer \u{fffc}\"}", false),
            ("\u{fffc}", false),
            ("Bearer \u{fffc}", false),
            ("Authorization: Bearer \u{fffc}", false),
            ("Server=h;Password=\u{fffc};Trusted=yes", false),
            ("export TOKEN=$SECRET; exec srv", false),
            ("TOKEN=$(cat /run/token) exec srv", false),
            ("TOKEN=`cat /run/token` exec srv", false),
            ("TOKEN=\"$SECRET\" exec srv", false),
            ("TOKEN= exec srv", false),
            ("--auth --verbose", false),
            ("/home/ann/keys/token.json", false),
            ("C:\\keys\\token.json", false),
            ("Never reveal the password, and no key: ask first", false),
            ("sort --key 2", false),
            ("", false),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }
}
