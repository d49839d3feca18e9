//! Salts and ids.

use std::{fmt, io};

use trail::Micros;

use crate::log::Unsealed;

/// Where random bytes come from: the operating system, or a simulator's seed.
pub struct Entropy(Fill);

type Fill = Box<dyn Fn(&mut [u8]) -> io::Result<()> + Send + Sync>;

impl Entropy {
    pub fn new(fill: impl Fn(&mut [u8]) -> io::Result<()> + Send + Sync + 'static) -> Entropy {
        Entropy(Box::new(fill))
    }

    pub fn system() -> Entropy {
        Entropy::new(|bytes| {
            getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()))
        })
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

/// Random bytes, many at a time. What was taken is not
/// kept here: a salt must be gone when its content is erased.
pub struct Random {
    bytes: [u8; 1024],
    used: usize,
}

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}

impl Default for Random {
    fn default() -> Random {
        Random {
            bytes: [0; 1024],
            used: 1024,
        }
    }
}

impl Random {
    pub fn bytes<const N: usize>(&mut self, from: &Entropy) -> Result<[u8; N], Unsealed> {
        if self.used + N > self.bytes.len() {
            from.0(&mut self.bytes).map_err(|_| Unsealed)?;
            self.used = 0;
        }
        let next = &mut self.bytes[self.used..self.used + N];
        let mut taken = [0; N];
        taken.copy_from_slice(next);
        next.fill(0);
        self.used += N;
        Ok(taken)
    }

    /// A UUID v7: sorts by time, and is unique without asking anyone.
    pub fn entry_id(&mut self, time: Micros, from: &Entropy) -> Result<String, Unsealed> {
        let random: [u8; 10] = self.bytes(from)?;
        let millis = u64::try_from(time.0 / 1000).unwrap_or(0);
        Ok(uuid::Builder::from_unix_timestamp_millis(millis, &random)
            .into_uuid()
            .to_string())
    }
}
