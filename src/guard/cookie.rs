//! The cookies of signed-in browsers. `__Host-` binds them to this very host and to secure transport; on loopback, browsers
//! take plain HTTP for secure.

use axum::http::{HeaderMap, HeaderValue, header};

/// Who is signed in.
const SESSION: &str = "__Host-toolpact";

/// That this browser began the login that comes back from an issuer.
const LOGIN: &str = "__Host-toolpact-login";

/// The secret of the session that a request shows.
#[must_use]
pub fn session(headers: &HeaderMap) -> Option<&str> {
    value(headers, SESSION)
}

/// The secret of the login that a request shows.
#[must_use]
pub fn login(headers: &HeaderMap) -> Option<&str> {
    value(headers, LOGIN)
}

/// Keeps a session in the browser for so many seconds.
#[must_use]
pub fn keep_session(secret: &str, seconds: i64) -> Option<HeaderValue> {
    kept(SESSION, secret, seconds)
}

/// Keeps a login in the browser for so many seconds.
#[must_use]
pub fn keep_login(secret: &str, seconds: i64) -> Option<HeaderValue> {
    kept(LOGIN, secret, seconds)
}

/// Makes the browser forget its session.
#[must_use]
pub fn forget_session() -> Option<HeaderValue> {
    kept(SESSION, "", 0)
}

/// Makes the browser forget its login.
#[must_use]
pub fn forget_login() -> Option<HeaderValue> {
    kept(LOGIN, "", 0)
}

fn kept(name: &str, secret: &str, seconds: i64) -> Option<HeaderValue> {
    // `Lax`: whoever follows a link from elsewhere is signed in still, and nobody's form from elsewhere is.
    let text = format!("{name}={secret}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Lax");
    HeaderValue::from_str(&text).ok()
}

/// A cookie's value; nothing where there are two of the name, for one of them was planted.
fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let pairs = headers.get_all(header::COOKIE).into_iter().filter_map(|v| v.to_str().ok());
    let mut values = pairs
        .flat_map(|pairs| pairs.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value);
    match (values.next(), values.next()) {
        // What cannot be a secret of ours is not looked for.
        (Some(only), None) if only.len() == 64 && only.bytes().all(|b| b.is_ascii_hexdigit()) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_read_where_there_is_one() {
        let check = |lines: &[&str], wanted: Option<&str>| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, HeaderValue::from_str(line).expect("a header"));
            }
            assert_eq!(session(&headers), wanted, "{lines:?}");
        };
        let (ab, cd) = ("ab".repeat(32), "cd".repeat(32));
        let one = format!("__Host-toolpact={ab}");
        check(&[&one], Some(&ab));
        check(&[&format!("a=b; {one}; c=d")], Some(&ab));
        check(&["a=b", &one], Some(&ab));
        check(&[&format!("{one}; __Host-toolpact={cd}")], None);
        check(&[&one, &format!("__Host-toolpact={cd}")], None);
        check(&["__Host-toolpact="], None);
        check(&["__Host-toolpact=ab"], None);
        check(&[&one.replace("ab", "xy")], None);
        check(&[&format!("toolpact={ab}"), &format!("x{one}")], None);
        check(&[], None);
    }
}
