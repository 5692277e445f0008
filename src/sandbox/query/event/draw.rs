//! Chance without state: what is drawn for an event follows from the seed, the event's index and what
//! it is drawn for, so that any field of any event can be made alone and is always the same.

/// The draws of one event.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    state: u64,
}

impl Draw {
    /// The draws of event `index` under `seed`.
    #[must_use]
    pub fn new(seed: u64, index: u64) -> Self {
        Self { state: scatter(seed).wrapping_add(scatter(index ^ 0x5851_f42d_4c95_7f2d)) }
    }

    /// 64 even bits for `purpose`.
    #[must_use]
    pub fn bits(self, purpose: u64) -> u64 {
        scatter(self.state ^ purpose.wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// An even number below `bound`; 0 where the bound is 0.
    #[must_use]
    pub fn below(self, purpose: u64, bound: u64) -> u64 {
        ((u128::from(self.bits(purpose)) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 to just below 1.
    #[must_use]
    pub fn share(self, purpose: u64) -> f64 {
        (self.bits(purpose) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A well-mixing bijection of 64 bits.
fn scatter(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A weighted choice among positions, drawn in constant time.
#[derive(Debug)]
pub struct Choice {
    slots: Vec<u16>,
}

impl Choice {
    /// A choice among as many positions as there are weights, of which at least one is above 0.
    #[must_use]
    pub fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let slots = weights
            .into_iter()
            .zip(0_u16..)
            .flat_map(|(weight, position)| std::iter::repeat_n(position, weight as usize))
            .collect();
        Self { slots }
    }

    /// The position drawn for `purpose`; 0 where there is none to choose from.
    #[must_use]
    pub fn pick(&self, draw: Draw, purpose: u64) -> usize {
        let slot = draw.below(purpose, self.slots.len() as u64) as usize;
        self.slots.get(slot).copied().map_or(0, usize::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_follows_its_weights() {
        let choice = Choice::new([1, 0, 3]);
        let mut counts = [0; 3];
        for index in 0..40_000 {
            counts[choice.pick(Draw::new(1, index), 9)] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((9_000..11_000).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn draws_depend_on_seed_index_and_purpose() {
        let one = Draw::new(1, 1).bits(1);
        assert_ne!(one, Draw::new(2, 1).bits(1));
        assert_ne!(one, Draw::new(1, 2).bits(1));
        assert_ne!(one, Draw::new(1, 1).bits(2));
        assert_eq!(one, Draw::new(1, 1).bits(1));
    }
}
