//! What threads share: work on many items, among as many as there are processors, and what a mutex protects.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// What comes of each item, in their order. A thread takes so many `at_a_time`: below that, one of its own costs more than
/// it gives. Every thread has a worker of its own.
pub(crate) fn each<T: Send, R: Send, W: FnMut(&mut T) -> R>(
    items: &mut [T],
    at_a_time: usize,
    worker: impl Fn() -> W + Sync,
) -> Vec<R> {
    let parts = items.chunks_mut(at_a_time.max(1));
    let threads = thread::available_parallelism().map_or(1, usize::from).min(parts.len());
    let left = Mutex::new(parts.enumerate());
    let work = || {
        let (mut worker, mut done) = (worker(), Vec::new());
        let next = || locked(&left).next();
        while let Some((at, part)) = next() {
            done.push((at, part.iter_mut().map(&mut worker).collect::<Vec<R>>()));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().flat_map(|(_, part)| part).collect()
}

/// What a mutex protects, whole also where a thread panicked with it: each value is set in one step.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_threads_are_in_the_order_of_the_items() {
        let mut items: Vec<usize> = (0..1_000).collect();
        let wanted: Vec<usize> = items.iter().map(|item| item * 2).collect();
        assert_eq!(each(&mut items, 7, || |item: &mut usize| *item * 2), wanted);
    }
}
