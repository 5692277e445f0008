//! A limit for the memory of all answers together. An answer asks for more memory as it arrives, and waits while the
//! others use all of it. The oldest open answer never waits, so that answers finish one after the other whatever their
//! sizes, and only one at a time exceeds the limit.
//!
//! # Caveats
//! An answer uses memory until its body is dropped. A task that keeps one answer while it requests another may wait for
//! itself, up to the time limit of a request.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use tokio::sync::Notify;

use crate::model::share::locked;

/// Memory is requested in these steps: a request per piece would cost too much.
const STEP: usize = 256 * 1024;

/// The memory of all answers.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    total: usize,
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    /// The most that was used at the same time.
    #[cfg(test)]
    most: usize,
    next: u64,
    /// The answers in memory, unfinished ones included, by their order.
    open: BTreeSet<u64>,
}

/// The memory of one answer, released on drop.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Budget,
    order: u64,
    bytes: usize,
}

/// A body with its reserved memory.
struct HeldBody {
    body: Bytes,
    _share: Reservation,
}

impl AsRef<[u8]> for HeldBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Budget {
    pub(super) fn new(total: usize) -> Self {
        Self { shared: Arc::new(Shared { total, state: Mutex::default(), freed: Notify::new() }) }
    }

    /// An empty reservation for an answer that begins to arrive.
    pub(super) fn share(&self) -> Reservation {
        let mut state = self.state();
        let order = state.next;
        state.next += 1;
        state.open.insert(order);
        drop(state);
        Reservation { budget: self.clone(), order, bytes: 0 }
    }

    /// The bytes that are used now, and the most that were used at the same time.
    #[cfg(test)]
    pub(super) fn usage(&self) -> (usize, usize) {
        let state = self.state();
        (state.used, state.most)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.shared.state)
    }
}

impl Reservation {
    /// Waits until the answer may use this many bytes in total.
    pub(super) async fn grow_to(&mut self, bytes: usize) {
        if bytes <= self.bytes {
            return;
        }
        let more = bytes.next_multiple_of(STEP) - self.bytes;
        while !self.take(more) {
            let shared = Arc::clone(&self.budget.shared);
            let freed = shared.freed.notified();
            tokio::pin!(freed);
            // Registered before the next try, so that a release in between is not missed.
            freed.as_mut().enable();
            if self.take(more) {
                return;
            }
            freed.await;
        }
    }

    /// Takes this many more bytes, if they are free.
    fn take(&mut self, more: usize) -> bool {
        let mut state = self.budget.state();
        let fits = state.used + more <= self.budget.shared.total || state.open.first() == Some(&self.order);
        if fits {
            state.used += more;
            #[cfg(test)]
            {
                state.most = state.most.max(state.used);
            }
            self.bytes += more;
        }
        fits
    }

    /// The whole answer; its memory is released with its last copy.
    pub(super) fn keep(self, body: Bytes) -> Bytes {
        Bytes::from_owner(HeldBody { body, _share: self })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.used -= self.bytes;
        state.open.remove(&self.order);
        drop(state);
        self.budget.shared.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const PIECE: usize = STEP;

    async fn answer(budget: Budget, pieces: usize, most: Arc<AtomicUsize>) -> Bytes {
        let mut share = budget.share();
        for piece in 1..=pieces {
            share.grow_to(piece * PIECE).await;
            most.fetch_max(budget.state().used, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
        share.keep(Bytes::from_static(b"whole"))
    }

    #[tokio::test]
    async fn many_answers_share_the_memory_and_all_arrive() {
        let budget = Budget::new(8 * PIECE);
        let most = Arc::<AtomicUsize>::default();
        let answers: Vec<_> = (0..64).map(|_| tokio::spawn(answer(budget.clone(), 6, Arc::clone(&most)))).collect();
        for answer in answers {
            assert_eq!(answer.await.expect("it arrives"), "whole");
        }
        // The first may pass over the budget, by what it takes itself.
        assert!(most.load(Ordering::Relaxed) <= 14 * PIECE, "{most:?}");
        assert_eq!(budget.state().used, 0);
    }

    #[tokio::test]
    async fn an_answer_that_is_alone_or_larger_than_everything_arrives() {
        let budget = Budget::new(PIECE);
        for _ in 0..2 {
            let whole = answer(budget.clone(), 9, Arc::default()).await;
            assert_eq!(budget.state().used, 9 * PIECE);
            drop(whole);
            assert_eq!(budget.state().used, 0);
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_still_read_keeps_the_next_one_within_the_budget() {
        let budget = Budget::new(4 * PIECE);
        let read = answer(budget.clone(), 9, Arc::default()).await;
        let most = Arc::<AtomicUsize>::default();
        let next = tokio::spawn(answer(budget.clone(), 9, Arc::clone(&most)));
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(budget.state().used, 9 * PIECE);
        drop(read);
        assert_eq!(next.await.expect("it arrives"), "whole");
        assert_eq!(most.load(Ordering::Relaxed), 9 * PIECE);
    }

    #[tokio::test]
    async fn an_answer_that_is_given_up_gives_its_share_back() {
        let budget = Budget::new(PIECE);
        let mut gone = budget.share();
        gone.grow_to(PIECE).await;
        let waiting = tokio::spawn(answer(budget.clone(), 4, Arc::default()));
        tokio::task::yield_now().await;
        drop(gone);
        assert_eq!(waiting.await.expect("it arrives"), "whole");
    }
}
