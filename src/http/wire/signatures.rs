//! What was signed.

use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::{catalog::sign, json::Digest, store::Signed};

/// A signature on a version or a move.
#[derive(Serialize, ToSchema)]
pub struct Signature {
    /// The event that it was made with.
    seq: i64,
    /// The key, by the digest of its public half.
    #[schema(value_type = schema::Digest)]
    key: Digest,
    envelope: Envelope,
}

/// A DSSE envelope.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope {
    /// What was signed, in Base64: JSON in canonical form.
    payload: String,
    /// What kind of statement that is.
    #[schema(examples("application/vnd.toolpact.version+json"))]
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

/// One signature of an envelope.
#[derive(Serialize, ToSchema)]
pub struct EnvelopeSignature {
    /// Whose.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    keyid: Option<String>,
    /// The signature, in Base64.
    sig: String,
}

impl From<Signed> for Signature {
    fn from(signed: Signed) -> Self {
        let sign::Envelope { payload, payload_type, signatures } = signed.envelope;
        let signatures = signatures.into_iter().map(|s| EnvelopeSignature { keyid: s.keyid, sig: s.sig });
        let envelope = Envelope { payload, payload_type, signatures: signatures.collect() };
        Self { seq: signed.seq, key: signed.key, envelope }
    }
}
