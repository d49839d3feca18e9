//! Moments: whole microseconds since 1970, UTC.
//!
//! There is no clock here; whoever calls brings the time. On the wire a moment
//! is RFC 3339 with exactly six digits and `Z`, so that text sorts as time.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Micros(pub i64);

impl Micros {
    pub const SECOND: i64 = 1_000_000;

    pub fn plus_seconds(self, seconds: i64) -> Micros {
        Micros(self.0.saturating_add(seconds.saturating_mul(Self::SECOND)))
    }

    /// Reads an ISO 8601 moment with an offset (`Z` or `±hh:mm`), any number of
    /// fraction digits. A space where a query string ate the `+` is forgiven.
    /// A moment finer than a microsecond is rounded down.
    pub fn parse(text: &str) -> Option<Micros> {
        let text = match text.rfind(' ') {
            Some(at) if at > 10 => Cow::Owned(format!("{}+{}", &text[..at], &text[at + 1..])),
            _ => Cow::Borrowed(text),
        };
        let stamp: jiff::Timestamp = text.parse().ok()?;
        let micros = stamp.as_nanosecond().div_euclid(1000);
        Some(Micros(i64::try_from(micros).ok()?))
    }

    /// Reads only what `Display` writes, for years 0000 to 9999.
    pub fn read(text: &str) -> Option<Micros> {
        let shape = b"0000-00-00T00:00:00.000000Z";
        let fits = |(byte, model): (u8, &u8)| match model {
            b'0' => byte.is_ascii_digit(),
            sign => byte == *sign,
        };
        let is_ours = text.len() == shape.len() && text.bytes().zip(shape).all(fits);
        // A leap second would come back as the second before it.
        let stamp = Some(text).filter(|text| is_ours && text.as_bytes()[17] < b'6');
        let stamp: jiff::Timestamp = stamp?.parse().ok()?;
        Some(Micros(stamp.as_microsecond()))
    }
}

impl fmt::Display for Micros {
    /// What no calendar of four digits can say is written as its first or last
    /// moment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outside = match self.0 < 0 {
            true => jiff::Timestamp::MIN,
            false => jiff::Timestamp::MAX,
        };
        let stamp = jiff::Timestamp::from_microsecond(self.0).unwrap_or(outside);
        match spelled(stamp) {
            Some(text) => f.write_str(std::str::from_utf8(&text).unwrap_or_default()),
            None => write!(f, "{stamp:.6}"),
        }
    }
}

/// Our own spelling, for years 0000 to 9999. A page of a sweep has 600 moments:
/// jiff's `Display` takes 100 ns for each and made sweeps 8 % slower, this takes 50.
fn spelled(stamp: jiff::Timestamp) -> Option<[u8; 27]> {
    let moment = jiff::tz::Offset::UTC.to_datetime(stamp);
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    let mut put = |place: std::ops::Range<usize>, number: u32| {
        let mut left = number;
        for digit in text[place].iter_mut().rev() {
            *digit = b'0' + (left % 10) as u8;
            left /= 10;
        }
    };
    put(0..4, moment.year().try_into().ok()?);
    put(5..7, moment.month().try_into().ok()?);
    put(8..10, moment.day().try_into().ok()?);
    put(11..13, moment.hour().try_into().ok()?);
    put(14..16, moment.minute().try_into().ok()?);
    put(17..19, moment.second().try_into().ok()?);
    put(20..26, (moment.subsec_nanosecond() / 1000).try_into().ok()?);
    Some(text)
}

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Micros {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Micros, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        // Nearly always our own spelling; all others are left to jiff.
        let moment = Micros::read(&text).or_else(|| Micros::parse(&text));
        moment.ok_or_else(|| D::Error::custom("expected an RFC 3339 moment"))
    }
}

#[cfg(test)]
mod tests {
    use super::Micros;
    use proptest::prelude::*;

    #[test]
    fn a_moment_is_written_with_six_digits_and_z() {
        assert_eq!(Micros(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Micros(-1).to_string(), "1969-12-31T23:59:59.999999Z");
        assert_eq!(
            Micros(1_772_872_260_000_001).to_string(),
            "2026-03-07T08:31:00.000001Z"
        );
    }

    #[test]
    fn offsets_fractions_and_an_eaten_plus_are_read() {
        let expected = Some(Micros(1_772_872_260_000_000));
        for text in [
            "2026-03-07T08:31:00Z",
            "2026-03-07T09:31:00.000+01:00",
            "2026-03-07T09:31:00 01:00",
            "2026-03-07 08:31:00Z",
        ] {
            assert_eq!(Micros::parse(text), expected, "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-03-07",
            "2026-03-07T08:31:00",
            "1772872260",
        ] {
            assert_eq!(Micros::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(micros in -60_000_000_000_000_000i64..250_000_000_000_000_000) {
            prop_assert_eq!(Micros::parse(&Micros(micros).to_string()), Some(Micros(micros)));
            prop_assert_eq!(Micros::read(&Micros(micros).to_string()), Some(Micros(micros)));
        }

        #[test]
        fn strict_reading_takes_only_the_one_spelling(text in "(19|20)[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{6}Z") {
            let expected = Micros::parse(&text).filter(|read| read.to_string() == text);
            prop_assert_eq!(Micros::read(&text), expected);
        }
    }
}
