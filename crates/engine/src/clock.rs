//! The one place where time enters.

use std::{fmt, sync::Arc, time::SystemTime};

use trail::Micros;

/// Tells the time; a test may bring its own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Micros + Send + Sync>);

impl Clock {
    pub fn system() -> Clock {
        Clock::new(|| {
            let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let micros = since_1970.map(|elapsed| elapsed.as_micros()).unwrap_or(0);
            Micros(i64::try_from(micros).unwrap_or(i64::MAX))
        })
    }

    pub fn new(now: impl Fn() -> Micros + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(now))
    }

    pub fn now(&self) -> Micros {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
