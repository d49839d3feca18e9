//! Which callback is next: in turns by host, so that a receiver that is slow
//! keeps nobody else's callbacks waiting.

use std::collections::{HashMap, HashSet, VecDeque};

use store::CallbackRow;

/// Callbacks under way at once, and how many of them to one host.
const AT_ONCE: usize = 32;
const PER_HOST: usize = 4;
/// Due callbacks known at once, waiting or under way.
const KNOWN: usize = 1024;

/// Due callbacks, waiting and under way.
#[derive(Debug, Default)]
pub struct Queue {
    hosts: HashMap<String, Host>,
    /// Hosts for which something waits; the first is next.
    turns: VecDeque<String>,
    known: HashSet<u64>,
    under_way: usize,
}

#[derive(Debug, Default)]
struct Host {
    under_way: usize,
    waiting: VecDeque<CallbackRow>,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.known.len()
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Whether nothing more can be started, or kept, at present.
    pub fn is_full(&self) -> bool {
        self.under_way >= AT_ONCE || self.known.len() >= KNOWN
    }

    pub fn knows(&self, row: &CallbackRow) -> bool {
        self.known.contains(&row.no)
    }

    pub fn add(&mut self, host: String, row: CallbackRow) {
        if !self.known.insert(row.no) {
            return;
        }
        let waiting = &mut self.hosts.entry(host.clone()).or_default().waiting;
        if waiting.is_empty() {
            self.turns.push_back(host);
        }
        waiting.push_back(row);
    }

    /// The next one to start, and its host, which must be told to `done`.
    pub fn next(&mut self) -> Option<(String, CallbackRow)> {
        if self.under_way >= AT_ONCE {
            return None;
        }
        for _ in 0..self.turns.len() {
            let name = self.turns.pop_front()?;
            let host = self.hosts.get_mut(&name)?;
            let row = match host.under_way < PER_HOST {
                true => host.waiting.pop_front(),
                false => None,
            };
            if !host.waiting.is_empty() {
                self.turns.push_back(name.clone());
            }
            if let Some(row) = row {
                host.under_way += 1;
                self.under_way += 1;
                return Some((name, row));
            }
        }
        None
    }

    pub fn done(&mut self, host: &str, no: u64) {
        self.known.remove(&no);
        self.under_way = self.under_way.saturating_sub(1);
        if let Some(known) = self.hosts.get_mut(host) {
            known.under_way = known.under_way.saturating_sub(1);
            if known.under_way == 0 && known.waiting.is_empty() {
                self.hosts.remove(host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trail::Micros;
    use uuid::Uuid;

    fn row(no: u64) -> CallbackRow {
        CallbackRow {
            no,
            delivery_id: Uuid::nil(),
            webhook_id: String::new(),
            state: 0,
            attempts: 0,
            next_at: Some(Micros(0)),
            last_error: None,
        }
    }

    #[test]
    fn hosts_take_turns_and_none_has_more_than_its_part() {
        let mut queue = Queue::default();
        (0..100).for_each(|no| queue.add("slow".into(), row(no)));
        (100..103).for_each(|no| queue.add("quick".into(), row(no)));
        let mut started = Vec::new();
        while let Some((host, row)) = queue.next() {
            started.push((host, row.no));
        }
        let of = |name: &str| started.iter().filter(|(host, _)| host == name).count();
        assert_eq!((of("slow"), of("quick")), (PER_HOST, 3));
        assert_eq!(started[1], ("quick".into(), 100), "they take turns");
        // One that ends makes room for the next of its host.
        queue.done("slow", 0);
        assert_eq!(queue.next(), Some(("slow".into(), row(4))));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn no_more_go_on_at_once_than_may_and_what_is_known_is_not_added_again() {
        let mut queue = Queue::default();
        for no in 0..100 {
            queue.add(format!("host-{}", no % 50), row(no));
            queue.add(format!("host-{}", no % 50), row(no));
        }
        assert_eq!(queue.len(), 100);
        assert_eq!(std::iter::from_fn(|| queue.next()).count(), AT_ONCE);
        assert!(queue.is_full());
    }

    #[test]
    fn nothing_is_left_of_what_is_done() {
        let mut queue = Queue::default();
        (0..100).for_each(|no| queue.add(format!("host-{}", no % 3), row(no)));
        while let Some((host, row)) = queue.next() {
            queue.done(&host, row.no);
        }
        assert!(queue.is_empty() && queue.hosts.is_empty() && queue.turns.is_empty());
    }
}
