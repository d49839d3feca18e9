//! When passwords were last replaced, as far as anybody may still be comparing an
//! old one: since this process started.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use trail::Micros;

use crate::decide;

#[derive(Debug, Default)]
pub(crate) struct Replaced(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// By the name of the secret; there are no more than people.
    by_name: HashMap<String, Micros>,
    /// Of whichever: another process may have replaced it.
    any: Option<Micros>,
}

impl Replaced {
    /// Notes those of these secrets that are passwords.
    pub fn note(&self, names: &[String], now: Micros) {
        for name in names.iter().filter(|name| decide::is_password(name)) {
            let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            times.by_name.insert(name.clone(), now);
        }
    }

    pub fn note_all(&self, now: Micros) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.any = Some(now);
    }

    /// Whether what was read of it at this moment may be out of date.
    pub fn is_since(&self, name: &str, read_at: Micros) -> bool {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced = times.by_name.get(name).copied();
        replaced.max(times.any).is_some_and(|at| read_at <= at)
    }
}
