//! The waves of an apply of several stacks: how many stacks each wave ends with, as a number or as a share of all.

use std::ops::Range;

/// Where each wave but the last ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waves(Vec<WaveEnd>);

/// Where a wave ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaveEnd {
    /// After so many stacks.
    Stacks(usize),
    /// After this share of all.
    Percent(usize),
}

impl std::str::FromStr for Waves {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const HELP: &str = "give the stacks that each wave ends with, such as 1,10%,50%; the rest is the last wave";
        let end = |text: &str| match text.strip_suffix('%') {
            Some(share) => share.parse().ok().filter(|share| (1..=100).contains(share)).map(WaveEnd::Percent),
            None => text.parse().ok().filter(|stacks| *stacks > 0).map(WaveEnd::Stacks),
        };
        text.split(',').map(end).collect::<Option<Vec<_>>>().map(Self).ok_or(HELP)
    }
}

impl Waves {
    /// The waves of so many stacks, in order: each stack is in one. A wave without a stack of its own is left out.
    #[must_use]
    pub fn of(&self, stacks: usize) -> Vec<Range<usize>> {
        let ends = self.0.iter().map(|end| match end {
            WaveEnd::Stacks(number) => *number,
            WaveEnd::Percent(share) => (stacks * share).div_ceil(100),
        });
        let mut begin = 0;
        let mut waves = Vec::new();
        for end in ends.chain([stacks]).map(|end| end.min(stacks)) {
            if end > begin {
                waves.push(begin..end);
                begin = end;
            }
        }
        waves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stack_is_in_one_wave_in_order() {
        let waves = |text: &str, stacks| text.parse::<Waves>().expect("waves").of(stacks);
        assert_eq!(waves("1,10%,100%", 30), [0..1, 1..3, 3..30]);
        assert_eq!(waves("1,10%", 30), [0..1, 1..3, 3..30]);
        assert_eq!(waves("1,10%", 5), [0..1, 1..5]);
        assert_eq!(waves("3,2,50%", 5), [0..3, 3..5]);
        assert!(waves("7", 0).is_empty());
        for wrong in ["", "0", "0%", "101%", "1,", "a", "-1"] {
            assert!(wrong.parse::<Waves>().is_err(), "{wrong}");
        }
    }
}
