//! Shares the work on many items among as many threads as there are processors, and locks mutexes.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The result of the worker for each item, in order. A thread takes `at_a_time` items at once, because for fewer a
/// thread costs more than it saves. Every thread has its own worker.
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

/// Locks a mutex. The value is valid even if a thread panicked with the lock, because each value is set in one step.
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
