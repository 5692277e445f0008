//! The target state of one change: the object as it should be afterwards, and how the live object differs from it or
//! from the state that the plan read. Pure.

use std::collections::BTreeSet;

use crate::diff::{self, CompareOptions};
use crate::model::{Field, Json, LiveObject, Object, Ownership, RunId};
use crate::plan::{Action, ActionKind, BeforeImage, Change, Conflict, foreign_stack};

/// The target state of one object, for one change in one run.
pub(super) struct TargetState<'a> {
    pub(super) change: &'a Change,
    run: &'a RunId,
    /// Fields that the configuration ignores.
    ignored: Vec<Field>,
    /// The object as it should be afterwards, ownership annotations included; `None` for a delete.
    pub(super) wanted: Option<Object>,
}

impl<'a> TargetState<'a> {
    /// The target state of `change` in `run`.
    ///
    /// # Errors
    /// The wanted fields do not form an object: the plan file was written by hand.
    pub(super) fn new(change: &'a Change, run: &'a RunId, ignored: Vec<Field>) -> Result<Self, String> {
        let base = (change.action.kind() != ActionKind::Delete).then(|| change.action.object());
        let wanted = base.map(|base| change.applied_to(base, run)).transpose();
        let wanted = wanted.map_err(|error| format!("the planned fields make no endpoint: {error}"))?;
        Ok(Self { change, run, ignored, wanted })
    }

    /// Sets the wanted fields and the ownership annotations in a whole object, and changes nothing else.
    pub(super) fn set(&self, object: &mut Json) {
        if let Action::Create { wanted } = &self.change.action {
            // The object exists with the wanted visible fields. A replace resets what it omits, so hidden fields are
            // set too.
            for (unit, value) in wanted.spec.units().filter(|(unit, value)| wanted.spec.has_hidden(unit, value)) {
                Field::of_unit(unit).set(self.change.key.kind, object, &Json::Null, &value);
            }
        }
        for (unit, value) in self.change.old_mirrors() {
            Field::of_unit(unit).set(self.change.key.kind, object, &value, &Json::Null);
        }
        for change in self.change.fields() {
            change.field.set(self.change.key.kind, object, &change.before, &change.after);
        }
        for (unit, value) in &self.change.secrets {
            Field::of_unit(unit).set(self.change.key.kind, object, &Json::Null, value);
        }
        for (field, value) in self.change.ownership_values(self.run.as_str()) {
            field.set(self.change.key.kind, object, &Json::Null, &value.into());
        }
    }

    /// The managed fields, including ownership annotations, that differ between `before` and `now`.
    pub(super) fn moved(&self, before: &Object, now: &Object) -> BTreeSet<Field> {
        self.differing(before, now, &self.ignored)
    }

    /// Like [`Self::moved`], but also with ignored fields and annotations of others: a delete removes them with the
    /// object.
    pub(super) fn is_edited(&self, before: &Object, now: &Object) -> bool {
        before.annotations != now.annotations || !self.differing(before, now, &[]).is_empty()
    }

    fn differing(&self, before: &Object, now: &Object, ignored: &[Field]) -> BTreeSet<Field> {
        // Nearly every object is unchanged.
        if before == now {
            return BTreeSet::new();
        }
        let [one, other] = [Some(before), self.wanted.as_ref()].map(|endpoint| Ownership::read(&endpoint?.annotations));
        // Other annotations count if the change or one of the two ownerships names them.
        let names = |field: &Field| self.change.names(field);
        let mut fields = BTreeSet::new();
        for ownership in std::iter::once(&one).chain((other != one).then_some(&other)) {
            let applied = ownership.as_ref().and_then(|ownership| ownership.applied.as_ref());
            fields.extend(diff::moved(before, now, names, CompareOptions { applied, ignored, strict: false }));
        }
        fields
    }

    /// Whether `now` is as this change wants it, ownership annotations included except for the run that they name.
    pub(super) fn is_met(&self, now: &Object) -> bool {
        (self.is_as_written(now) && self.kept(now).next().is_none())
            || (self.fields_met(now) && self.ownership_met(now))
    }

    /// Whether `now` has everything that this change writes, and possibly more.
    pub(super) fn is_as_written(&self, now: &Object) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| diff::is_as_written(now, wanted))
    }

    /// The fields in which `now` still has a value that this change removes.
    pub(super) fn kept(&self, now: &Object) -> impl Iterator<Item = &Field> {
        let changes = self.change.fields().iter().filter(|change| !self.ignored.contains(&change.field));
        changes.filter(|change| change.field.keeps(now, &change.before, &change.after)).map(|change| &change.field)
    }

    /// Whether every managed field except the ownership annotations is as wanted.
    pub(super) fn fields_met(&self, now: &Object) -> bool {
        let Some(wanted) = &self.wanted else { return false };
        self.moved(wanted, now).iter().all(Field::is_ownership_annotation)
    }

    /// Whether `field` is an ownership annotation that differs from the wanted one only in its run.
    pub(super) fn is_only_run(&self, field: &Field, now: &Object) -> bool {
        field.is_ownership_annotation() && self.ownership_met(now)
    }

    fn ownership_met(&self, now: &Object) -> bool {
        let Some(wanted) = &self.wanted else { return false };
        if self.change.ownership.is_none() {
            return true;
        }
        match (Ownership::read(&wanted.annotations), Ownership::read(&now.annotations)) {
            (None, None) => true,
            (Some(wanted), Some(now)) => now.fits(&wanted) && !self.has_unseen(&now),
            _ => false,
        }
    }

    /// Whether a hidden field that this change removes is still applied.
    fn has_unseen(&self, now: &Ownership) -> bool {
        let mut removed = self.change.fields().iter().filter(|change| change.is_unseen()).map(|change| &change.field);
        now.applied.as_ref().is_some_and(|applied| removed.any(|field| applied.has_hidden(field)))
    }

    /// Whether `now` has exactly the ownership annotations of this write, run included. `None` if the write has no
    /// annotation that could show it.
    pub(super) fn is_by_this_run(&self, now: &Object) -> Option<bool> {
        let by_run = |text: &str| text.split(' ').nth(1) == Some(self.run.as_str());
        let mut telling = self
            .change
            .ownership_values(self.run.as_str())
            .filter(|(_, value)| value.as_deref().is_some_and(by_run))
            .peekable();
        telling.peek()?;
        Some(telling.all(|(field, value)| field.value(now) == Json::from(value)))
    }

    /// The stack that owns `now`, if it is not the stack of the change. Annotations copied from another object do not
    /// count.
    pub(super) fn foreign_stack<'o>(&self, now: &'o Object) -> Option<&'o str> {
        foreign_stack(now, self.change.ownership.as_ref().and_then(|ownership| ownership.stack.as_deref()))
    }

    /// Why this change is refused, with every field that changed or is wanted, three ways.
    pub(super) fn conflict(&self, reason: &str, now: Option<&Object>) -> Conflict {
        let before = self.change.action.before().map(|before| &before.endpoint);
        let mut fields: BTreeSet<Field> = self.change.fields().iter().map(|change| change.field.clone()).collect();
        match (before, now, &self.wanted) {
            (Some(before), Some(now), _) => fields.extend(self.moved(before, now)),
            (None, Some(now), Some(wanted)) => fields.extend(self.moved(wanted, now)),
            _ => {}
        }
        // Reports leave ownership annotations out of the fields, so the reason names a new owner.
        let owner = now.and_then(|now| self.foreign_stack(now));
        let new = owner.filter(|owner| before.is_some_and(|before| self.foreign_stack(before) != Some(*owner)));
        let owned = new.map(|owner| format!(", and owned by the stack `{owner}`")).unwrap_or_default();
        Conflict::new(&format!("{reason}{owned}"), fields, [before, now, self.wanted.as_ref()])
    }

    /// Whether the object was not written since `before` was read.
    pub(super) fn is_untouched(&self, before: &BeforeImage, now: &LiveObject) -> bool {
        let same_version = match (&before.resource_version, &now.resource_version) {
            (Some(before), Some(now)) => before == now,
            // A service without versions: the time of the last change and the fields decide.
            _ => {
                before.modified == BeforeImage::of(now).modified
                    && self.moved(&before.endpoint, &now.endpoint).is_empty()
            }
        };
        before.uid == now.uid && same_version && !now.deleting
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Spec;
    use crate::tests::world::{STACK, World, annotated, live, object};

    #[test]
    fn a_removal_is_met_only_where_the_value_is_gone() {
        let key = "origin_pool:shop/pool";
        let spec = |more: &str| {
            let mut spec = json!({"port": 80, "advanced_options": {"http_idle_timeout": 5}});
            if !more.is_empty() {
                spec["advanced_options"][more] = 7.into();
            }
            spec
        };
        let (fuller, wanted) = (spec("connection_timeout"), object(key, &spec("")));
        let strict = |world: &mut World| {
            world.settings.safeguards.strict.insert(wanted.key.kind);
            world.settings.safeguards.ownership_annotations = false;
        };
        let world = World::new().with(strict).defined(wanted.clone()).live(live(object(key, &fuller)));
        let plan = world.plan();
        let run = RunId::new("2026-11-25T08-00-00-000-0000").expect("an id");
        let target = TargetState::new(&plan.changes[0], &run, Vec::new()).expect("a target");
        let now = |spec: &Json| object(key, spec);
        assert!(target.is_met(&now(&spec(""))));
        // Nothing else differs where the definitions own nothing, and still there is something to do.
        assert!(!target.is_met(&now(&fuller)));
        let kept: Vec<String> = target.kept(&now(&fuller)).map(ToString::to_string).collect();
        assert_eq!(kept, ["spec.advanced_options"]);
        // What the service fills in is not what was removed.
        let mut filled = fuller.clone();
        filled["advanced_options"]["connection_timeout"] = 2000.into();
        assert!(target.is_met(&now(&filled)));
        assert!(target.is_met(&now(&spec("max_requests"))));
    }

    /// The service writes `ipv4_prefixes` from the deprecated `prefix`, and never the other way.
    #[test]
    fn what_a_definition_names_of_two_fields_that_say_the_same_is_never_taken_out() {
        let key = "ip_prefix_set:shop/deny";
        let (one, two) = ("10.1.0.0/16", "10.2.0.0/16");
        let items = |prefix: &str| json!([{"ipv4_prefix": prefix}]);
        let specs = [
            json!({}),
            json!({"prefix": [one]}),
            json!({"ipv4_prefixes": items(one)}),
            json!({"prefix": [one], "ipv4_prefixes": items(one)}),
            json!({"prefix": [two]}),
            json!({"ipv4_prefixes": items(two)}),
            json!({"prefix": [two], "ipv4_prefixes": items(two)}),
            json!({"prefix": [one], "ipv4_prefixes": items(two)}),
            json!({"prefix": [two], "ipv4_prefixes": items(one)}),
        ];
        let shown = |spec: &Json| {
            let mut spec = spec.clone();
            if let (true, Some(prefix)) = (spec["ipv4_prefixes"].is_null(), spec["prefix"][0].as_str().map(items)) {
                spec["ipv4_prefixes"] = prefix;
            }
            spec
        };
        let run = RunId::new("2026-11-25T08-00-00-000-0000").expect("an id");
        for (before, after) in specs.iter().flat_map(|before| specs.iter().map(move |after| (before, after))) {
            let [applied, wanted] = [before, after].map(|spec| object(key, spec));
            let live = annotated(live(object(key, &shown(before))), &applied, Some(STACK));
            let mut body = json!({"spec": live.endpoint.spec.json()});
            let plan = World::new().defined(wanted).live(live).plan();
            let Some(change) = plan.changes.first() else {
                assert_eq!(shown(before), shown(after));
                continue;
            };
            let target = TargetState::new(change, &run, Vec::new()).expect("a target");
            target.set(&mut body);
            assert_eq!(shown(&body["spec"]), shown(after), "{before} -> {after}");
            assert_eq!(shown(&target.wanted.expect("an object").spec.json()), shown(after), "{before} -> {after}");
        }
    }

    /// The service leaves a zero out of its answers.
    #[test]
    fn a_zero_that_was_written_is_met_whatever_somebody_changed_beside_it() {
        let key = "origin_pool:shop/pool";
        let [before, wanted] = [json!({"port": 80}), json!({"port": 0})].map(|spec| object(key, &spec));
        let plan = World::new().defined(wanted).live(live(before.clone())).plan();
        let run = RunId::new("2026-11-25T08-00-00-000-0000").expect("an id");
        let target = TargetState::new(&plan.changes[0], &run, Vec::new()).expect("a target");
        let mut now = before;
        assert!(!target.fields_met(&now));
        now.spec = Spec::live(now.key.kind, json!({"port": 0})).expect("a spec");
        now.annotations.insert("team".to_owned(), "edge".to_owned());
        assert!(target.fields_met(&now));
    }
}
