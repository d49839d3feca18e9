//! A moment as an agent may write it in `since`: ISO 8601, in its extended or its
//! basic form, to the minute, the second or a fraction of one. Without an offset
//! it is UTC; a date alone is its midnight.

use jiff::{
    civil::Time,
    fmt::temporal::Pieces,
    tz::{Offset, TimeZone},
};
use trail::Micros;

/// Reads a moment. [`Micros::parse`] has always read those with an offset, also one
/// whose `+` arrived as a space, and some that are no ISO 8601, such as an offset
/// with seconds or the name of a zone after it: they stay.
pub fn parse(text: &str) -> Option<Micros> {
    Micros::parse(text).or_else(|| without_offset(text))
}

fn without_offset(text: &str) -> Option<Micros> {
    // jiff reads more than ISO 8601 and us: a year with its sign, an hour alone, the
    // name of a zone.
    let date_length = if text.as_bytes().get(4) == Some(&b'-') {
        10
    } else {
        8
    };
    let after_hour = text.as_bytes().get(date_length + 3);
    let hour_alone =
        text.len() > date_length && !after_hour.is_some_and(|b| b":0123456789".contains(b));
    if text.starts_with(['+', '-']) || text.contains('[') || hour_alone {
        return None;
    }
    let pieces = Pieces::parse(text).ok()?;
    let offset = pieces.to_numeric_offset().unwrap_or(Offset::UTC);
    let moment = pieces
        .date()
        .to_datetime(pieces.time().unwrap_or(Time::midnight()));
    let zoned = moment.to_zoned(TimeZone::fixed(offset)).ok()?;
    Micros::parse(&zoned.timestamp().to_string())
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
            "2026-01-31 14:00:00 02:00",
            "2026-01-31 1400 0200",
            "20260131 1400 0200",
            "20260131 140000 02",
            "20260131 1200",
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
    fn what_was_once_taken_with_an_offset_stays() {
        let noon = Micros::parse("2026-01-31T12:00:00Z");
        for text in [
            "2026-01-31T14:00:30+02:00:30",
            "2026-01-31T13:00+01:00[Europe/Berlin]",
            "2026-01-31T12Z",
            "+002026-01-31T12:00Z",
        ] {
            assert_eq!(parse(text), noon, "{text}");
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
            "2026-01-31 12:00[Europe/Berlin]",
            "+002026-01-31T12:00",
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
