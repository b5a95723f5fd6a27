//! Pages of lists: `?limit=` and `?cursor=` in, `next` and `Link: rel="next"` out.
//!
//! A cursor says of which list it is and after which key the list goes on. What it looks like is nobody's business: it is
//! sent back as it came.

use axum::{
    http::{HeaderValue, Uri, header},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Serialize, de::DeserializeOwned};

use super::{Error, conditional::Tagged, wire};
use crate::app::lists::{Page, Slice};

/// A page where nobody says how long.
const USUAL: usize = 100;

/// The longest page: more than a person reads at once; whole exports are a file's business.
pub(super) const MOST: usize = 1_000;

/// A list of which a page is asked for.
pub(super) struct List<K> {
    name: String,
    uri: Uri,
    /// The page.
    pub(super) slice: Slice<K>,
}

impl<K: Serialize + DeserializeOwned> List<K> {
    /// Reads what was asked. `name` tells the list from all others.
    ///
    /// # Errors
    /// Where the page would be too long or empty, or the cursor is of another list or none.
    pub(super) fn new(
        name: impl Into<String>,
        uri: Uri,
        limit: Option<usize>,
        cursor: Option<&str>,
    ) -> Result<Self, Error> {
        let (name, limit) = (name.into(), limit.unwrap_or(USUAL));
        if !(1..=MOST).contains(&limit) {
            return Err(Error::InvalidQuery(format!("asks for {limit} items; 1 to {MOST} can be asked for")));
        }
        let after = cursor.map(|cursor| read(&name, cursor)).transpose()?;
        Ok(Self { name, uri, slice: Slice { after, limit } })
    }

    /// The answer.
    pub(super) fn answer<T, W>(&self, page: Page<T, K>) -> Response
    where
        W: From<T> + Serialize,
    {
        let mut items = wire::Items::<W>::of(page.items);
        items.next = page.next.and_then(|key| self.cursor(&key));
        let link = items.next.as_deref().and_then(|cursor| self.link(cursor));
        let mut response = Tagged(items).into_response();
        if let Some(link) = link {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }

    fn cursor(&self, key: &K) -> Option<String> {
        // Keys are names and numbers, which always serialise.
        Some(URL_SAFE_NO_PAD.encode(serde_json::to_vec(&(&self.name, key)).ok()?))
    }

    /// The same request with this cursor.
    fn link(&self, cursor: &str) -> Option<HeaderValue> {
        let query = self.uri.query().unwrap_or_default();
        let mut pairs: Vec<&str> =
            query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("cursor=")).collect();
        let last = format!("cursor={cursor}");
        pairs.push(&last);
        HeaderValue::from_str(&format!("<{}?{}>; rel=\"next\"", self.uri.path(), pairs.join("&"))).ok()
    }
}

fn read<K: DeserializeOwned>(list: &str, cursor: &str) -> Result<K, Error> {
    let unreadable = || Error::InvalidCursor("is none that this service gave out".to_owned());
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| unreadable())?;
    let (name, key): (String, serde_json::Value) =
        serde_json::from_slice(&bytes).map_err(|_| unreadable())?;
    if name != list {
        return Err(Error::InvalidCursor(format!("belongs to another list than `{list}`")));
    }
    serde_json::from_value(key).map_err(|_| unreadable())
}
