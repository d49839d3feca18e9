//! Time only goes on, whatever the clock on the wall does.

use trail::Micros;
use wacp::Entry;

use super::{Checker, Verdict, ensure};

#[derive(Debug, Default)]
pub struct Time {
    last: Option<Micros>,
}

impl Checker for Time {
    fn claim(&self) -> &'static str {
        "every entry is later than the one before"
    }

    fn entry(&mut self, entry: &Entry) -> Verdict {
        let later = self.last.is_none_or(|last| last < entry.time);
        let last = self.last.replace(entry.time);
        ensure(later, || format!("{:?} follows {last:?}", entry.time))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::history, *};
    use wacp::Event;

    #[test]
    fn an_entry_that_is_repeated_is_not_later() {
        history::twice::<Time>(|event| matches!(event, Event::SignalEmitted(_)));
    }
}
