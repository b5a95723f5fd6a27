//! The stylesheet, the script and the mark, compiled in. Asked again at each visit, sent only when they changed.

use std::sync::LazyLock;

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::json::Digest;

struct Asset {
    content_type: &'static str,
    text: &'static str,
    etag: String,
}

impl Asset {
    fn new(content_type: &'static str, text: &'static str) -> Self {
        Self { content_type, text, etag: format!("\"{}\"", Digest::of_bytes(text.as_bytes()).short()) }
    }

    fn answer(&self, headers: &HeaderMap) -> Response {
        let caching = [(header::ETAG, self.etag.as_str()), (header::CACHE_CONTROL, "no-cache")];
        let known = headers.get(header::IF_NONE_MATCH).and_then(|v| v.to_str().ok()).unwrap_or_default();
        if known.contains(&self.etag) {
            return (StatusCode::NOT_MODIFIED, caching).into_response();
        }
        (caching, [(header::CONTENT_TYPE, self.content_type)], self.text).into_response()
    }
}

static STYLESHEET: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("text/css; charset=utf-8", include_str!("../../templates/assets/app.css")));
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("text/javascript; charset=utf-8", include_str!("../../templates/assets/app.js"))
});
static MARK: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("image/svg+xml", include_str!("../../templates/assets/mark.svg")));

/// The one stylesheet.
pub(super) async fn get_stylesheet(headers: HeaderMap) -> Response {
    STYLESHEET.answer(&headers)
}

/// The one script.
pub(super) async fn get_script(headers: HeaderMap) -> Response {
    SCRIPT.answer(&headers)
}

/// The mark.
pub(super) async fn get_mark(headers: HeaderMap) -> Response {
    MARK.answer(&headers)
}
