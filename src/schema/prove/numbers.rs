//! Bounds and multiples of numbers.

use serde_json::Value;

use crate::{
    json,
    schema::facts::{self, Part, types},
};

pub(super) fn bounded(
    have: Option<facts::Bound<'_>>,
    want: &Value,
    keyword: &str,
    mask: u8,
    low: bool,
) -> bool {
    let (Some((have, open)), Some(limit)) = (have, want.as_number()) else { return false };
    let exclusive = keyword.starts_with("exclusive");
    let order = if low { facts::compare(have, limit) } else { facts::compare(limit, have) };
    if order.is_gt() || (order.is_eq() && (open || !exclusive)) {
        return true;
    }
    // Integers: `> 0` is `>= 1`.
    if mask & types::FRACTION != 0 {
        return false;
    }
    let (Some(have), Some(limit)) = (json::integer(have), json::integer(limit)) else { return false };
    let step = if low { 1 } else { -1 };
    let have = if open { have + step } else { have };
    let limit = if exclusive { limit + step } else { limit };
    if low { have >= limit } else { have <= limit }
}

pub(super) fn multiple(parts: &[Part<'_>], want: &Value, mask: u8) -> bool {
    let Some(step) = want.as_number() else { return false };
    let steps: Vec<_> = parts.iter().filter_map(|p| p.get("multipleOf").and_then(Value::as_number)).collect();
    if steps.iter().any(|have| facts::compare(have, step).is_eq()) {
        return true;
    }
    // A multiple of several numbers is one of their least common multiple; integers are multiples of 1.
    let whole = (mask & types::FRACTION == 0).then_some((1, 0));
    let all: Option<Vec<_>> = steps.into_iter().map(json::decimal).chain(whole.map(Some)).collect();
    let common = || -> Option<bool> {
        let (all, (want, scale)) = (all?, json::decimal(step)?);
        // Not every meta-schema looks everywhere; nobody agrees on the multiples of nothing.
        if want <= 0 || all.iter().any(|(m, _)| *m <= 0) {
            return None;
        }
        let finest = all.iter().map(|(_, s)| *s).max()?.max(scale);
        let scaled = |m: i128, s: u32| m.checked_mul(10i128.checked_pow(finest - s)?);
        let mut common: i128 = 1;
        for (m, s) in all {
            let m = scaled(m, s)?;
            common = common.checked_mul(m / divisor(common, m))?;
        }
        Some(common.checked_rem(scaled(want, scale)?)? == 0)
    };
    common() == Some(true)
}

/// The greatest common divisor of two positive numbers.
pub(super) fn divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a.max(1) } else { divisor(b, a % b) }
}
