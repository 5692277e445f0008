//! The waves of an apply of several stacks: each takes stacks by their labels, or up to a number or a share of them.
//! The stacks that no wave takes are the last wave, so that every stack is in one.

use std::fmt;

use crate::model::{Selector, StringMap};

/// The rules of all waves but the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waves(Vec<WaveRule>);

/// Which stacks a wave takes of those that no earlier wave has.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WaveRule {
    /// Those whose labels meet these; empty for all.
    selector: Selector,
    /// How many of them are taken when this wave ends, by it and earlier ones; `None` for all.
    end: Option<WaveEnd>,
}

/// Where a wave ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaveEnd {
    /// After so many stacks.
    Stacks(usize),
    /// After this share of all.
    Percent(usize),
}

/// A wave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wave {
    /// The stacks, by their places in the order of the call.
    pub stacks: Vec<usize>,
    /// What it takes; `None` if no wave of the call has a selector.
    pub name: Option<String>,
}

const HELP: &str = "give what each wave takes, such as 1,10%,50% or `ring=canary; ring=early: 10%,100%`; the rest is the \
                    last wave";

/// `SELECTOR`, `SELECTOR: ENDS` or `ENDS`.
fn rules(part: &str) -> Result<Vec<WaveRule>, String> {
    let (selector, list) = match part.split_once(':') {
        Some((selector, list)) => (Some(selector.trim()), Some(list)),
        // No selector begins with a number: that is more likely a wrong list.
        None if part.split(',').next().is_some_and(is_number) => (None, Some(part)),
        None => (Some(part), None),
    };
    let selector = selector.map(Selector::parse).transpose();
    let selector = selector.map_err(|error| format!("{error} of `{part}`: {HELP}, and `;` is between waves"))?;
    let selector = selector.unwrap_or_default();
    let Some(list) = list else { return Ok(vec![WaveRule { selector, end: None }]) };
    let ends = list.split(',').map(end).collect::<Option<Vec<_>>>().ok_or(HELP)?;
    Ok(ends.into_iter().map(|end| WaveRule { selector: selector.clone(), end: Some(end) }).collect())
}

fn is_number(text: &str) -> bool {
    let digits = text.trim().trim_end_matches('%');
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn end(text: &str) -> Option<WaveEnd> {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(share) => share.parse().ok().filter(|share| (1..=100).contains(share)).map(WaveEnd::Percent),
        None => text.parse().ok().filter(|stacks| *stacks > 0).map(WaveEnd::Stacks),
    }
}

impl Waves {
    /// Reads what `--waves` is given.
    ///
    /// # Errors
    /// A part of the text is not a valid wave.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rules: Vec<Vec<WaveRule>> = text.split(';').map(|part| rules(part.trim())).collect::<Result<_, _>>()?;
        let rules: Vec<WaveRule> = rules.into_iter().flatten().collect();
        for (at, rule) in rules.iter().enumerate() {
            if let Some(earlier) = rules[..at].iter().find(|earlier| earlier.covers(rule)) {
                return Err(format!(
                    "a wave of `{rule}` takes nothing after `{earlier}`: each goes on to its end, counted from the first stack"
                ));
            }
        }
        Ok(Self(rules))
    }

    /// The waves of the stacks with these labels, in order: each stack that takes part is in one. A wave for which nothing
    /// is left is left out.
    ///
    /// # Errors
    /// A selector that selects none of the stacks, or a number that earlier waves have reached, which is most likely a
    /// mistake.
    pub fn of(&self, stacks: &[&StringMap], takes_part: impl Fn(usize) -> bool) -> Result<Vec<Wave>, String> {
        let has_names = self.0.iter().any(|rule| !rule.selector.is_empty());
        let mut is_left: Vec<bool> = (0..stacks.len()).map(&takes_part).collect();
        let mut waves = Vec::new();
        for rule in &self.0 {
            let mut selected: Vec<usize> =
                (0..stacks.len()).filter(|at| rule.selector.matches(|key| stacks[*at].get(key))).collect();
            if selected.is_empty() && !stacks.is_empty() {
                return Err(format!("`{}` of `--waves` selects no stack", rule.selector));
            }
            // Skipped stacks do not count as canaries, nor for shares.
            selected.retain(|at| takes_part(*at));
            let end = match rule.end {
                None => selected.len(),
                Some(WaveEnd::Stacks(number)) => number,
                Some(WaveEnd::Percent(share)) => (selected.len() * share).div_ceil(100),
            };
            let taken = selected.iter().filter(|at| !is_left[**at]).count();
            if matches!(rule.end, Some(WaveEnd::Stacks(number)) if number <= taken) {
                return Err(format!(
                    "a wave of `{rule}` takes nothing after the earlier ones: it goes on to its end, counted from the first stack"
                ));
            }
            let left = selected.into_iter().filter(|at| is_left[*at]);
            let wave: Vec<usize> = left.take(end.saturating_sub(taken)).collect();
            wave.iter().for_each(|at| is_left[*at] = false);
            waves.push(Wave { stacks: wave, name: has_names.then(|| rule.to_string()) });
        }
        let rest = (0..stacks.len()).filter(|at| is_left[*at]).collect();
        waves.push(Wave { stacks: rest, name: has_names.then(|| "the rest".to_owned()) });
        waves.retain(|wave| !wave.stacks.is_empty());
        Ok(waves)
    }

    /// Each stack in a wave of its own.
    pub fn one_by_one(stacks: usize) -> Vec<Wave> {
        (0..stacks).map(|at| Wave { stacks: vec![at], name: None }).collect()
    }
}

impl WaveRule {
    /// Whether this wave takes whatever `later` would, of however many stacks.
    fn covers(&self, later: &Self) -> bool {
        let is_to_its_end = match (self.end, later.end) {
            (None | Some(WaveEnd::Percent(100)), _) => true,
            (Some(WaveEnd::Stacks(end)), Some(WaveEnd::Stacks(later)))
            | (Some(WaveEnd::Percent(end)), Some(WaveEnd::Percent(later))) => end >= later,
            _ => false,
        };
        is_to_its_end && self.selector == later.selector
    }
}

impl fmt::Display for WaveRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let selector = if self.selector.is_empty() { "all".to_owned() } else { self.selector.to_string() };
        match self.end {
            None => f.write_str(&selector),
            Some(WaveEnd::Stacks(number)) => write!(f, "{selector} up to {number}"),
            Some(WaveEnd::Percent(share)) => write!(f, "{selector} up to {share}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stacks of each wave, with its name.
    fn waves(text: &str, stacks: &[StringMap]) -> Result<Vec<(String, Vec<usize>)>, String> {
        waves_of(text, stacks, |_| true)
    }

    fn waves_of(
        text: &str,
        stacks: &[StringMap],
        takes_part: impl Fn(usize) -> bool,
    ) -> Result<Vec<(String, Vec<usize>)>, String> {
        let stacks: Vec<_> = stacks.iter().collect();
        let waves = Waves::parse(text)?.of(&stacks, takes_part)?;
        Ok(waves.into_iter().map(|wave| (wave.name.unwrap_or_default(), wave.stacks)).collect())
    }

    /// A stack for each ring.
    fn rings(rings: &[&str]) -> Vec<StringMap> {
        let labels = |ring: &&str| [("ring".to_owned(), (*ring).to_owned())].into_iter().collect();
        rings.iter().map(labels).collect()
    }

    #[test]
    fn waves_by_share_have_every_stack_in_order() {
        let waves = |text: &str, stacks| {
            let waves = waves(text, &vec![StringMap::new(); stacks]).expect("waves");
            waves.into_iter().map(|(_, wave)| wave[0]..wave[0] + wave.len()).collect::<Vec<_>>()
        };
        assert_eq!(waves("1,10%,100%", 30), [0..1, 1..3, 3..30]);
        assert_eq!(waves("1,10%", 30), [0..1, 1..3, 3..30]);
        assert_eq!(waves("1; 10%", 30), [0..1, 1..3, 3..30]);
        assert_eq!(waves("1,10%", 5), [0..1, 1..5]);
        assert_eq!(waves("3,50%", 5), [0..3, 3..5]);
        assert!(waves("7", 0).is_empty());
    }

    #[test]
    fn waves_by_label_take_each_stack_once_and_the_rest_is_the_last() {
        let stacks = rings(&["main", "early", "canary", "early", "main", "other"]);
        let named = |name: &str, stacks: &[usize]| (name.to_owned(), stacks.to_vec());
        assert_eq!(
            waves("ring=canary; ring in (early)", &stacks).expect("waves"),
            [named("ring=canary", &[2]), named("ring=early", &[1, 3]), named("the rest", &[0, 4, 5])]
        );
        // A share is one of what is selected, with those that earlier waves took.
        assert_eq!(
            waves("ring=canary; ring=early: 1,100%; 90%; ring!=other", &stacks).expect("waves"),
            [
                named("ring=canary", &[2]),
                named("ring=early up to 1", &[1]),
                named("ring=early up to 100%", &[3]),
                named("all up to 90%", &[0, 4, 5])
            ]
        );
        let both = waves("ring,ring=main; !ring", &stacks);
        assert_eq!(both, Err("`!ring` of `--waves` selects no stack".to_owned()));
        // A number says how many at most go before the others, which a wave of nothing does not do.
        for none in ["ring: 2; 2", "2; ring: 2", "ring: 20%; 1", "ring=main; ring in (main, early): 2"] {
            let error = waves(none, &stacks).expect_err(none);
            assert!(error.contains("takes nothing after"), "{error}");
        }
        assert_eq!(waves("ring=canray", &stacks), Err("`ring=canray` of `--waves` selects no stack".to_owned()));
    }

    #[test]
    fn a_stack_that_is_skipped_takes_no_place_of_a_wave() {
        let stacks = rings(&["main", "early", "canary", "early", "main", "other"]);
        let places = |text: &str, takes_part: &dyn Fn(usize) -> bool| -> Vec<Vec<usize>> {
            waves_of(text, &stacks, takes_part).expect("waves").into_iter().map(|(_, stacks)| stacks).collect()
        };
        assert_eq!(places("1,50%", &|at| at != 0), [vec![1], vec![2, 3], vec![4, 5]]);
        assert_eq!(places("ring=canary; ring=early: 1", &|at| at != 1 && at != 2), [vec![3], vec![0, 4, 5]]);
        assert_eq!(places("1,100%", &|_| false), [[0; 0]; 0]);
    }

    #[test]
    fn what_is_no_wave_is_refused() {
        for none in
            ["2,2,2", "3,2", "1;1", "1,3,2", "50%,10%", "100%,5", "ring=a; ring=a", "ring=a:1; ring=b:1; ring in (a):1"]
        {
            let error = Waves::parse(none).expect_err(none);
            assert!(error.contains("takes nothing after"), "{error}");
        }
        for wrong in ["", "0", "0%", "101%", "1,", "1,a", "-1", "ring=early,10%", "ring=a;", "ring=a:", ":1", "1:2:3"] {
            let error = Waves::parse(wrong).expect_err(wrong);
            assert!(error.contains("1,10%,50%"), "{error}");
        }
    }
}
