//! SHA-256 of JSON in its canonical form.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt;

use base64::Engine as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::canonical::{canonical, write_canonical};

/// `sha256:` and 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// The SHA-256 of bytes as they stand, where nobody reads it.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

impl Digest {
    /// The digest of a value's canonical form.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        // Not by way of the bytes: those of a long text would stand beside it.
        let mut hash = Hashed { hash: Sha256::new(), ahead: Vec::with_capacity(AHEAD) };
        if write_canonical(value, &mut hash).is_err() {
            return Self::of_bytes(&canonical(value));
        }
        hash.hash.update(&hash.ahead);
        Self::written(&hash.hash.finalize())
    }

    /// The digest of bytes as they stand.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::written(&sha256(bytes))
    }

    fn written(hash: &[u8]) -> Self {
        const KIND: &[u8] = b"sha256:";
        let mut text = vec![0; KIND.len() + 2 * hash.len()];
        let (kind, digits) = text.split_at_mut(KIND.len());
        kind.copy_from_slice(KIND);
        // Quicker than digit by digit, and there is room for all.
        _ = hex::encode_to_slice(hash, digits);
        Self(String::from_utf8(text).unwrap_or_default())
    }

    /// The whole text, `sha256:<hex>`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 hex digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.0["sha256:".len()..]
    }

    /// The first twelve hex digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0["sha256:".len()..][..12]
    }

    /// The spelling of SEP-3140 (draft): `sha256-` and unpadded base64url.
    #[must_use]
    pub fn content_hash(&self) -> String {
        let bytes = hex::decode(&self.0["sha256:".len()..]).unwrap_or_default();
        format!("sha256-{}", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
    }
}

/// Bytes gathered before they are hashed: canonical JSON is written a sign at a time.
const AHEAD: usize = 4 << 10;

/// Hashes what is written.
struct Hashed {
    hash: Sha256,
    ahead: Vec<u8>,
}

impl std::io::Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.ahead.len() + bytes.len() > AHEAD {
            self.hash.update(&self.ahead);
            self.ahead.clear();
        }
        match bytes.len() {
            long if long > AHEAD => self.hash.update(bytes),
            _ => self.ahead.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest; a digest is `sha256:` and 64 lower-case hex digits")]
pub struct NotADigest(pub String);

impl std::str::FromStr for Digest {
    type Err = NotADigest;
    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let hex = text.strip_prefix("sha256:").unwrap_or_default();
        if hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotADigest(text.to_owned()))
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;
    fn try_from(text: String) -> Result<Self, NotADigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}
