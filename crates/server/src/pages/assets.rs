//! The style, the script and the icon, compiled in. Their names carry a hash of what they
//! hold, so that a browser may keep them for good.

use std::sync::LazyLock;

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use trail::Hash;

use crate::path::Path;

const STYLE: &str = include_str!("assets/wakeful.css");
const SCRIPT: &str = include_str!("assets/wakeful.js");
const ICON: &str = include_str!("assets/wakeful.svg");

/// The path under which the style is served.
pub static STYLE_PATH: LazyLock<String> = LazyLock::new(|| path(STYLE, "css"));
pub static SCRIPT_PATH: LazyLock<String> = LazyLock::new(|| path(SCRIPT, "js"));
pub static ICON_PATH: LazyLock<String> = LazyLock::new(|| path(ICON, "svg"));

fn path(content: &str, kind: &str) -> String {
    let hash = Hash::of("wakeful/asset/1", &[content.as_bytes()]).to_hex();
    format!("/assets/{}.{kind}", &hash[..16])
}

pub async fn serve(Path(name): Path) -> Response {
    let is = |path: &str| path.strip_prefix("/assets/") == Some(&name);
    let (kind, content) = if is(&STYLE_PATH) {
        ("text/css; charset=utf-8", STYLE)
    } else if is(&SCRIPT_PATH) {
        ("text/javascript; charset=utf-8", SCRIPT)
    } else if is(&ICON_PATH) {
        ("image/svg+xml", ICON)
    } else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, content).into_response()
}
