//! Which numbers have been seen: the highest, and the 64 up to it.

/// Numbers behind the highest that are still told apart.
pub const WIDTH: u64 = 64;

#[derive(Clone, Debug, Default)]
pub struct Window {
    /// One more than the highest number seen; 0 when none was.
    end: u64,
    /// Bit `n` stands for the number `end - 1 - n`.
    seen: u64,
}

impl Window {
    /// Whether a number is new, as far as that can be known. Asking changes
    /// nothing: a number counts as seen only once its packet was opened.
    pub fn is_new(&self, seq: u64) -> bool {
        match self.end.checked_sub(seq + 1) {
            None => true,
            Some(behind) => behind < WIDTH && self.seen & (1 << behind) == 0,
        }
    }

    pub fn note(&mut self, seq: u64) {
        let end = seq + 1;
        if end > self.end {
            let ahead = end - self.end;
            self.seen = if ahead < WIDTH { self.seen << ahead } else { 0 };
            self.end = end;
        }
        let behind = self.end - end;
        if behind < WIDTH {
            self.seen |= 1 << behind;
        }
    }
}
