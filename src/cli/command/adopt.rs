//! `pull --drift`: writes values that were changed outside of trueup into the definitions, or into the overlay of the
//! environment. It edits the files in place, and reports what it cannot edit in place.

use crate::cli::command::prelude::*;
use crate::cli::definition_files::{others, warn_of_others};
use crate::file::{Directory, FileMode};
use crate::kind;
use crate::load::edit::{self, AdoptedEdits, ValueToAdopt};
use crate::load::{Loaded, SourceMap};
use crate::model::{Field, Json, Live, LiveItem};
use crate::plan::{ActionKind, Cause, Change, Note};

/// What `pull --drift` takes beside its filters.
#[derive(Debug, Args)]
pub struct AdoptArgs {
    /// Let the definitions of this stack take over what was changed outside, edited in place
    #[arg(long, value_name = "PATH", num_args = 1.., conflicts_with_all = ["output", "overwrite", "schema", "no_schema"])]
    pub drift: Vec<PathBuf>,
    /// With --drift: also write what was set outside where no definition names it, in objects of other kinds than endpoint
    #[arg(long, requires = "drift", conflicts_with_all = ["output", "overwrite", "schema", "no_schema"])]
    pub unnamed: bool,
    /// With --drift and --env: write into the overlay of the environment, or into the definitions that other environments
    /// share. Without it, the overlay
    #[arg(long, value_name = "WHERE", requires = "drift")]
    pub into: Option<AdoptInto>,
}

/// Where values that were changed outside are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdoptInto {
    /// The overlay of the environment
    Overlay,
    /// The definitions
    Base,
}

/// How the definition of an object that was deleted outside of trueup is removed.
enum Removal {
    /// A new file of the overlay removes it.
    Made,
    /// By hand, in this file or directory of the overlay.
    InOverlay(String),
    /// By hand, where the definition is.
    InDefinition,
    /// Not without `allow_empty`: it is the last definition.
    OfLast,
}

/// Writes what was changed outside of trueup into the definitions.
pub async fn run(arguments: &AdoptArgs, filter: &FilterArgs, context: &Context) -> Result<ExitStatus> {
    let scope = ScopeArgs { paths: arguments.drift.clone(), filter: filter.clone() };
    let session = Session::open(context, &scope, SessionOptions::default()).await?;
    let stack = &session.stack;
    let overlay = overlay(arguments, context, &stack.loaded)?;
    let plan = session.differences(None).await?;
    plan_errors::require_complete(&plan, "nothing was written")?;
    let mut wanted = wanted(&plan);
    if arguments.unnamed {
        name_unnamed(&session, &plan, &mut wanted).await?;
    }
    name_tenants(&session, &mut wanted).await?;
    let mut edits = match overlay {
        Some(directory) => edit::adopt_into_overlay(&stack.loaded, directory, &wanted),
        None => edit::adopt(&stack.loaded, &wanted),
    };
    let prefix = context.environment.shown_from_here(&stack.loaded.root);
    let gone: Vec<&Key> = deleted(&plan).map(|change| &change.key).collect();
    // In the next call, a stack without a definition would be an error.
    let is_last = gone.len() == stack.loaded.desired.definitions.len() && !stack.loaded.config.may_define_nothing();
    let mut removals = BTreeMap::new();
    for key in gone {
        let in_overlay = overlay.filter(|_| !is_last);
        let removal = match in_overlay.and_then(|overlay| edit::removal_in_overlay(&stack.loaded, overlay, key)) {
            Some((file, Some(text))) => {
                edits.files.insert(file, text);
                Removal::Made
            }
            Some((place, None)) => Removal::InOverlay(format!("{prefix}{place}")),
            None if is_last => Removal::OfLast,
            None => Removal::InDefinition,
        };
        removals.insert(key, removal);
    }
    let root = Directory::open(&stack.loaded.root).with_status(ExitStatus::Failed)?;
    let mut broken: Vec<&String> = others(context, (&stack.loaded.root, &stack.loaded.config), overlay).collect();
    broken.retain(|name| !edits.files.is_empty() && loads(&stack.loaded, name));
    file::edit_all(&root, edits.files.iter().map(|(name, edit)| (&**name, edit)), FileMode::Shared)?;
    // The edits moved lines, so load the locations again.
    let now = load::directory(&stack.loaded.root, stack.loaded.options()).ok();
    let places = now.as_ref().map(SourceMap::new);
    let place = |key: &Key, field: Option<&Field>| {
        let places = places.as_ref()?;
        let is_edited = |file: &str| edits.files.contains_key(file);
        let edited = field.and_then(|field| places.place_in(key, field, &is_edited));
        let place = edited.or_else(|| places.place(key, field)).or_else(|| places.place(key, None))?;
        Some(format!("{prefix}{}:{}", place.file, place.line))
    };
    let is_selected = |key: &Key| stack.selection.selects(key, stack.loaded.desired.definitions.get(key), None);
    let in_overlay = overlay.map(|directory| edit::overlay_files(&stack.loaded, directory));
    let in_overlay = |key: &Key| Some(format!("{prefix}{}", in_overlay.as_ref()?(key)?));
    let mut left = not_edited(&edits, in_overlay, place);
    let (taken, others) = summary(&plan, &edits, &removals, place);
    let unnamed = left_unnamed(&plan, arguments.unnamed).filter(|(key, ..)| is_selected(key));
    let unnamed = unnamed.map(|(key, path, why)| line(key, path, None, why));
    left.extend(others.into_iter().chain(unnamed).chain(undefined(&plan)));
    let adopted: BTreeSet<(&Key, &Field)> = edits.adopted.iter().map(|(key, field)| (key, field)).collect();
    for one in wanted.iter().filter(|one| adopted.contains(&(&one.key, &one.field))) {
        let why = "no answer shows a secret; write it in its sealed form to change the object";
        let place = place(&one.key, Some(&one.field));
        left.extend(new_secrets(one, &stack.loaded).iter().map(|secret| line(&one.key, secret, place.clone(), why)));
        let why = "live does not have it, and an apply writes it: remove it by hand, or keep it";
        let not_live = now.as_ref().map(|now| not_live(one, now)).unwrap_or_default();
        left.extend(not_live.iter().map(|path| line(&one.key, path, place.clone(), why)));
    }
    broken.retain(|name| !loads(&stack.loaded, name));
    for name in &broken {
        let flags = context.call.clone().with("env", [(*name).clone()]).settings();
        let why = format!("trueup validate {}{flags}", safe::shell(&stack.directory));
        context.output.notice(&format!("warning: `{name}` does not load any more; to see why: {why}"));
    }
    let status = if left.is_empty() && broken.is_empty() { ExitStatus::Done } else { ExitStatus::Drift };
    if taken.is_empty() && left.is_empty() {
        context.output.answer_line("No drift: nothing was changed outside.");
        return Ok(status);
    }
    for (heading, lines) in [("Taken over from live:", taken), ("Left as it is:", left)] {
        if !lines.is_empty() {
            context.output.answer_line(heading);
            lines.iter().for_each(|line| context.output.answer_line(line));
        }
    }
    // `git diff` does not show untracked files.
    let look = if edits.files.values().any(|edit| edit.before.is_empty()) { "git status -u" } else { "git diff" };
    let edited = match edits.files.len() {
        0 => "no file was edited.".to_owned(),
        1 => format!("1 file was edited.   Look at it: {look} "),
        more => format!("{more} files were edited.   Look at it: {look} "),
    };
    // With its new values, an object may no longer match the filters.
    let call = now.as_ref().map_or_else(|| stack.call(), |now| stack.call_of(now));
    context.output.answer_line(&format!("{edited}   Next:  trueup plan {call}"));
    Ok(status)
}

/// The overlay to write into; `None` for the definitions. Definitions that other environments share are written only if
/// the call asks for it.
fn overlay<'l>(arguments: &AdoptArgs, context: &Context, loaded: &'l Loaded) -> Result<Option<&'l str>> {
    let Some(name) = &loaded.options().environment else {
        return match arguments.into {
            Some(AdoptInto::Overlay) => {
                Err(error!(Usage, "`--into overlay` needs an environment").hint("choose one with --env"))
            }
            Some(AdoptInto::Base) | None => Ok(None),
        };
    };
    let own = loaded.config.own_overlay.as_deref();
    match (arguments.into, own) {
        (Some(AdoptInto::Base), _) => Ok(None),
        (_, None) => Err(error!(Refused, "the environment `{name}` has no overlay of its own to write into")
            .hint(format!("give it one: `overlay: overlays/{name}` under `environments: {name}:` in trueup.yaml"))
            .hint("or write into the definitions, which other environments share: --into base")
            .hint("nothing was written")),
        (Some(AdoptInto::Overlay) | None, Some(directory)) => {
            warn_of_others(context, (&loaded.root, &loaded.config), Some(directory));
            Ok(own)
        }
    }
}

/// Whether the directory loads in this environment now.
fn loads(loaded: &Loaded, environment: &str) -> bool {
    let options = LoadOptions { environment: Some(environment.to_owned()), ..loaded.options().clone() };
    load::directory(&loaded.root, &options).is_ok()
}

/// The endpoints that were deleted outside.
fn deleted(plan: &Plan) -> impl Iterator<Item = &Change> {
    let is_deleted =
        |change: &&Change| change.action.kind() == ActionKind::Create && change.cause == Some(Cause::Drift);
    plan.with_blocked().filter(is_deleted)
}

/// Only the values that were changed outside of trueup.
fn wanted(plan: &Plan) -> Vec<ValueToAdopt> {
    let fields = plan.with_blocked().flat_map(|change| change.fields().iter().map(|field| (&change.key, field)));
    fields
        .filter(|(_, field)| field.cause == Cause::Drift)
        .map(|(key, field)| ValueToAdopt {
            key: key.clone(),
            field: field.field.clone(),
            live: field.before.clone(),
            unnamed: None,
            tenant: None,
        })
        .collect()
}

/// The paths of secrets that the live value has and the definition lacks: their values are unknown.
fn new_secrets(taken: &ValueToAdopt, loaded: &Loaded) -> Vec<String> {
    let spec = taken.key.kind.message();
    let live = taken.unnamed.as_ref().unwrap_or(&taken.live);
    let live = taken.field.unit().map_or(kind::Keys::None, |unit| kind::keys_of(spec, unit, live));
    let definition = loaded.desired.definitions.get(&taken.key);
    let before = definition.map(|definition| kind::sealed::places(spec, &definition.endpoint.spec.json()));
    let mut places = kind::sealed::places(spec, &Json::Object(live.owned()));
    places.retain(|place| before.as_ref().is_none_or(|before| !before.contains(place)));
    places
}

/// The paths that a definition keeps although they are not live, because the service may have ignored them.
fn not_live(taken: &ValueToAdopt, now: &Loaded) -> Vec<String> {
    let of_unit = || Some((taken.field.unit()?, now.desired.definitions.get(&taken.key)?));
    let Some((unit, definition)) = of_unit() else { return Vec::new() };
    kind::taken(taken.key.kind.message(), unit, &taken.live, &definition.endpoint.spec.unit(unit)).1
}

/// Adds the live values that no definition names.
async fn name_unnamed(session: &Session<'_>, plan: &Plan, wanted: &mut Vec<ValueToAdopt>) -> Result<()> {
    // Values that are ignored, or covered by a difference, have no note.
    let noted = plan.nameable();
    let keys: BTreeSet<&Key> = noted.iter().map(|(key, _)| *key).collect();
    let (namespaces, kinds): (BTreeSet<_>, _) = keys.iter().map(|key| (&key.namespace, key.kind)).unzip();
    let live = session.source.live(Scope::each(namespaces, &kinds)).await;
    plan_errors::require_all_read(live.unknown(), "nothing was written")?;
    for (key, unit, whole) in keys.into_iter().flat_map(|key| units_of(session, &live, key)) {
        let field = Field::of_unit(&unit);
        if !noted.contains(&(key, field.clone())) {
            continue;
        }
        match wanted.iter_mut().find(|one| one.key == *key && one.field == field) {
            Some(one) => one.unnamed = Some(whole),
            None => {
                let definition = session.stack.loaded.desired.definitions.get(key);
                let live = definition.map(|definition| field.value(&definition.endpoint)).unwrap_or_default();
                wanted.push(ValueToAdopt { key: key.clone(), field, live, unnamed: Some(whole), tenant: None });
            }
        }
    }
    Ok(())
}

/// The values that no definition names and that are not written now, each with the reason.
fn left_unnamed(plan: &Plan, is_taken: bool) -> impl Iterator<Item = (&Key, &str, &'static str)> {
    let nameable = plan.nameable();
    plan.notes.iter().filter_map(move |note| {
        let Note::Unnamed { key, path, .. } = note else { return None };
        let waits = Field::of_kind(key.kind, path).is_some_and(|field| !nameable.contains(&(key, field)));
        let why = match (waits, is_taken) {
            (true, _) => "set outside, not named in the file: apply the change beside it, then --unnamed writes it",
            (false, false) => "set outside, not named in the file: --unnamed writes it",
            (false, true) => return None,
        };
        Some((key, path.as_str(), why))
    })
}

/// The units of a live object that have values which its definition does not name.
fn units_of<'k>(session: &Session<'_>, live: &Live, key: &'k Key) -> Vec<(&'k Key, String, Json)> {
    let definition = session.stack.loaded.desired.definitions.get(key);
    let wanted = definition.filter(|_| !key.kind.is_whole()).map(|definition| &definition.endpoint.spec);
    let (Some(wanted), Some(item @ LiveItem::Object(object))) = (wanted, live.item(key)) else { return Vec::new() };
    if !session.stack.selection.selects(key, definition, Some(item)) {
        return Vec::new();
    }
    let spec = &object.endpoint.spec;
    let is_unnamed = |name: &&str| !spec.unnamed(name, wanted).is_empty();
    let whole = |name: &str| (key, name.to_owned(), spec.unit(name));
    spec.names().filter(is_unnamed).map(whole).collect()
}

/// Finds the tenants of objects whose references are adopted: the service fills in only this tenant.
async fn name_tenants(session: &Session<'_>, wanted: &mut [ValueToAdopt]) -> Result<()> {
    let Some(connection) = &session.connection else { return Ok(()) };
    let reader = connection.reader()?;
    let mut tenants: BTreeMap<Key, Option<String>> = BTreeMap::new();
    for one in wanted {
        let spec = one.key.kind.message();
        let live = one.unnamed.as_ref().unwrap_or(&one.live);
        let keys = one.field.unit().map_or(kind::Keys::None, |unit| kind::keys_of(spec, unit, live));
        if kind::references(spec, keys).is_empty() {
            continue;
        }
        if !tenants.contains_key(&one.key) {
            let read = api::fetch_object(&reader, &one.key).await;
            let read = read.with_status(ExitStatus::Unknown).hint("nothing was written")?;
            tenants.insert(one.key.clone(), read.object().and_then(|object| object.live.tenant.clone()));
        }
        one.tenant = tenants.get(&one.key).cloned().flatten();
    }
    Ok(())
}

/// Drift that no definition can adopt, because there is none.
fn undefined(plan: &Plan) -> impl Iterator<Item = String> {
    let is_unmanaged =
        |change: &&Change| change.action.kind() == ActionKind::Delete && change.cause == Some(Cause::Unannotated);
    let deleted = "nothing defines it, so an apply deletes it: to keep it, define it";
    let deletes = plan.with_blocked().filter(is_unmanaged).map(move |change| (&change.key, deleted.to_owned()));
    let outside = plan.notes.iter().filter_map(|note| match note {
        Note::Outside { key, .. } => {
            Some((key, format!("outside of `namespaces:`: list `{}` there again", key.namespace)))
        }
        Note::OutsideKinds { key, .. } => Some((key, format!("outside of `kinds:`: list `{}` there", key.kind))),
        _ => None,
    });
    deletes.chain(outside).map(|(key, why)| line(key, whole(key), None, &why))
}

fn whole(key: &Key) -> &'static str {
    if key.kind.is_endpoint() { "the endpoint" } else { "the object" }
}

fn line(key: &Key, what: &str, place: Option<String>, why: &str) -> String {
    let place = place.unwrap_or_default();
    let text = format!("  {:<40}  {what:<24}  {place}  {why}", key.to_string());
    text.trim_end().to_owned()
}

/// What could not be edited in place, with its location or the overlay file in which it belongs.
fn not_edited(
    edits: &AdoptedEdits,
    in_overlay: impl Fn(&Key) -> Option<String>,
    place: impl Fn(&Key, Option<&Field>) -> Option<String>,
) -> Vec<String> {
    let not_edited = edits.left.iter().map(|(key, field, reason)| {
        let written = place(key, Some(field));
        let is_there = |file: &String| written.as_ref().is_some_and(|place| place.starts_with(&format!("{file}:")));
        let place = in_overlay(key).filter(|file| !is_there(file)).or_else(|| written.clone());
        line(key, &field.to_string(), place, &reason.to_string())
    });
    not_edited.collect()
}

/// What was adopted, and what was not, a line for each.
fn summary(
    plan: &Plan,
    edits: &AdoptedEdits,
    removals: &BTreeMap<&Key, Removal>,
    place: impl Fn(&Key, Option<&Field>) -> Option<String>,
) -> (Vec<String>, Vec<String>) {
    let adopted = edits.adopted.iter().map(|(key, field)| line(key, &field.to_string(), place(key, Some(field)), ""));
    let mut taken: Vec<String> = adopted.collect();
    let mut left = Vec::new();
    for change in plan.with_blocked() {
        for field in change.fields() {
            let why = match field.cause {
                Cause::Both => "changed here and outside: decide",
                Cause::Unannotated => "not known whose change it is: decide",
                Cause::Drift | Cause::Pending => continue,
            };
            left.push(line(&change.key, &field.field.to_string(), place(&change.key, Some(&field.field)), why));
        }
    }
    for (key, removal) in removals {
        let why = match removal {
            Removal::Made => {
                taken.push(line(key, whole(key), None, "removed in the overlay"));
                continue;
            }
            Removal::InOverlay(place) => {
                format!("deleted outside: to keep that, remove it with `$remove: true` in {place}")
            }
            Removal::InDefinition => {
                let place = place(key, None).unwrap_or_else(|| "its file".to_owned());
                format!("deleted outside: remove {place} to keep that")
            }
            Removal::OfLast => {
                "deleted outside: to keep that, set `allow_empty: true` first, because nothing else is defined"
                    .to_owned()
            }
        };
        left.push(line(key, whole(key), None, &why));
    }
    for entry in &plan.blocked {
        if let Some((reason, _)) = entry.unread() {
            let why = format!("this trueup cannot read the live object: {reason}");
            left.push(line(&entry.key, whole(&entry.key), place(&entry.key, None), &why));
        }
    }
    (taken, left)
}
