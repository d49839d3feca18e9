//! Two clocks and a pair of scales.

use std::{fs, time::Instant};

/// What a piece of work took, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    pub cpu: f64,
    pub wall: f64,
}

/// Nanoseconds that this thread has computed, if the kernel says.
fn computed() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Does something and says what it took. Where the kernel does not count a
/// thread's own time, the wall's stands for it.
pub fn time<T>(work: impl FnOnce() -> T) -> (T, Took) {
    let (began, before) = (Instant::now(), computed());
    let done = work();
    let (wall, after) = (began.elapsed().as_secs_f64(), computed());
    let cpu = before
        .zip(after)
        .map(|(before, after)| (after - before) as f64 / 1e9);
    let cpu = cpu.unwrap_or(wall);
    (done, Took { cpu, wall })
}

/// Bytes that this process holds.
pub fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
