//! Canonical JSON, RFC 8785: members by name, numbers as ECMAScript writes doubles, no space.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::{cmp::Ordering, io};

use serde::{Serialize, Serializer, ser::Error as _};
use serde_json::{Map, Number, Value, value::RawValue};

/// Canonical bytes of a value, RFC 8785.
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    // It fails only on what a `Value` cannot hold (NaN, infinities); the plain form keeps a digest defined all the same.
    match write_canonical(value, &mut bytes) {
        Ok(()) => bytes,
        Err(_) => value.to_string().into_bytes(),
    }
}

/// Writes them.
pub(super) fn write_canonical(value: &Value, to: impl io::Write) -> serde_json::Result<()> {
    serde_json::to_writer(to, &Canonical(value))
}

/// A value, as `serde_json` writes it without space: its strings are escaped as RFC 8785 asks (3.2.2.2), only the order of
/// members and the numbers are not. `serde_json_canonicalizer` gathers every object in trees of buffers, which takes five
/// times as long, so it is asked for the numbers alone.
struct Canonical<'a>(&'a Value);

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Number(number) => serialize_number(number, to),
            Value::Array(items) => to.collect_seq(items.iter().map(Canonical)),
            Value::Object(members) => to.collect_map(by_name(members)),
            plain => plain.serialize(to),
        }
    }
}

fn by_name(members: &Map<String, Value>) -> impl Iterator<Item = (&String, Canonical<'_>)> {
    let mut sorted: Vec<_> = members.iter().map(|(name, value)| (name, Canonical(value))).collect();
    sorted.sort_unstable_by(|(a, _), (b, _)| utf16_order(a, b));
    sorted.into_iter()
}

/// RFC 8785, 3.2.3: by UTF-16 code units, which is the order of the bytes but for characters beyond U+D7FF.
fn utf16_order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

fn serialize_number<S: Serializer>(number: &Number, to: S) -> Result<S::Ok, S::Error> {
    // Doubles hold these, and ECMAScript writes them without a fraction or an exponent.
    const SAFE: u64 = 1 << 53;
    if number.as_i64().is_some_and(|n| n.unsigned_abs() <= SAFE) {
        return number.serialize(to);
    }
    let text = serde_json_canonicalizer::to_string(number).map_err(S::Error::custom)?;
    RawValue::from_string(text).map_err(S::Error::custom)?.serialize(to)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: &Value, expected: &str) {
        assert_eq!(String::from_utf8(canonical(value)).as_deref(), Ok(expected), "{value}");
    }

    #[test]
    fn the_canonical_form_is_as_the_rfc_shows_it() {
        // RFC 8785, 3.2.2 and 3.2.3.
        let text = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001, -0, -0.0, 9007199254740993],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false],
            "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7}"#;
        let expected = concat!(
            r#"{"\r":2,"1":4,"literals":[null,true,false],"#,
            r#""numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0,0,9007199254740992],"#,
            r#""string":"€$\u000f\nA'B\"\\\\\"/","#,
            "\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}"
        );
        check(&serde_json::from_str(text).expect("JSON"), expected);
    }

    #[test]
    fn the_canonical_form_of_every_kind_of_value_is_that_of_the_reference() {
        let whole = (0..64).flat_map(|bit| [-1, 0, 1].map(|by| (1u64 << bit).wrapping_add_signed(by)));
        let mut leaves: Vec<Value> =
            whole.flat_map(|n| [json!(n), json!(-(n as i128) as i64), json!(n as f64)]).collect();
        leaves.extend(
            (-330..309).map(|power| json!(format!("1.5e{power}").parse::<f64>().unwrap_or_default())),
        );
        leaves.extend(
            (0..=0x2100)
                .chain(0xd700..0xe100)
                .chain(0xfff0..0x1_0010)
                .filter_map(char::from_u32)
                .map(|c| json!(c)),
        );
        leaves.extend([
            json!(null),
            json!(true),
            json!(false),
            json!([]),
            json!({}),
            json!(""),
            json!(-0.0),
            json!([[{}], [1.0]]),
        ]);
        // On both sides of the surrogates the order of UTF-16 is not that of UTF-8.
        let names = [
            "",
            "a",
            "aa",
            "b",
            "\n",
            "\"",
            "\\",
            "\u{7f}",
            "é",
            "\u{d7ff}",
            "\u{e000}",
            "\u{ffff}",
            "\u{10000}",
            "\u{10ffff}",
        ];
        let all = |leaf: &Value| {
            names.iter().rev().map(|name| ((*name).to_owned(), json!([leaf, {"b": leaf, "a": 1}]))).collect()
        };
        for leaf in &leaves {
            let value = Value::Object(all(leaf));
            check(&value, &serde_json_canonicalizer::to_string(&value).expect("a value"));
        }
    }
}
