//! How many of something, in words that fit the number.

/// "1 entry", "2 entries".
pub fn counted(count: u64, one: &str, many: &str) -> String {
    let what = if count == 1 { one } else { many };
    format!("{count} {what}")
}
