//! Signatures: ed25519 keys, and envelopes of DSSE 1.0 (Dead Simple Signing Envelope) made with them.
//!
//! An envelope carries what was signed together with its type, so that a signature on one kind of statement is none on
//! another. A key is known by the digest of its public half; old signatures stay good for whoever still accepts the key that
//! made them. Where a key comes from, and which keys are accepted, is not decided here.

use std::{fmt, str::FromStr, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ed25519_dalek::{
    Signer as _,
    pkcs8::{
        DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _,
        KeypairBytes, spki::der::pem::LineEnding,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{self, Digest};

/// The secret half of a key. Never shown.
#[derive(Clone)]
pub struct SigningKey(Arc<ed25519_dalek::SigningKey>);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public().id())
    }
}

impl SigningKey {
    /// The key of these 32 bytes, which nobody may be able to guess.
    #[must_use]
    pub fn of_seed(seed: &[u8; 32]) -> Self {
        Self(Arc::new(ed25519_dalek::SigningKey::from_bytes(seed)))
    }

    /// As it stands in a file: PKCS#8 in PEM, without the public half, which older programs do not read there.
    ///
    /// # Errors
    /// Never, for a key that is one.
    pub fn to_pem(&self) -> Result<String, InvalidKey> {
        let bytes = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let pem = bytes.to_pkcs8_pem(LineEnding::LF).map_err(|e| InvalidKey(e.to_string()))?;
        Ok(pem.as_str().to_owned())
    }

    /// The half that may be shown.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// A signed statement of this type.
    #[must_use]
    pub fn sign(&self, payload_type: &str, payload: &[u8]) -> Envelope {
        let signature = self.0.sign(&signed_bytes(payload_type, payload));
        Envelope {
            payload: BASE64_STANDARD.encode(payload),
            payload_type: payload_type.to_owned(),
            signatures: vec![Signature {
                keyid: Some(self.public().id().as_str().to_owned()),
                sig: BASE64_STANDARD.encode(signature.to_bytes()),
            }],
        }
    }
}

impl FromStr for SigningKey {
    type Err = InvalidKey;
    /// Reads PKCS#8 in PEM.
    fn from_str(pem: &str) -> Result<Self, InvalidKey> {
        let key = ed25519_dalek::SigningKey::from_pkcs8_pem(pem.trim());
        key.map(|key| Self(Arc::new(key))).map_err(|e| InvalidKey(e.to_string()))
    }
}

/// The public half of a key.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id())
    }
}

impl PublicKey {
    /// The key of these 32 bytes (RFC 8032).
    ///
    /// # Errors
    /// Where they are none.
    pub fn of_bytes(bytes: &[u8; 32]) -> Result<Self, InvalidKey> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(bytes);
        key.map(Self).map_err(|e| InvalidKey(e.to_string()))
    }

    /// By what the key is known: the digest of its 32 bytes.
    #[must_use]
    pub fn id(&self) -> Digest {
        Digest::of_bytes(self.0.as_bytes())
    }

    /// As it stands in a file: SubjectPublicKeyInfo in PEM.
    ///
    /// # Errors
    /// Never, for a key that is one.
    pub fn to_pem(&self) -> Result<String, InvalidKey> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|e| InvalidKey(e.to_string()))
    }

    fn made(&self, payload_type: &str, payload: &[u8], signature: &[u8]) -> bool {
        let Ok(signature) = ed25519_dalek::Signature::from_slice(signature) else { return false };
        self.0.verify_strict(&signed_bytes(payload_type, payload), &signature).is_ok()
    }
}

impl FromStr for PublicKey {
    type Err = InvalidKey;
    /// Reads SubjectPublicKeyInfo in PEM.
    fn from_str(pem: &str) -> Result<Self, InvalidKey> {
        let key = ed25519_dalek::VerifyingKey::from_public_key_pem(pem.trim());
        key.map(Self).map_err(|e| InvalidKey(e.to_string()))
    }
}

/// A text that is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no ed25519 key in PEM: {0}")]
pub struct InvalidKey(String);

/// A statement with signatures on it, as DSSE writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope {
    /// What was signed, in Base64.
    pub payload: String,
    /// What kind of statement that is.
    pub payload_type: String,
    /// One or more.
    pub signatures: Vec<Signature>,
}

/// One signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Whose, by the [id](PublicKey::id) of the key; a hint, which nothing is decided by.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub keyid: Option<String>,
    /// The signature, in Base64.
    pub sig: String,
}

/// Why an envelope proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unproved {
    /// It is no envelope.
    #[error("it is no signed envelope: {0}")]
    Malformed(String),
    /// It is signed as something else.
    #[error("it is signed as `{0}`, not as `{1}`")]
    OtherType(String, &'static str),
    /// No key that is accepted made a signature on it.
    #[error("none of the keys given made it; it names {0}")]
    OtherKey(String),
    /// A key that is accepted is named, and its signature is on something else.
    #[error("the signature of key {0} is not on this: it was edited since, or the signature was")]
    Edited(String),
    /// It says something that cannot be read, though it is signed.
    #[error("what is signed cannot be read: {0}")]
    Unreadable(String),
}

impl Envelope {
    /// What was signed as this type by one of these keys, and by which. Everything else in an envelope is only a claim.
    ///
    /// # Errors
    /// Why it proves nothing.
    pub fn opened(
        &self,
        payload_type: &'static str,
        keys: &[PublicKey],
    ) -> Result<(Vec<u8>, Digest), Unproved> {
        if self.payload_type != payload_type {
            return Err(Unproved::OtherType(self.payload_type.clone(), payload_type));
        }
        let payload = decoded("payload", &self.payload)?;
        let mut named = None;
        for signature in &self.signatures {
            let bytes = decoded("signature", &signature.sig)?;
            if let Some(key) = keys.iter().find(|key| key.made(payload_type, &payload, &bytes)) {
                return Ok((payload, key.id()));
            }
            let hint = signature.keyid.as_deref();
            named = named.or_else(|| keys.iter().map(PublicKey::id).find(|id| Some(id.as_str()) == hint));
        }
        if let Some(id) = named {
            return Err(Unproved::Edited(id.short().to_owned()));
        }
        let hints: Vec<&str> = self.signatures.iter().filter_map(|s| s.keyid.as_deref()).collect();
        let hints = if hints.is_empty() { "no key".to_owned() } else { hints.join(", ") };
        Err(Unproved::OtherKey(hints))
    }

    /// The statement of this type that one of these keys signed, and the key's id.
    ///
    /// # Errors
    /// Why it proves nothing.
    pub fn statement<T: Statement>(&self, keys: &[PublicKey]) -> Result<(T, Digest), Unproved> {
        let (payload, key) = self.opened(T::PAYLOAD_TYPE, keys)?;
        let unreadable = |e: serde_json::Error| Unproved::Unreadable(e.to_string());
        Ok((serde_json::from_slice(&payload).map_err(unreadable)?, key))
    }
}

/// What is signed as one kind of statement.
pub trait Statement: Serialize + serde::de::DeserializeOwned {
    /// The media type that the signature is over as well.
    const PAYLOAD_TYPE: &'static str;

    /// The statement, signed. What is signed is its canonical form.
    #[must_use]
    fn signed(&self, key: &SigningKey) -> Envelope {
        let value = serde_json::to_value(self).unwrap_or(Value::Null);
        key.sign(Self::PAYLOAD_TYPE, &json::canonical(&value))
    }
}

/// The pre-authentication encoding of DSSE: what the signature is over.
fn signed_bytes(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Base64 in either alphabet, as DSSE demands of readers.
fn decoded(what: &str, text: &str) -> Result<Vec<u8>, Unproved> {
    let text = text.replace('-', "+").replace('_', "/");
    BASE64_STANDARD.decode(text).map_err(|e| Unproved::Malformed(format!("its {what} is no Base64: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::of_seed(&[seed; 32])
    }

    #[test]
    fn what_is_signed_is_what_the_protocol_of_dsse_gives_as_its_vector() {
        assert_eq!(
            signed_bytes("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
        // Lengths are of bytes, and nothing is escaped.
        assert_eq!(signed_bytes("", "é ".as_bytes()), "DSSEv1 0  3 é ".as_bytes());
    }

    #[test]
    fn keys_and_signatures_are_those_of_rfc_8032() {
        // Section 7.1: tests 1 and 3.
        let cases = [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
            ),
            (
                "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
                "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
            ),
        ];
        for (seed, public, message, signature) in cases {
            let bytes = |text: &str| hex::decode(text).expect("hex");
            let key = SigningKey::of_seed(&bytes(seed).try_into().expect("32 bytes"));
            assert_eq!(key.public().0.as_bytes().as_slice(), bytes(public));
            assert_eq!(key.0.sign(&bytes(message)).to_bytes().as_slice(), bytes(signature));
        }
    }

    #[test]
    fn a_key_comes_back_from_its_file_and_shows_nothing_of_its_secret() {
        let key = key(1);
        let pem = key.to_pem().expect("written");
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{pem}");
        let back: SigningKey = pem.parse().expect("read");
        assert_eq!(back.public(), key.public());
        let public: PublicKey = key.public().to_pem().expect("written").parse().expect("read");
        assert_eq!(public.id(), key.public().id());
        assert_eq!(format!("{key:?}"), format!("SigningKey({})", public.id()));
        for text in ["", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            assert!(text.parse::<SigningKey>().is_err(), "{text}");
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
        assert!(key.public().to_pem().expect("written").parse::<SigningKey>().is_err());
    }

    #[test]
    fn an_envelope_opens_for_the_key_that_signed_it_and_for_no_other() {
        let (old, new) = (key(1), key(2));
        let envelope = old.sign("a/b", b"said");
        let said = Ok((b"said".to_vec(), old.public().id()));
        assert_eq!(envelope.opened("a/b", &[old.public()]), said);
        assert_eq!(envelope.opened("a/b", &[new.public(), old.public()]), said, "after a rotation");
        let refused = envelope.opened("a/b", &[new.public()]);
        assert_eq!(refused, Err(Unproved::OtherKey(old.public().id().as_str().to_owned())));
        assert!(matches!(envelope.opened("a/b", &[]), Err(Unproved::OtherKey(_))));
        assert!(matches!(envelope.opened("a/c", &[old.public()]), Err(Unproved::OtherType(..))));
    }

    #[test]
    fn an_envelope_that_was_edited_opens_for_nobody() {
        let key = key(1);
        let whole = key.sign("a/b", b"said");
        let edits: [fn(&mut Envelope); 5] = [
            |e| e.payload = BASE64_STANDARD.encode("sa1d"),
            |e| e.payload = "?".to_owned(),
            |e| e.signatures[0].sig = BASE64_STANDARD.encode([0; 64]),
            |e| e.signatures[0].sig.truncate(40),
            |e| e.signatures.clear(),
        ];
        for (n, edit) in edits.into_iter().enumerate() {
            let mut envelope = whole.clone();
            edit(&mut envelope);
            assert!(envelope.opened("a/b", &[key.public()]).is_err(), "edit {n}");
        }
        // The name of a key is a hint: without it, or under another's, the signature counts.
        for keyid in [None, Some("another".to_owned())] {
            let mut envelope = whole.clone();
            envelope.signatures[0].keyid = keyid;
            assert!(envelope.opened("a/b", &[key.public()]).is_ok());
        }
        // The type is signed as well.
        let retyped = Envelope { payload_type: "a/c".to_owned(), ..whole };
        assert!(matches!(retyped.opened("a/c", &[key.public()]), Err(Unproved::Edited(_))));
    }
}
