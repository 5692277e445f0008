//! Objects that are defined but missing live (not applied yet, or applied and deleted outside), and objects
//! that the stack owns in lists that it no longer has.

use jiff::Timestamp;

use crate::model::{Key, ListRead, Scope};
use crate::plan::{Action, Cause, Change, Note, Plan, ScopeRead, ScopeState, Selection};

/// Why an object is missing live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingCause {
    /// It was not applied yet.
    Pending,
    /// It was applied and then deleted outside, or its create failed.
    Deleted {
        /// The newest applied commit that has it, if git shows one.
        commit: Option<String>,
    },
    /// The cause cannot be decided.
    Unknown(String),
}

/// What git, the drift state and the runs show about the past of an object that is missing live. Their times decide
/// the cause: an object that trueup itself deleted, or never created, was not deleted outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// What git shows.
    pub git: GitPast,
    /// If git cannot show the past, a check must have found the object in place after this time: the newest commit that
    /// changed the stack, and the newest run that a live object names. `None` where none names a commit.
    pub unshown_until: Option<Timestamp>,
    /// When a check last found it in place; the earliest time where a drift state of version 0.2 does not have it.
    pub seen: Option<Timestamp>,
    /// When a run left it in place, if that is the last event that the runs show.
    pub left_in_place: Option<Timestamp>,
    /// When a run deleted it, or did not get to create it, if that is the last event that the runs show.
    pub withdrawn: Option<Timestamp>,
}

/// What git shows about an object that is missing live, together with the commits that live objects name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitPast {
    /// The newest applied commit defines it.
    Defined {
        /// That commit.
        commit: String,
        /// When that commit was first applied, according to live objects.
        applied: Timestamp,
        /// A later commit that did not define it.
        removal: Option<Removal>,
    },
    /// The newest applied commit does not define it.
    NotDefined {
        /// When that commit was last applied, according to live objects.
        applied: Timestamp,
        /// A later commit defined it, and one after that did not; or why that is unknown. Computed only for objects
        /// that a check saw.
        removal: Result<Option<Removal>, String>,
    },
    /// git cannot show it.
    Unknown(String),
}

/// A commit after the applied one in which an object was not defined. Whether it was applied is unknown, because a run
/// that only deletes leaves no trace on live objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The newest such commit.
    pub commit: String,
    /// When a later commit defined the object again; `None` where none did.
    pub defined_again: Option<Timestamp>,
}

impl Removal {
    /// Whether the object was in place after it was defined again.
    fn is_over(&self, in_place: Option<Timestamp>) -> bool {
        self.defined_again.is_some_and(|again| in_place > Some(again))
    }
}

impl Past {
    /// Why the object is missing.
    pub fn cause(self) -> MissingCause {
        let Self { git, unshown_until, seen, left_in_place, withdrawn } = self;
        match git {
            GitPast::Defined { applied, .. } if withdrawn >= seen.max(Some(applied)) => MissingCause::Pending,
            GitPast::Defined { commit, removal: None, .. } => MissingCause::Deleted { commit: Some(commit) },
            GitPast::Defined { commit, removal: Some(removal), .. } => {
                if removal.is_over(seen.max(left_in_place)) {
                    return MissingCause::Deleted { commit: Some(commit) };
                }
                let [commit, removed] = [&commit, &removal.commit].map(|id| short(id));
                let reason = format!(
                    "{removed} removed the definition after {commit} was applied, and whether that was applied is unknown"
                );
                MissingCause::Unknown(reason)
            }
            // Live objects show an apply after the check saw it: that run deleted it.
            GitPast::NotDefined { applied, .. } if seen <= withdrawn.max(Some(applied)) => MissingCause::Pending,
            GitPast::NotDefined { removal: Err(reason), .. } => MissingCause::Unknown(reason),
            GitPast::NotDefined { removal: Ok(Some(removal)), .. } if !removal.is_over(seen.max(left_in_place)) => {
                let removed = short(&removal.commit);
                let reason = format!(
                    "{removed} removed the definition after a check saw it, and whether that was applied is unknown"
                );
                MissingCause::Unknown(reason)
            }
            GitPast::NotDefined { .. } => MissingCause::Deleted { commit: None },
            GitPast::Unknown(reason) => match seen.max(left_in_place) {
                in_place if withdrawn.is_some() && withdrawn >= in_place => MissingCause::Pending,
                // Without a sighting, or if a commit that git does not show may have removed it after that.
                None => MissingCause::Unknown(reason),
                in_place if left_in_place.is_none() && in_place <= unshown_until => MissingCause::Unknown(reason),
                Some(_) => MissingCause::Deleted { commit: None },
            },
        }
    }
}

/// The short id of a commit.
pub fn short(commit: &str) -> &str {
    commit.char_indices().nth(7).map_or(commit, |(end, _)| &commit[..end])
}

impl Plan {
    /// The creates of objects that are missing live, including blocked ones.
    pub fn missing(&self) -> impl Iterator<Item = &Change> {
        self.with_blocked().filter(|change| matches!(change.action, Action::Create { .. }))
    }

    /// Sets the cause of every create, and adds a note where it is unknown. This does not change what an
    /// apply does.
    pub fn judge_missing(&mut self, mut judge: impl FnMut(&Key) -> MissingCause) {
        let blocked = self.blocked.iter_mut().filter_map(|entry| entry.change.as_mut());
        for change in self.changes.iter_mut().chain(blocked) {
            if !matches!(change.action, Action::Create { .. }) {
                continue;
            }
            match judge(&change.key) {
                MissingCause::Pending => change.cause = Some(Cause::Pending),
                MissingCause::Deleted { commit } => {
                    change.cause = Some(Cause::Drift);
                    change.applied_in = commit;
                }
                MissingCause::Unknown(reason) => {
                    change.cause = Some(Cause::Pending);
                    self.notes.push(Note::DeletesUnknown { key: change.key.clone(), reason });
                }
            }
        }
        self.notes.sort();
    }

    /// Notes the objects of the stack in a list that it once had and that this plan is not about, if the filters of the
    /// call select them. An unreadable list counts as unknown for the plan if the last check found drift in it.
    pub fn note_outside(&mut self, scope: &Scope, read: &ListRead, selection: &Selection, drifted: bool) {
        match read.known() {
            Err(reason) if drifted => {
                let read = ScopeRead::Unknown { reason: reason.to_owned() };
                let state = ScopeState { read, definitions: 0, in_sync: 0, pruned: false, selected: true };
                self.scope.insert(scope.clone(), state);
            }
            Err(_) if matches!(read, ListRead::NotOffered) => {}
            Err(reason) => self.notes.push(Note::OutsideUnread { scope: scope.clone(), reason: reason.to_owned() }),
            Ok(items) => {
                self.outside.insert(scope.clone());
                let objects = items.values().filter_map(|item| Some((item, item.object()?)));
                for (item, live) in objects.filter(|(_, live)| !live.deleting && live.owner_view.is_none()) {
                    let endpoint = &live.endpoint;
                    if self.owns(endpoint) && selection.selects(&endpoint.key, None, Some(item)) {
                        let key = endpoint.key.clone();
                        let in_plan = self.scope.keys().any(|read| read.namespace == scope.namespace);
                        self.notes.push(match in_plan {
                            true => Note::OutsideKinds { key, transfer: None, unknown: None },
                            false => Note::Outside { key, transfer: None, unknown: None },
                        });
                    }
                }
            }
        }
        self.notes.sort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn past(git: GitPast) -> Past {
        Past { git, unshown_until: None, seen: None, left_in_place: None, withdrawn: None }
    }

    fn defined(removal: Option<(&str, Option<i64>)>) -> GitPast {
        let removal =
            removal.map(|(commit, again)| Removal { commit: commit.to_owned(), defined_again: again.map(at) });
        GitPast::Defined { commit: "a".repeat(40), applied: at(10), removal }
    }

    #[test]
    fn the_last_of_what_is_known_decides() {
        let by_commit = MissingCause::Deleted { commit: Some("a".repeat(40)) };
        let deleted = MissingCause::Deleted { commit: None };
        let is_unknown = |past: Past| matches!(past.cause(), MissingCause::Unknown(_));
        let unknown = || GitPast::Unknown("shallow".to_owned());
        // What git says of the newest commit that was applied, and a later run of trueup that took it away.
        assert_eq!(past(defined(None)).cause(), by_commit);
        assert_eq!(Past { withdrawn: Some(at(11)), ..past(defined(None)) }.cause(), MissingCause::Pending);
        assert_eq!(Past { withdrawn: Some(at(9)), ..past(defined(None)) }.cause(), by_commit);
        // It was killed before it knew: what it wrote names the same time, at which it began.
        assert_eq!(Past { withdrawn: Some(at(10)), ..past(defined(None)) }.cause(), MissingCause::Pending);
        let seen_again = Past { withdrawn: Some(at(11)), seen: Some(at(12)), ..past(defined(None)) };
        assert_eq!(seen_again.cause(), by_commit);
        // A later commit that did not define it may have been applied.
        let removed = || past(defined(Some(("b", Some(20)))));
        assert!(is_unknown(removed()));
        assert!(is_unknown(Past { seen: Some(at(19)), ..removed() }));
        assert_eq!(Past { seen: Some(at(21)), ..removed() }.cause(), by_commit);
        assert_eq!(Past { left_in_place: Some(at(21)), ..removed() }.cause(), by_commit);
        assert_eq!(Past { withdrawn: Some(at(15)), ..removed() }.cause(), MissingCause::Pending);
        assert!(is_unknown(Past { seen: Some(at(99)), ..past(defined(Some(("b", None)))) }));
        // The newest commit that was applied lacks it: its apply deleted what was seen before.
        let lacks_of = |removal| past(GitPast::NotDefined { applied: at(10), removal });
        let lacks = || lacks_of(Ok(None));
        assert_eq!(lacks().cause(), MissingCause::Pending);
        assert_eq!(Past { seen: Some(at(9)), ..lacks() }.cause(), MissingCause::Pending);
        assert_eq!(Past { seen: Some(at(11)), ..lacks() }.cause(), deleted);
        assert_eq!(Past { seen: Some(at(11)), withdrawn: Some(at(12)), ..lacks() }.cause(), MissingCause::Pending);
        // A later one defined it, one after that removed it, and it is back.
        let was_back = || lacks_of(Ok(Some(Removal { commit: "b".to_owned(), defined_again: Some(at(20)) })));
        assert_eq!(was_back().cause(), MissingCause::Pending);
        assert!(is_unknown(Past { seen: Some(at(20)), ..was_back() }));
        assert_eq!(Past { seen: Some(at(21)), ..was_back() }.cause(), deleted);
        assert_eq!(Past { seen: Some(at(11)), left_in_place: Some(at(21)), ..was_back() }.cause(), deleted);
        assert_eq!(Past { seen: Some(at(11)), withdrawn: Some(at(12)), ..was_back() }.cause(), MissingCause::Pending);
        assert!(is_unknown(Past { seen: Some(at(11)), ..lacks_of(Err("shallow".to_owned())) }));
        assert_eq!(lacks_of(Err("shallow".to_owned())).cause(), MissingCause::Pending);
        // Without git.
        assert!(is_unknown(past(unknown())));
        assert_eq!(Past { seen: Some(Timestamp::MIN), ..past(unknown()) }.cause(), deleted);
        assert_eq!(Past { left_in_place: Some(at(5)), ..past(unknown()) }.cause(), deleted);
        // A clone that does not show what was applied.
        let shallow = || Past { unshown_until: Some(at(20)), ..past(unknown()) };
        assert!(is_unknown(Past { seen: Some(at(20)), ..shallow() }));
        assert!(is_unknown(Past { seen: Some(Timestamp::MIN), ..shallow() }));
        assert_eq!(Past { seen: Some(at(21)), ..shallow() }.cause(), deleted);
        assert_eq!(Past { left_in_place: Some(at(5)), ..shallow() }.cause(), deleted);
        assert_eq!(Past { withdrawn: Some(at(5)), seen: Some(at(4)), ..shallow() }.cause(), MissingCause::Pending);
        assert!(is_unknown(Past { withdrawn: Some(at(4)), seen: Some(at(5)), ..shallow() }));
        assert_eq!(
            Past { withdrawn: Some(at(5)), seen: Some(at(4)), ..past(unknown()) }.cause(),
            MissingCause::Pending
        );
        assert_eq!(Past { withdrawn: Some(at(5)), ..past(unknown()) }.cause(), MissingCause::Pending);
    }
}
