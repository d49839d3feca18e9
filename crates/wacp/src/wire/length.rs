//! Lengths of time as the wire spells them: `250ms`, `60s`, `15m`, `2h`, `9d`.

use std::{fmt, str::FromStr};

/// A length of time, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length(pub u64);

const SECOND: u64 = 1_000_000;
const UNITS: [(&str, u64); 6] = [
    ("d", 86_400 * SECOND),
    ("h", 3_600 * SECOND),
    ("m", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000),
    ("us", 1),
];

impl FromStr for Length {
    type Err = ();

    /// Reads `250ms`, `60s`, `15m`, `2h`, `9d`.
    fn from_str(text: &str) -> Result<Length, ()> {
        let unit = text.find(|c: char| !c.is_ascii_digit()).ok_or(())?;
        let (digits, unit) = text.split_at(unit);
        let (_, us) = UNITS.iter().find(|(known, _)| *known == unit).ok_or(())?;
        let number: u64 = digits.parse().map_err(|_| ())?;
        number.checked_mul(*us).map(Length).ok_or(())
    }
}

/// In the largest unit that holds it whole.
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole =
            |(_, us): &&(&str, u64)| self.0.is_multiple_of(*us) && (self.0 > 0 || *us == SECOND);
        let (unit, us) = UNITS.iter().find(whole).unwrap_or(&UNITS[UNITS.len() - 1]);
        write!(f, "{}{unit}", self.0 / us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_has_a_unit() {
        let read = |text: &str| text.parse::<Length>().ok().map(|Length(us)| us);
        assert_eq!(read("15m"), Some(900_000_000));
        assert_eq!(read("2ms"), Some(2_000));
        for text in ["60", "s", "", "1.5h", "-1s", "18446744073709551615d", "1 s"] {
            assert_eq!(read(text), None, "{text}");
        }
        for text in ["9d", "36h", "90s", "250ms", "1us", "0s"] {
            let length: Length = text.parse().unwrap();
            assert_eq!(length.to_string(), text);
        }
    }
}
