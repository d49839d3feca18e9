//! Chance that is the same everywhere: a seed decides every throw.

/// A small generator of numbers (SplitMix64: a counter, well stirred).
#[derive(Clone, Debug)]
pub struct Dice {
    counter: u64,
}

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice { counter: seed }
    }

    /// Any number.
    pub fn throw(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.counter;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.throw() % sides
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.roll(list.len() as u64) as usize]
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }

    /// So often in a thousand.
    pub fn rarely(&mut self, permille: u64) -> bool {
        self.roll(1000) < permille
    }

    /// Other dice, whose throws tell nothing of these.
    pub fn fork(&mut self) -> Dice {
        Dice::new(self.throw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_throws_always() {
        let throws = |seed| {
            let mut dice = Dice::new(seed);
            [(); 4].map(|()| dice.roll(1000))
        };
        assert_eq!(throws(7), throws(7));
        assert_ne!(throws(7), throws(8));
        // The first of them is SplitMix64's published 0x910a2dec89025cc1.
        assert_eq!(throws(1), [465, 519, 590, 235]);
    }
}
