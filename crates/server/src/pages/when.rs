//! Times as people say them.

use maud::{Markup, html};
use trail::Micros;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// "3 min ago", with the whole of it for whoever wants to know.
pub fn ago(at: Micros, now: Micros) -> Markup {
    let seconds = (now.0 - at.0) / Micros::SECOND;
    html! { time datetime=(at) title=(at) { (span(seconds.max(0))) " ago" } }
}

/// "in 12 min", or that it is over.
pub fn until(at: Micros, now: Micros) -> Markup {
    let seconds = (at.0 - now.0) / Micros::SECOND;
    match seconds > 0 {
        true => html! { time datetime=(at) title=(at) { "in " (span(seconds)) } },
        false => html! { time datetime=(at) title=(at) { "now" } },
    }
}

/// "2026-11-17 14:03:07 UTC"; the script shows it in the reader's own zone.
pub fn at(at: Micros) -> Markup {
    let text = at.to_string();
    let (day, time) = text.split_once('T').unwrap_or((&text, ""));
    let time = time.split(['.', 'Z']).next().unwrap_or_default();
    html! { time .clock datetime=(at) title=(at) { (day) " " (time) " UTC" } }
}

/// The largest unit is enough.
pub fn span(seconds: i64) -> String {
    match seconds {
        ..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => format!("{} h", seconds / HOUR),
        _ => format!("{} d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_said_in_its_largest_unit() {
        for (seconds, said) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3599, "59 min"),
            (3600, "1 h"),
            (86_399, "23 h"),
            (86_400, "1 d"),
            (864_000, "10 d"),
        ] {
            assert_eq!(span(seconds), said);
        }
    }
}
