//! What a token looks like: `tp_`, 256 random bits, and a checksum, so that scanners find it and a slip of the hand is told
//! from a token that was taken back.
//!
//! Only its SHA-256 is ever kept. 256 random bits need no slow hash: there is nothing to guess.

use crate::json::Digest;

/// What every token begins with.
pub const PREFIX: &str = "tp_";

/// The hexadecimal digits of its random part.
const SECRET: usize = 64;

/// The hexadecimal digits of its checksum.
const CHECK: usize = 8;

/// The token over these random bytes. Shown once, and known to nobody afterwards.
#[must_use]
pub fn written(random: &[u8; 32]) -> String {
    let secret = hex::encode(random);
    format!("{PREFIX}{secret}{}", checksum(&secret))
}

/// The digest that a token is kept and found by. Nothing where the text is no token: it was cut, or mistyped.
#[must_use]
pub fn digest(text: &str) -> Option<Digest> {
    let rest = text.strip_prefix(PREFIX)?;
    let digits = rest.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if !digits || rest.len() != SECRET + CHECK {
        return None;
    }
    let (secret, check) = rest.split_at(SECRET);
    (checksum(secret) == check).then(|| Digest::of_bytes(text.as_bytes()))
}

/// The name by which people speak of a token: the beginning of its digest, which tells nothing of the token.
#[must_use]
pub fn id(digest: &Digest) -> String {
    format!("tok-{}", digest.short())
}

fn checksum(secret: &str) -> String {
    Digest::of_bytes(secret.as_bytes()).hex()[..CHECK].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_checksum() {
        let token = written(&[7; 32]);
        assert_eq!(token.len(), 75);
        assert_eq!(
            token,
            "tp_0707070707070707070707070707070707070707070707070707070707070707".to_owned() + &token[67..]
        );
        assert!(digest(&token).is_some());
        for at in 0..token.len() {
            let mut other = token.clone().into_bytes();
            other[at] = if other[at] == b'0' { b'1' } else { b'0' };
            assert_eq!(digest(&String::from_utf8(other).expect("ASCII")), None, "a slip at {at}");
            assert_eq!(digest(&token[..at]), None, "cut at {at}");
        }
        assert_eq!(digest(&format!("{token} ")), None);
        assert_eq!(digest(&token.to_uppercase()), None);
    }
}
