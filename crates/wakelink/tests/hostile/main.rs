//! Whoever sits between a client and a device, and does all that they can
//! think of. Two ways: texts of the committed corpus and of honest
//! conversations, changed at random (`changed.rs`), and a relay that drops,
//! repeats, reorders, turns round and rewrites packets of several sessions,
//! beside a model that knows what may be opened (`relay.rs`).
//!
//! `WAKEFUL_HOSTILE_ROUNDS=1000000 cargo test -p wakelink --test hostile` looks
//! longer. A text that brings something down belongs into `corpus/`.
#![allow(clippy::unwrap_used)]
#![allow(
    clippy::disallowed_methods,
    reason = "the corpus is files, and a variable says how many rounds"
)]

mod changed;
mod parties;
mod relay;

/// Numbers that look random and come again with the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.roll() % end as u64) as usize
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.roll() as u8)
    }
}

/// How long to look.
pub fn rounds(usual: usize) -> usize {
    let given = std::env::var("WAKEFUL_HOSTILE_ROUNDS").ok();
    given.map_or(usual, |text| text.parse().unwrap())
}
