//! The beginning of a delivery's id, as a person types it.

use std::ops::RangeInclusive;

use uuid::Uuid;

/// A whole id in the one form that we write.
const WHOLE: usize = 36;
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The first characters of an id, at least [`IdPrefix::SHORTEST`] of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdPrefix {
    first: Uuid,
    last: Uuid,
}

/// Why a text is not the beginning of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixFault {
    /// No id begins so.
    NoId,
    /// Ids begin so, too many of them.
    TooShort,
}

impl IdPrefix {
    /// With four characters, one id in 65,536 begins like another.
    pub const SHORTEST: usize = 4;

    /// Reads hexadecimal digits with hyphens where an id has them.
    pub fn parse(text: &str) -> Result<IdPrefix, PrefixFault> {
        let fits = |(at, c): (usize, char)| match HYPHENS.contains(&at) {
            true => c == '-',
            false => c.is_ascii_hexdigit(),
        };
        if text.is_empty() || text.len() > WHOLE || !text.chars().enumerate().all(fits) {
            return Err(PrefixFault::NoId);
        }
        if text.len() < IdPrefix::SHORTEST {
            return Err(PrefixFault::TooShort);
        }
        let filled = |with: char| {
            let rest = (text.len()..WHOLE).map(|at| match HYPHENS.contains(&at) {
                true => '-',
                false => with,
            });
            let whole: String = text.chars().chain(rest).collect();
            Uuid::try_parse(&whole).map_err(|_| PrefixFault::NoId)
        };
        Ok(IdPrefix {
            first: filled('0')?,
            last: filled('f')?,
        })
    }

    /// Whether nothing is missing of the id.
    pub fn is_whole(self) -> bool {
        self.first == self.last
    }

    /// All ids that begin so.
    pub fn range(self) -> RangeInclusive<Uuid> {
        self.first..=self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "550e8400-e29b-41d4-a716-446655440000";

    #[test]
    fn every_beginning_of_an_id_holds_it_and_no_other_text_is_one() {
        let id: Uuid = ID.parse().unwrap();
        for length in IdPrefix::SHORTEST..=ID.len() {
            for start in [ID[..length].to_owned(), ID[..length].to_uppercase()] {
                let prefix = IdPrefix::parse(&start).unwrap();
                assert!(prefix.range().contains(&id), "{start}");
                assert_eq!(prefix.is_whole(), length == ID.len(), "{start}");
            }
        }
        let other: Uuid = "550e8401-0000-4000-8000-000000000000".parse().unwrap();
        assert!(
            !IdPrefix::parse("550e8400")
                .unwrap()
                .range()
                .contains(&other)
        );
        assert!(IdPrefix::parse("550e840").unwrap().range().contains(&other));
        for (text, fault) in [
            ("", PrefixFault::NoId),
            ("5", PrefixFault::TooShort),
            ("550", PrefixFault::TooShort),
            ("55g", PrefixFault::NoId),
            ("550e84001", PrefixFault::NoId),
            ("550e8400e29b", PrefixFault::NoId),
            ("-50e", PrefixFault::NoId),
            ("550e8400-e29b-41d4-a716-4466554400000", PrefixFault::NoId),
            ("{50e8400", PrefixFault::NoId),
            ("５50e", PrefixFault::NoId),
        ] {
            assert_eq!(IdPrefix::parse(text), Err(fault), "{text}");
        }
    }
}
