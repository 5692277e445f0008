//! `pull`: writes live endpoints as definition files, one file each, and leaves out what a later load would
//! refuse or read differently. With `--drift` it edits existing definitions instead: see `adopt`.

use crate::cli::command::adopt::{self, AdoptArgs};
use crate::cli::command::prelude::*;
use crate::cli::definition::{self, DefinitionOptions};
use crate::cli::definition_files::{DefinitionFile, DefinitionTarget};
use crate::diff;
use crate::model::{ListRead, Live, LiveItem, LiveObject, Ownership, RelatedObject, WrittenFor};
use crate::plan::Selection;
use crate::report::facts::unread;

/// Writes live objects as definitions, one file each.
///
/// What the service fills in, its own labels and trueup's ownership annotations are left out. A plan right after is
/// empty. Each file begins with a line by which editors find the schema: they complete and explain
/// fields, and mark mistakes. With --drift the definitions that are there take over just the values that were changed
/// outside; comments, order and quotes stay, and what cannot be edited in place is reported, with exit code 3. With --env, they go
/// into the overlay of the environment.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup pull -n shop -o endpoints\n  trueup pull -n shop --only 'shop/web-*' -o endpoints --overwrite"
)]
pub struct PullArgs {
    #[command(flatten)]
    pub filter: FilterArgs,
    #[command(flatten)]
    pub adopt: AdoptArgs,
    /// Objects of this kind, besides endpoints; repeatable. Without it those of `kinds:` in trueup.yaml, and without those
    /// objects of every kind
    #[arg(long, value_name = "KIND", value_parser = kind_name, add = ArgValueCompleter::new(completer::kinds), conflicts_with = "drift")]
    pub kind: Vec<KindName>,
    #[command(flatten)]
    pub files: DefinitionFileArgs,
}

impl Execute for PullArgs {
    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        if !self.adopt.drift.is_empty() {
            return adopt::run(&self.adopt, &self.filter, context).await;
        }
        let config = settings::of_directory(context, &self.files.output)?;
        let selection = stack::selection(&self.filter)?;
        let namespaces = stack::named_namespaces(context, &self.filter.namespace, &config, "give --namespace")?;
        let reader = service::connect(context, &config).await?.reader()?;
        let target = DefinitionTarget::new(&self.files, context, config.clone())?;
        let named = match self.kind.is_empty() {
            true => config.kinds.clone(),
            false => self.kind.iter().copied().collect(),
        };
        let kinds = match named.is_empty() {
            true => stack::kinds_in(&namespaces),
            false => &named | &BTreeSet::from([KindName::ENDPOINT]),
        };
        let live = api::fetch(&reader, Scope::each(&namespaces, &kinds)).await;
        let unread = complete(&live, named.is_empty())?;
        for message in &unread {
            context.output.message(&format!("left out: {message}"));
        }
        let (pulled, unwritable) = pulled(context, (&live, &selection), &target);
        if let Some(unmatched) = stack::unmatched_live(&selection, &live).filter(|_| pulled.is_empty()) {
            return Err(stack::unmatched(unmatched).hint("nothing was written"));
        }
        let written = target.write(&named, &pulled)?;
        let others: BTreeSet<&str> =
            pulled.iter().filter(|file| !file.kind.is_endpoint()).map(|file| file.kind.as_str()).collect();
        if named.is_empty() && !others.is_empty() {
            let kinds = others.into_iter().collect::<Vec<_>>().join(", ");
            context.output.message(&format!(
                "objects of these kinds are deleted only where trueup.yaml lists them: kinds: [{kinds}]"
            ));
        }
        for namespace in empty(&live) {
            let message = format!(
                "nothing in `{namespace}`: the service answers so for a namespace that does not exist, too; check the name"
            );
            context.output.message(&message);
        }
        target.summarise(context, "Pulled", &pulled, written);
        // The settings may list kinds that only another service offers.
        let is_asked = named.is_empty() || !self.kind.is_empty();
        Ok(if unwritable == 0 && (unread.is_empty() || !is_asked) { ExitStatus::Done } else { ExitStatus::Partly })
    }
}

/// Fails if a requested list could not be read. Returns messages about what is left out: with `every` kind, the lists
/// of other kinds than endpoints that could not be read, else what the service does not offer.
fn complete(live: &Live, every: bool) -> Result<Vec<String>> {
    let is_offered = |scope: &Scope| !matches!(live.lists[scope], ListRead::NotOffered);
    let (left_out, needed): (Vec<_>, Vec<_>) = (live.unknown().filter(|(scope, _)| !every || is_offered(scope)))
        .partition(|(scope, _)| if every { !scope.kind.is_endpoint() } else { !is_offered(scope) });
    plan_errors::require_all_read(needed.into_iter(), "nothing was written")?;
    Ok(unread::messages(left_out.into_iter()))
}

/// The namespaces in which nothing is live.
fn empty(live: &Live) -> BTreeSet<&Namespace> {
    let mut namespaces: BTreeSet<&Namespace> = live.lists.keys().map(|scope| &scope.namespace).collect();
    for (key, _) in live.items() {
        namespaces.remove(&key.namespace);
    }
    namespaces
}

/// The files of the live objects, and the number of those that no file can describe. Objects that have another owner,
/// are being deleted, or are excluded by the settings do not count.
fn pulled(
    context: &Context,
    (live, selection): (&Live, &Selection),
    target: &DefinitionTarget<'_>,
) -> (Vec<DefinitionFile>, usize) {
    let (mut pulled, mut unwritable, mut made) = (Vec::new(), 0, 0_usize);
    for (_, item) in live.items().filter(|(_, item)| selection.selects(item.key(), None, Some(item))) {
        let object = match item {
            LiveItem::Object(object) => object,
            LiveItem::Unsupported(unsupported) => {
                unwritable += 1;
                skip(context, item, &format!("this trueup cannot represent it: {}", unsupported.reason));
                continue;
            }
        };
        // The service creates this object again when it gets the object that owns it.
        if object.owner_view.as_ref().and_then(RelatedObject::key).is_some_and(|owner| live.item(&owner).is_some()) {
            made += 1;
            continue;
        }
        if let Some(reason) = reason_to_skip(object).or_else(|| target.leaves_out(item.key())) {
            skip(context, item, &reason);
            continue;
        }
        match target.file(&object.endpoint, DefinitionOptions::of_live(object)) {
            Err(reason) => {
                unwritable += 1;
                skip(context, item, &reason);
            }
            Ok(file) => {
                let key = item.key().to_string();
                let not_written = |what: &str, why: &str| {
                    let what = format!("not written: {what} of {key}: {why}");
                    context.output.message(&what);
                };
                for path in definition::unknown(&object.endpoint, &object.unknown) {
                    not_written(&path, "this trueup does not know it");
                }
                for place in &object.secrets {
                    not_written(place, "no answer shows a secret; write it in its sealed form to change the object");
                }
                let ownership = Ownership::read(&object.endpoint.annotations);
                let applied = ownership.as_ref().and_then(|ownership| ownership.applied.as_ref());
                let applied = applied.filter(|applied| applied.written_for(item.key()) != WrittenFor::Another);
                let reset = |applied| diff::reset(&object.endpoint, &object.endpoint, applied);
                for field in applied.into_iter().flat_map(reset) {
                    let reason = "no answer shows it; write what was applied, or an apply resets it";
                    not_written(&field.to_string(), reason);
                }
                for label in definition::platform_labels(&object.endpoint) {
                    not_written(&format!("labels.{label}"), "the service sets it");
                }
                pulled.push(file);
            }
        }
    }
    if made > 0 {
        let made = text::count(made, "object");
        context.output.message(&format!("left out: {made} that the service makes of those that were read"));
    }
    (pulled, unwritable)
}

fn reason_to_skip(object: &LiveObject) -> Option<String> {
    if let Some(owner) = &object.owner_view {
        return Some(format!("it belongs to {owner}"));
    }
    object.deleting.then(|| "it is being deleted".to_owned())
}

fn skip(context: &Context, item: &LiveItem, reason: &str) {
    let key = item.key().to_string();
    context.output.message(&format!("left out: {key}: {reason}"));
}
