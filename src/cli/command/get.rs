//! `get`: shows live endpoints as a table, as definitions or as JSON. It reads whole namespaces, as every command
//! does, so that an endpoint that is not shown is not there.

use crate::cli::args;
use crate::cli::command::prelude::*;
use crate::cli::definition::{self, DefinitionOptions};
use crate::model::{ListRead, Live, LiveItem};
use crate::plan::{Selection, UnmatchedFilter};
use crate::report::facts::unread;
use crate::report::objects::ObjectListing;

/// Shows live objects.
///
/// Reads whole namespaces: those of the arguments, else those that trueup.yaml lists. Filters choose among what was
/// read. A namespace that could not be read completely is reported, and the exit code is 5.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  trueup get\n  trueup get shop\n  trueup get shop/cart --format yaml\n  trueup get '*:shop'\n  trueup get -n shop -l tier=web --columns endpoint,target,labels\n  trueup get --format json | jq -r '.endpoints[].key'"
)]
pub struct GetArgs {
    /// A namespace, or an object in it; its name may be a glob, and its kind `*`. Without a kind, endpoints [default: the
    /// namespaces of trueup.yaml]
    #[arg(value_name = "[KIND:]NAMESPACE[/NAME]", add = ArgValueCompleter::new(completer::endpoints))]
    pub endpoints: Vec<String>,
    #[command(flatten)]
    pub columns: ColumnArgs,
    /// Output format
    // Elsewhere `-o` names a file, but kubectl users give it a format here.
    #[arg(long, short_alias = 'o', alias = "output", value_name = "FORMAT", default_value = "table", value_parser = formats(Format::OF_ENDPOINTS))]
    pub format: Format,
    #[command(flatten)]
    pub filter: FilterArgs,
}

impl Execute for GetArgs {
    const GLOBALS: GlobalOptions = Some(&[SERVICE, "config env"]);
    const ENDS_ON_INTERRUPT: bool = true;

    async fn execute(&self, context: &Context) -> Result<ExitStatus> {
        self.columns.check(self.format == Format::Table, "give --format table")?;
        let config = settings::of_directory(context, Path::new("."))?;
        let wanted = Wanted::of(self, context, &config)?;
        let connection = service::connect(context, &config).await?;
        let mut live = api::fetch(&connection.reader()?, wanted.scopes.keys().cloned()).await;
        live.lists.retain(|scope, read| wanted.scopes[scope] || !matches!(read, ListRead::NotOffered));
        let items = wanted.items(&live);
        wanted.found(context, &live, &items)?;
        let (service, columns) = (&connection.service(), &self.columns.columns);
        let listing = ObjectListing { service, taken: None, live: &live, items, columns };
        let mut left_out = 0;
        if listing.items.is_empty()
            && self.format != Format::Json
            && live.lists.values().any(|read| read.items().is_some())
        {
            // The service gives the same answer for a namespace that does not exist.
            let names: Vec<String> = wanted.namespaces.iter().map(ToString::to_string).collect();
            let message = format!("Nothing is in {}, or there is no such namespace.", names.join(", "));
            context.output.message(&message);
            let kinds = self.endpoints.iter().filter_map(|text| kind_of(text));
            kinds.for_each(|kind| context.output.message(&of_kind(kind)));
        }
        match self.format {
            Format::Yaml => {
                let documents = definitions(context, &listing);
                left_out = listing.items.len() - documents.len();
                context.output.answer(&documents.join("---\n"));
            }
            Format::Table if listing.items.is_empty() => {}
            format => context.output.report(&listing, format),
        }
        let status = if left_out == 0 { ExitStatus::Done } else { ExitStatus::Partly };
        Ok(status.worse(report_unknown(context, &live)))
    }
}

/// The kind that a word names; as in kubectl, the word may be a plural.
fn kind_of(word: &str) -> Option<KindName> {
    KindName::find(word).or_else(|| KindName::find(word.strip_suffix('s')?))
}

/// How to name the objects of a kind.
fn of_kind(kind: KindName) -> String {
    format!("the objects of that kind in a namespace are `{kind}:NAMESPACE`")
}

/// What a call asks for.
struct Wanted {
    /// The namespaces to read.
    namespaces: BTreeSet<Namespace>,
    /// The lists to read, and whether the call names their kind: `*` means the kinds that the service offers.
    scopes: BTreeMap<Scope, bool>,
    /// Objects that are named without a glob, so they must exist.
    named: BTreeSet<Key>,
    /// What the arguments name.
    places: Selection,
    /// What the filters choose among them.
    filters: Selection,
}

impl Wanted {
    fn of(arguments: &GetArgs, context: &Context, config: &Config) -> Result<Self> {
        let given = &arguments.endpoints;
        let is_in = |text: &String, name: &Namespace| {
            text.rsplit(':').next().and_then(|place| place.split('/').next()) == Some(name.as_str())
        };
        let is_beside = |name: &&Namespace| !given.is_empty() && !given.iter().any(|text| is_in(text, name));
        if let Some(name) = arguments.filter.namespace.iter().find(is_beside) {
            // For kubectl, the word after `--namespace` is a kind or an object of it.
            let hint = match given.as_slice() {
                [word] if !word.contains([':', '/']) => match kind_of(word) {
                    Some(kind) => format!("did you mean `{kind}:{name}`?"),
                    None => format!("did you mean `{name}/{word}`?"),
                },
                _ => "leave it out, or name the objects of that namespace".to_owned(),
            };
            return Err(error!(Usage, "`--namespace {name}` is not the namespace of an argument").hint(hint));
        }
        let of_stack = config.kinds_with_endpoint();
        let (mut namespaces, mut scopes, mut named) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        // Several arguments form a union.
        let mut places = FilterArgs::default();
        for text in &arguments.endpoints {
            let (kind, place) = text.split_once(':').unwrap_or(("endpoint", text));
            let (namespace, name) = place.split_once('/').unwrap_or((place, ""));
            let wrong = |error| error!(Usage, "{error}").hint_each(kind_of(text).map(of_kind));
            let of = BTreeSet::from([args::namespace(namespace).map_err(wrong)?]);
            let unknown = || error!(Usage, "there is no kind `{kind}`").hint("to list the kinds: trueup kinds");
            let kinds = match kind {
                "*" => stack::kinds_in(&of),
                _ if name.is_empty() && !text.contains(':') => of_stack.clone(),
                _ => BTreeSet::from([KindName::find(kind).ok_or_else(unknown)?]),
            };
            Scope::each(&of, &kinds).for_each(|scope| *scopes.entry(scope).or_default() |= kind != "*");
            namespaces.extend(of);
            match Key::parse(text) {
                Ok(key) => {
                    places.only.push(format!("{kind}:{}", globset::escape(place)));
                    named.insert(key);
                }
                Err(_) if name.is_empty() => places.only.push(format!("{kind}:{namespace}/*")),
                Err(_) => places.only.push(format!("{kind}:{place}")),
            }
        }
        if namespaces.is_empty() {
            namespaces = stack::named_namespaces(
                context,
                &arguments.filter.namespace,
                config,
                "name one: trueup get NAMESPACE",
            )?;
            scopes = Scope::each(&namespaces, &of_stack).map(|scope| (scope, true)).collect();
        }
        if arguments.endpoints.iter().all(|text| !text.contains('/')) {
            // Whole lists need no filter, so that an empty one is not an error.
            places.only.clear();
        }
        let (places, filters) = (stack::selection(&places)?, stack::selection(&arguments.filter)?);
        Ok(Self { namespaces, scopes, named, places, filters })
    }

    fn items<'l>(&self, live: &'l Live) -> Vec<&'l LiveItem> {
        let is_selected = |item: &&LiveItem| {
            [&self.places, &self.filters].iter().all(|one| one.selects(item.key(), None, Some(item)))
        };
        live.items().map(|(_, item)| item).filter(is_selected).collect()
    }

    /// Checks that every named object exists and every filter matches something, as far as lists could be read.
    fn found(&self, context: &Context, live: &Live, items: &[&LiveItem]) -> Result<()> {
        for key in &self.named {
            let Some(items) = live.lists[&key.into()].items() else { continue };
            if !items.contains_key(key) {
                let names: Vec<String> = items.keys().map(ToString::to_string).collect();
                let error = error!(Failed, "there is no live {} `{key}`", Key::noun([key]));
                return Err(match load::nearest(&key.to_string(), names.iter().map(String::as_str)) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => {
                        let list = format!("trueup get {}{}", Scope::from(key), context.call.settings());
                        error.hint(format!("to see those of the namespace: {list}"))
                    }
                });
            }
        }
        if live.unknown().next().is_some() {
            return Ok(());
        }
        // If something is shown, an argument may match nothing.
        let of_places = || stack::unmatched_live(&self.places, live).filter(|_| items.is_empty());
        let together = || (items.is_empty() && live.items().next().is_some()).then_some(UnmatchedFilter::Together);
        let unmatched = stack::unmatched_live(&self.filters, live).or_else(of_places).or_else(together);
        unmatched.map_or(Ok(()), |unmatched| Err(stack::unmatched(unmatched)))
    }
}

/// The documents of the endpoints that a definition can describe.
fn definitions(context: &Context, listing: &ObjectListing<'_>) -> Vec<String> {
    let text = |item: &&LiveItem| match item {
        LiveItem::Unsupported(unsupported) => Err(format!("this trueup cannot represent it: {}", unsupported.reason)),
        LiveItem::Object(object) => {
            let text = definition::text(&object.endpoint, DefinitionOptions::of_live(object));
            definition::refused(&object.endpoint, "object.yaml", &text).map_or(Ok(text), Err)
        }
    };
    let mut documents = Vec::new();
    for item in &listing.items {
        match text(item) {
            Ok(text) => documents.push(text),
            Err(reason) => {
                context.output.notice(&format!("left out: {}: {reason}", item.key()));
                continue;
            }
        }
        for place in item.object().iter().flat_map(|object| &object.secrets) {
            context.output.notice(&format!("not shown: {place} of {}: no answer shows a secret", item.key()));
        }
    }
    documents
}

/// Reports what could not be read, each reason once.
fn report_unknown(context: &Context, live: &Live) -> ExitStatus {
    let messages = unread::messages(live.unknown());
    for message in &messages {
        context.output.error(&error!(Unknown, "{message}"));
    }
    if messages.is_empty() { ExitStatus::Done } else { ExitStatus::Unknown }
}
