//! An object in memory and its JSON in answers. It is the text of its record, as the store contains it, with the
//! position of each value; an answer is made of these values and the service's keys. So a tenant takes little more
//! memory than its file, and a list copies texts and parses nothing.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::{Referrer, StoredObject, ViewReference};
use crate::sandbox::answer::ErrorResponse;

/// The value of `response_format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFormat {
    Default,
    ForCreate,
    ForReplace,
    Status,
    Read,
    ReferringObjects,
    BrokenReferences,
}

impl ResponseFormat {
    /// Parses a name or a number, as the service does.
    pub fn parse(text: &str) -> Result<Self, ErrorResponse> {
        Ok(match text {
            "GET_RSP_FORMAT_DEFAULT" | "0" => Self::Default,
            "GET_RSP_FORMAT_FOR_CREATE" | "1" => Self::ForCreate,
            "GET_RSP_FORMAT_FOR_REPLACE" | "2" => Self::ForReplace,
            "GET_RSP_FORMAT_STATUS" | "3" => Self::Status,
            "GET_RSP_FORMAT_READ" | "4" => Self::Read,
            "GET_RSP_FORMAT_REFERRING_OBJECTS" | "5" => Self::ReferringObjects,
            "GET_RSP_FORMAT_BROKEN_REFERENCES" | "6" => Self::BrokenReferences,
            other => {
                let message = format!("parsing field \"response_format\": {other} is not a valid value");
                return Err(ErrorResponse::invalid(message));
            }
        })
    }
}

/// What a list contains of each item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListContents {
    /// Metadata and spec: the request has a `report_fields`, whatever its value.
    pub whole: bool,
    /// The statuses: the request has a `report_status_fields` that is not empty.
    pub status: bool,
}

macro_rules! parts {
    ($($part:ident = $field:ident),+ $(,)?) => {
        /// A value of a record.
        #[derive(Clone, Copy)]
        enum Part { $($part),+ }

        /// The values of a record as its text contains them.
        #[derive(Deserialize)]
        struct Values<'t> {
            version: u64,
            $(#[serde(borrow)] $field: &'t RawValue,)+
        }

        /// The number of parts.
        const PARTS: usize = [$(Part::$part),+].len();

        impl<'t> Values<'t> {
            /// All of them, in the order of [`Part`].
            fn texts(&self) -> [&'t str; PARTS] {
                [$(self.$field.get()),+]
            }
        }
    };
}

parts! {
    Uid = uid,
    Namespace = namespace,
    Name = name,
    Labels = labels,
    Annotations = annotations,
    Description = description,
    Disable = disable,
    Spec = spec,
    Created = created,
    Modified = modified,
    Deleted = deleted,
    Finalizers = finalizers,
    OwnerView = owner_view,
    CreatorClass = creator_class,
    CreatorId = creator_id,
    Status = status,
    Referrers = referrers,
}

/// An object as the service answers with it.
#[derive(Debug)]
pub struct ServedObject {
    pub version: u64,
    /// The record as JSON.
    text: Box<str>,
    /// The start and end of each part in `text`.
    spans: [(u32, u32); PARTS],
}

impl ServedObject {
    /// The object of a record in JSON.
    ///
    /// # Errors
    /// The text is not a record.
    pub fn new(text: Box<str>) -> serde_json::Result<Self> {
        let values: Values<'_> = serde_json::from_str(&text)?;
        let begin = text.as_ptr() as usize;
        let spans = values.texts().map(|part| {
            let start = part.as_ptr() as usize - begin;
            // Requests are far smaller than 4 GB, and so are records.
            (u32::try_from(start).unwrap_or_default(), u32::try_from(start + part.len()).unwrap_or_default())
        });
        let version = values.version;
        Ok(Self { version, text, spans })
    }

    fn part(&self, part: Part) -> &str {
        let (start, end) = self.spans[part as usize];
        &self.text[start as usize..end as usize]
    }

    fn read<'t, T: Deserialize<'t>>(&'t self, part: Part) -> Result<T, ErrorResponse> {
        serde_json::from_str(self.part(part)).map_err(ErrorResponse::internal)
    }

    /// The whole record.
    pub fn record(&self) -> Result<StoredObject, ErrorResponse> {
        serde_json::from_str(&self.text).map_err(ErrorResponse::internal)
    }

    /// Its namespace and its name.
    ///
    /// # Errors
    /// One of them is not a text.
    pub fn key(&self) -> serde_json::Result<(String, Box<str>)> {
        Ok((serde_json::from_str(self.part(Part::Namespace))?, serde_json::from_str(self.part(Part::Name))?))
    }

    /// Its labels, as a map of strings.
    pub fn labels<'t, T: Deserialize<'t>>(&'t self) -> Result<T, ErrorResponse> {
        self.read(Part::Labels)
    }

    /// Whether it is being deleted.
    pub fn is_deleted(&self) -> bool {
        self.part(Part::Deleted) != "null"
    }

    /// Whether another object owns it.
    pub fn is_owned(&self) -> bool {
        self.part(Part::OwnerView) != "null"
    }

    /// The object that owns it.
    pub fn owner_view(&self) -> Result<Option<ViewReference>, ErrorResponse> {
        self.read(Part::OwnerView)
    }

    /// Its spec as JSON.
    pub fn spec(&self) -> &str {
        self.part(Part::Spec)
    }

    /// Its uid.
    pub fn uid(&self) -> Result<String, ErrorResponse> {
        self.read(Part::Uid)
    }

    /// Objects that refer to it but are not stored here.
    pub fn referrers(&self) -> Result<Vec<Referrer>, ErrorResponse> {
        self.read(Part::Referrers)
    }

    /// The answer to a create. `tenant` is the tenant's name as JSON.
    pub fn created(&self, tenant: &str) -> String {
        let (metadata, system) = (self.metadata(self.part(Part::Name)), self.system(tenant));
        let [metadata, system] = [metadata.as_flattened(), system.as_flattened()].map(<[&str]>::concat);
        format!(r#"{{"metadata":{metadata},"system_metadata":{system},"spec":{}}}"#, self.part(Part::Spec))
    }

    /// The answer to a get; `referrers` is JSON. Every format contains every root key and the version.
    pub fn got(&self, tenant: &str, format: ResponseFormat, referrers: &str) -> String {
        let spec = self.part(Part::Spec);
        let when =
            |shown: bool, text: &dyn Fn() -> String, hidden: &str| if shown { text() } else { hidden.to_owned() };
        let whole = matches!(format, ResponseFormat::Default | ResponseFormat::Read);
        let metadata = || self.metadata(self.part(Part::Name)).as_flattened().concat();
        let create_form =
            || format!(r#"{{"metadata":{},"spec":{spec}}}"#, self.metadata(r#""""#).as_flattened().concat());
        // The service leaves the version empty here.
        let replace_form = || format!(r#"{{"metadata":{},"spec":{spec},"resource_version":""}}"#, metadata());
        format!(
            concat!(
                r#"{{"create_form":{},"replace_form":{},"resource_version":"{}","metadata":{},"system_metadata":{},"#,
                r#""spec":{},"status":{},"referring_objects":{},"deleted_referred_objects":[],"#,
                r#""disabled_referred_objects":[]}}"#,
            ),
            when(format == ResponseFormat::ForCreate, &create_form, "null"),
            when(format == ResponseFormat::ForReplace, &replace_form, "null"),
            self.version,
            when(whole, &metadata, "null"),
            when(whole, &|| self.system(tenant).as_flattened().concat(), "null"),
            when(whole, &|| spec.to_owned(), "null"),
            when(
                matches!(format, ResponseFormat::Default | ResponseFormat::Status),
                &|| self.part(Part::Status).to_owned(),
                "[]"
            ),
            when(format == ResponseFormat::ReferringObjects, &|| referrers.to_owned(), "[]"),
        )
    }

    /// The item of a list, in pieces. `tenant` is the tenant's name as JSON.
    pub fn listed<'t>(&'t self, tenant: &'t str, report: ListContents) -> impl Iterator<Item = &'t str> {
        let whole = || {
            let metadata = self.metadata(self.part(Part::Name)).into_iter().flatten();
            let system = metadata.chain([r#","system_metadata":"#]).chain(self.system(tenant).into_iter().flatten());
            system.chain([r#","get_spec":"#, self.part(Part::Spec)])
        };
        let begin =
            if report.whole { r#","metadata":"# } else { r#","metadata":null,"system_metadata":null,"get_spec":null"# };
        let whole = report.whole.then(whole).into_iter().flatten();
        let status = if report.status { self.part(Part::Status) } else { "[]" };
        self.head(tenant).into_iter().flatten().chain([begin]).chain(whole).chain([r#","status_set":"#, status, "}"])
    }

    /// The item of a list up to its `metadata`: keys and values.
    fn head<'t>(&'t self, tenant: &'t str) -> [[&'t str; 2]; 9] {
        [
            [r#"{"tenant":"#, tenant],
            [r#","namespace":"#, self.part(Part::Namespace)],
            [r#","name":"#, self.part(Part::Name)],
            [r#","uid":"#, self.part(Part::Uid)],
            [r#","description":"#, self.part(Part::Description)],
            [r#","disabled":"#, self.part(Part::Disable)],
            [r#","labels":"#, self.part(Part::Labels)],
            [r#","annotations":"#, self.part(Part::Annotations)],
            [r#","owner_view":"#, self.part(Part::OwnerView)],
        ]
    }

    fn metadata<'t>(&'t self, name: &'t str) -> [[&'t str; 2]; 7] {
        [
            [r#"{"name":"#, name],
            [r#","namespace":"#, self.part(Part::Namespace)],
            [r#","labels":"#, self.part(Part::Labels)],
            [r#","annotations":"#, self.part(Part::Annotations)],
            [r#","description":"#, self.part(Part::Description)],
            [r#","disable":"#, self.part(Part::Disable)],
            ["}", ""],
        ]
    }

    fn system<'t>(&'t self, tenant: &'t str) -> [[&'t str; 2]; 10] {
        [
            [r#"{"uid":"#, self.part(Part::Uid)],
            [r#","creation_timestamp":"#, self.part(Part::Created)],
            [r#","deletion_timestamp":"#, self.part(Part::Deleted)],
            [r#","modification_timestamp":"#, self.part(Part::Modified)],
            [r#","initializers":null,"finalizers":"#, self.part(Part::Finalizers)],
            [r#","tenant":"#, tenant],
            [r#","creator_class":"#, self.part(Part::CreatorClass)],
            [r#","creator_id":"#, self.part(Part::CreatorId)],
            [r#","object_index":0,"owner_view":"#, self.part(Part::OwnerView)],
            [r#","labels":{}}"#, ""],
        ]
    }
}
