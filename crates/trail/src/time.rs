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
        let text = text.as_bytes();
        let shape = b"0000-00-00T00:00:00.000000Z";
        let fits = |(byte, model): (&u8, &u8)| match model {
            b'0' => byte.is_ascii_digit(),
            sign => byte == sign,
        };
        if text.len() != shape.len() || !text.iter().zip(shape).all(fits) {
            return None;
        }
        let number = |from: usize, to: usize| {
            let digits = text[from..to].iter();
            digits.fold(0, |n, digit| n * 10 + i64::from(digit - b'0'))
        };
        let date = (number(0, 4), number(5, 7), number(8, 10));
        let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
        let days = days_from_civil(date);
        // A day that the month does not have would come back as another one.
        if hour > 23 || minute > 59 || second > 59 || civil_from_days(days) != date {
            return None;
        }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
        Some(Micros(seconds * Self::SECOND + number(20, 26)))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = self.0.rem_euclid(Self::SECOND);
        let seconds = self.0.div_euclid(Self::SECOND);
        let (days, second_of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (
            second_of_day / 3600,
            second_of_day / 60 % 60,
            second_of_day % 60,
        );
        if !(0..10_000).contains(&year) {
            return write!(
                f,
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micro:06}Z"
            );
        }
        // Written into place: several moments are in every answer and entry.
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        digits(&mut text[0..4], year);
        digits(&mut text[5..7], month);
        digits(&mut text[8..10], day);
        digits(&mut text[11..13], hour);
        digits(&mut text[14..16], minute);
        digits(&mut text[17..19], second);
        digits(&mut text[20..26], micro);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

fn digits(place: &mut [u8], mut number: i64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// The proleptic Gregorian date of a day number, counted in 400-year eras that
/// begin in March, so that the leap day is the last of its year.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// The inverse of `civil_from_days`.
fn days_from_civil((year, month, day): (i64, i64, i64)) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
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
