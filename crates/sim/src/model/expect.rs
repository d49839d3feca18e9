//! What must become of an order.

use std::{fmt, mem::discriminant};

use wacp::Refusal;

/// Accepted, unless a rule is broken.
#[derive(Debug, Default)]
pub struct Expect {
    /// The rules it breaks: it must be refused, with one of these reasons or
    /// with one from outside.
    pub broken: Vec<Refusal>,
    /// Reasons that rules outside the model may have.
    pub outside: &'static [Refusal],
    /// The order is not modelled at all.
    is_open: bool,
}

impl Expect {
    /// Nothing but the model's rules decides.
    pub fn decided() -> Expect {
        Expect::default()
    }

    /// These reasons may come from outside.
    pub fn unless(outside: &'static [Refusal]) -> Expect {
        Expect {
            outside,
            ..Expect::default()
        }
    }

    /// Whatever the others say.
    pub fn anything() -> Expect {
        Expect {
            is_open: true,
            ..Expect::default()
        }
    }

    /// It must be refused with this reason and no other.
    pub fn refused(why: Refusal) -> Expect {
        Expect {
            broken: vec![why],
            ..Expect::default()
        }
    }

    pub fn rule(&mut self, is_broken: bool, why: Refusal) {
        if is_broken {
            self.broken.push(why);
        }
    }

    pub fn rules(&mut self, broken: impl IntoIterator<Item = Refusal>) {
        self.broken.extend(broken);
    }

    pub fn agrees(&self, found: Option<Refusal>) -> bool {
        match found {
            _ if self.is_open => true,
            None => self.broken.is_empty(),
            Some(found) => {
                let mut reasons = self.broken.iter().chain(self.outside);
                reasons.any(|why| discriminant(why) == discriminant(&found))
            }
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.broken.is_empty() {
            true => write!(f, "acceptance (or one of {:?})", self.outside),
            false => write!(f, "refusal for one of {:?}", self.broken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_agrees_only_with_what_is_expected() {
        let (state, long) = (Refusal::InvalidState, Refusal::TooLong);
        let decided = Expect::decided();
        assert!(decided.agrees(None) && !decided.agrees(Some(state)));
        let unless = Expect::unless(&[Refusal::TooLong]);
        assert!(unless.agrees(None) && unless.agrees(Some(long)));
        assert!(!unless.agrees(Some(state)));
        let refused = Expect::refused(state);
        assert!(refused.agrees(Some(state)));
        assert!(!refused.agrees(None) && !refused.agrees(Some(long)));
    }
}
