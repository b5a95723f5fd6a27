//! What is taken for a secret: by the name it stands under, by how the value itself begins, or by the password of a URL.
//!
//! Names tell, values mostly do not: a secret that stands alone and looks like a word is not found. What is found is
//! never stored, shown or logged.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod text;

pub use text::{HOLE, holds, logins, stands_under};

/// A name with one of these anywhere in it names a secret.
const ANYWHERE: [&str; 13] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "apikey",
    "accesskey",
    "accountkey",
    "privatekey",
    "authorization",
    "bearer",
    "cookie",
];
/// The same, as a whole word of the name: `--api-key`, but not `--keyboard`.
const WORDS: [&str; 5] = ["key", "auth", "pass", "pat", "pwd"];

/// How credentials of well-known issuers begin, so that they can be found when they leak.
const ISSUED: [&str; 15] = [
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "sk-",
    "sk_live_",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "hf_",
    "npm_",
    "eyJhbGciOi",
];
/// Shorter ones are words that happen to begin so.
const ISSUED_LENGTH: usize = 16;

/// Whether what stands under this name is a secret: the name of a variable, a header, an option or a query's part.
#[must_use]
pub fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ANYWHERE.iter().any(|word| name.contains(word))
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// Whether a value is a credential by how it begins, whatever it is called.
#[must_use]
pub fn is_issued(value: &str) -> bool {
    value.split_ascii_whitespace().any(|word| {
        word.len() >= ISSUED_LENGTH
            && ISSUED.iter().any(|start| word.starts_with(start))
            && word.contains(|c: char| c.is_ascii_digit())
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'=' | b'/'))
    })
}

/// Whether this value under this name is a secret. `MAX_TOKENS=4096` and `AUTH=true` are settings.
#[must_use]
pub fn is_one(name: &str, value: &str) -> bool {
    let number = value.len() <= 6 && value.bytes().all(|b| b.is_ascii_digit());
    let word = ["true", "false", "yes", "no", "on", "off", "none"];
    let setting = number || word.iter().any(|word| value.eq_ignore_ascii_case(word));
    (is_named(name) && !setting) || is_issued(value)
}

/// The least part of a secret that is looked for where a text was cut.
const SHORTEST_PART: usize = 6;

/// The text with `with` in place of a secret, and of what a cut left of it at either end.
#[must_use]
pub fn hide(text: &str, secret: &str, with: &str) -> String {
    let mut out = text.replace(secret, with);
    let parts = || (SHORTEST_PART..secret.len()).rev().filter(|at| secret.is_char_boundary(*at));
    let body = out.trim_end_matches('…');
    if let Some(part) = parts().find(|at| body.ends_with(&secret[..*at])) {
        let (kept, cut) = (body.len() - part, out.len() - body.len());
        out.replace_range(kept..out.len() - cut, with);
    }
    let tails = (1..secret.len().saturating_sub(SHORTEST_PART - 1)).filter(|at| secret.is_char_boundary(*at));
    if let Some(at) = tails.into_iter().find(|at| out.starts_with(&secret[*at..])) {
        out.replace_range(..secret.len() - at, with);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{is_issued, is_named, is_one};

    #[test]
    fn a_setting_is_no_secret_whatever_its_name() {
        for (name, value, expected) in [
            ("MAX_TOKENS", "4096", false),
            ("USE_AUTH", "True", false),
            ("API_KEY", "", false),
            ("API_KEY", "0123456789", true),
            ("API_KEY", "x", true),
            ("MODE", "ghp_0123456789abcdef", true),
        ] {
            assert_eq!(is_one(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn a_secret_is_known_by_its_name() {
        for (name, expected) in [
            ("GITHUB_TOKEN", true),
            ("Authorization", true),
            ("X-API-Key", true),
            ("--apiKey", true),
            ("DB_PWD", true),
            ("X-Pass", true),
            ("PASS", true),
            ("DB_PASS", true),
            ("AccountKey", true),
            ("PASSENGER", false),
            ("BYPASS", false),
            ("KEYBOARD", false),
            ("PATH", false),
            ("MODE", false),
        ] {
            assert_eq!(is_named(name), expected, "{name}");
        }
    }

    #[test]
    fn a_credential_is_known_by_how_it_begins() {
        for (value, expected) in [
            ("ghp_0123456789abcdef", true),
            ("Bearer sk-0123456789abcdef", true),
            ("sk-learn", false),
            ("npm_config_registry_is_one", false),
            ("sk-0123456789abcdef and (more)", true),
            ("/data/of/somebody", false),
        ] {
            assert_eq!(is_issued(value), expected, "{value}");
        }
    }

    #[test]
    fn a_secret_is_hidden_whole_and_where_it_was_cut() {
        for (text, expected) in [
            ("nothing of it", "nothing of it"),
            ("the secret-0123456789 twice: secret-0123456789", "the X twice: X"),
            ("cut here: secret-012…", "cut here: X…"),
            ("cut here: secret-012", "cut here: X"),
            ("56789 was cut", "56789 was cut"),
            ("0123456789 was cut", "X was cut"),
            ("secre", "secre"),
        ] {
            assert_eq!(super::hide(text, "secret-0123456789", "X"), expected);
        }
    }
}
