//! Work on many changes, shared among as many threads as there are processors.

use std::thread;

/// Items below which a thread of their own costs more than it gives.
const FEWEST: usize = 256;

/// What comes of each item, in their order. Every thread has a worker of its own.
pub(super) fn each<T: Send, R: Send, W: FnMut(&mut T) -> R>(items: &mut [T], worker: impl Fn() -> W + Sync) -> Vec<R> {
    let share = items.len().div_ceil(thread::available_parallelism().map_or(1, usize::from));
    let mut shares = items.chunks_mut(share.max(FEWEST));
    let mine = shares.next().unwrap_or_default();
    let work = |share: &mut [T]| share.iter_mut().map(worker()).collect::<Vec<R>>();
    thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = shares.map(|share| scope.spawn(move || work(share))).collect();
        let mut done = work(mine);
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_threads_are_in_the_order_of_the_items() {
        let mut items: Vec<usize> = (0..=FEWEST * 5).collect();
        let wanted: Vec<usize> = items.iter().map(|item| item * 2).collect();
        assert_eq!(each(&mut items, || |item: &mut usize| *item * 2), wanted);
    }
}
