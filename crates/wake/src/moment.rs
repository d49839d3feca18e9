//! A moment as an agent may write it in `since`: ISO 8601, in its extended or its
//! basic form, to the minute, the second or a fraction of one. Without an offset
//! it is UTC; a date alone is its midnight.

use trail::Micros;

/// Reads a moment. What RFC 3339 allows is read as it always was.
pub fn parse(text: &str) -> Option<Micros> {
    Micros::parse(text).or_else(|| Micros::parse(&in_rfc3339(text)?))
}

fn in_rfc3339(text: &str) -> Option<String> {
    let (date, rest) = date(text)?;
    let Some(time) = rest.strip_prefix(['T', 't', ' ']) else {
        return rest.is_empty().then(|| format!("{date}T00:00:00Z"));
    };
    let (time, rest) = self::time(time)?;
    Some(format!("{date}T{time}{}", offset(rest)?))
}

/// `2026-01-31` or `20260131`, and what follows it.
fn date(text: &str) -> Option<(String, &str)> {
    let (year, rest) = digits(text, 4)?;
    let (month, day, rest) = match rest.strip_prefix('-') {
        Some(rest) => {
            let (month, rest) = digits(rest, 2)?;
            let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
            (month, day, rest)
        }
        None => {
            let (month, rest) = digits(rest, 2)?;
            let (day, rest) = digits(rest, 2)?;
            (month, day, rest)
        }
    };
    Some((format!("{year}-{month}-{day}"), rest))
}

/// `12:30`, `12:30:05`, `12:30:05,25`, or the same without colons, and what
/// follows it.
fn time(text: &str) -> Option<(String, &str)> {
    let (hour, rest) = digits(text, 2)?;
    let extended = rest.strip_prefix(':');
    let (minute, rest) = digits(extended.unwrap_or(rest), 2)?;
    let seconds = match extended {
        Some(_) => rest.strip_prefix(':'),
        None => Some(rest).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())),
    };
    let Some(seconds) = seconds else {
        return Some((format!("{hour}:{minute}:00"), rest));
    };
    let (second, rest) = digits(seconds, 2)?;
    let Some(fraction) = rest.strip_prefix(['.', ',']) else {
        return Some((format!("{hour}:{minute}:{second}"), rest));
    };
    let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (fraction, rest) = digits(fraction, count.max(1))?;
    Some((format!("{hour}:{minute}:{second}.{fraction}"), rest))
}

/// Nothing, `Z`, `±hh`, `±hhmm` or `±hh:mm`. In a query string a `+` arrives as a
/// space.
fn offset(text: &str) -> Option<String> {
    let sign = match text.chars().next() {
        None => return Some("Z".to_owned()),
        Some('Z' | 'z') => return (text.len() == 1).then(|| "Z".to_owned()),
        Some('+' | ' ') => '+',
        Some('-') => '-',
        Some(_) => return None,
    };
    let (hours, rest) = digits(&text[1..], 2)?;
    let minutes = match rest {
        "" => "00",
        _ => {
            let (minutes, rest) = digits(rest.strip_prefix(':').unwrap_or(rest), 2)?;
            rest.is_empty().then_some(minutes)?
        }
    };
    Some(format!("{sign}{hours}:{minutes}"))
}

/// So many digits, and what follows them.
fn digits(text: &str, count: usize) -> Option<(&str, &str)> {
    let (digits, rest) = text.split_at_checked(count)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then_some((digits, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_moment_can_be_written_in_many_ways() {
        let noon = Micros::parse("2026-01-31T12:00:00Z");
        for text in [
            "2026-01-31T12:00:00Z",
            "2026-01-31t12:00:00z",
            "2026-01-31 12:00:00",
            "2026-01-31T12:00",
            "2026-01-31T12:00Z",
            "2026-01-31T12:00:00.0",
            "2026-01-31T12:00:00,000Z",
            "2026-01-31T14:00:00+02:00",
            "2026-01-31T14:00:00+0200",
            "2026-01-31T14:00:00+02",
            "2026-01-31T14:00:00 02:00",
            "2026-01-31T14:00:00 0200",
            "2026-01-31T14:00 02",
            "2026-01-31 14:00:00+02:00",
            "2026-01-31T06:30:00-05:30",
            "20260131T120000Z",
            "20260131T1200",
            "20260131T140000+0200",
            "20260131t140000,5+0200",
        ] {
            let expected = match text.contains(",5") {
                true => noon.map(|noon| Micros(noon.0 + 500_000)),
                false => noon,
            };
            assert_eq!(parse(text), expected, "{text}");
        }
        let midnight = Micros::parse("2026-01-31T00:00:00Z");
        for text in ["2026-01-31", "20260131"] {
            assert_eq!(parse(text), midnight, "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "monday",
            "2026",
            "2026-01",
            "2026-02-30",
            "2026-1-31",
            "2026-01-31T",
            "2026-01-31T12",
            "2026-01-31T25:00",
            "2026-01-31T12:00:00,",
            "2026-01-31T12:00:00+2",
            "2026-01-31T12:00:00+02:00:00x",
            "2026-01-31T12:00:00ZZ",
            "2026-01-31x12:00",
            "20260131T12000",
            "２０２６-01-31",
            "1769860800",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
