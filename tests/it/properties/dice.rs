//! Choices that are the same on every machine: a seed and the number of the case say them all (SplitMix64).

pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64, case: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ case);
        // Neighbouring cases start far apart.
        Self(dice.roll())
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % (n.max(1) as u64)).expect("it is below a usize")
    }

    /// A number of this range, both ends included.
    pub(super) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub(super) fn chance(&mut self, of_a_hundred: usize) -> bool {
        self.below(100) < of_a_hundred
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub(super) fn text(&mut self, from: &[&str]) -> String {
        (*self.pick(from)).to_owned()
    }
}
