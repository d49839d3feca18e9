//! Every maximum of this door, in one place.

/// Lengths count Unicode scalar values, not bytes: people count characters.
pub const AGENT_ID: usize = 128;
pub const PROVIDER: usize = 256;
pub const HEADLINE: usize = 120;
pub const SUMMARY: usize = 280;

/// Bytes of `details` as received, unless the operator sets another limit.
pub const DETAILS_BYTES: usize = 1 << 20;
/// The most an operator can set: one entry must stay well below what an export
/// and a receipt can carry in one line (64 MiB, and base64 adds a third).
pub const DETAILS_BYTES_MAX: usize = 16 << 20;
/// What the rest of a delivery may take on the wire, escapes included.
pub const ENVELOPE_BYTES: usize = 32 << 10;

/// Longer URLs are refused by common servers and proxies anyway.
pub const WEBHOOK_URL_BYTES: usize = 2048;

pub const TIMEOUT_SECONDS: std::ops::RangeInclusive<i64> = 60..=604_800;

pub const SWEEP_DEFAULT: usize = 50;
pub const SWEEP_MAX: usize = 200;

/// Keeps a long poll shorter than common proxy time-outs.
pub const WAIT_SECONDS: u64 = 60;

/// An `Idempotency-Key` is a UUID or a short name; it is remembered for a day.
pub const IDEMPOTENCY_KEY: usize = 255;
pub const IDEMPOTENCY_SECONDS: i64 = 24 * 3600;

/// Agents one orchestrator key may sweep for; bounds the ranges one sweep merges.
pub const ORCHESTRATED_AGENTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// A number with a space before each group of three digits.
    fn grouped(n: i64) -> String {
        match n / 1000 {
            0 => n.to_string(),
            more => format!("{} {:03}", grouped(more), n % 1000),
        }
    }

    #[test]
    fn the_documents_say_these_limits() {
        let document = include_str!("../../../docs/operating.md");
        for row in [
            format!(
                "| `agent_id`, `provider`, `headline`, `summary` | {AGENT_ID}, {PROVIDER}, {HEADLINE}, {SUMMARY} characters |"
            ),
            format!(
                "| `details` | {} MiB (`--max-details`, up to {} MiB); the rest of a delivery {} KiB |",
                DETAILS_BYTES >> 20,
                DETAILS_BYTES_MAX >> 20,
                ENVELOPE_BYTES >> 10
            ),
            format!("| `callback_webhook` | {WEBHOOK_URL_BYTES} bytes |"),
            format!(
                "| `timeout_seconds` | {} to {} |",
                TIMEOUT_SECONDS.start(),
                grouped(*TIMEOUT_SECONDS.end())
            ),
            format!(
                "| `Idempotency-Key` | {IDEMPOTENCY_KEY} characters, kept for {} h |",
                IDEMPOTENCY_SECONDS / 3600
            ),
            format!("| long poll | {WAIT_SECONDS} s |"),
            format!("| pages | {SWEEP_MAX} items |"),
            format!("| agents of an orchestrator key | {ORCHESTRATED_AGENTS} |"),
        ] {
            assert!(document.contains(&row), "operating.md does not say: {row}");
        }
    }
}
