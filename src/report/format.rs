//! The formats of reports, and which report has which.

macro_rules! formats {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// A format of reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum Format {
            #[default]
            $($(#[doc = $doc])+ $variant),+
        }

        impl Format {
            /// Its name on the command line.
            pub const fn as_str(self) -> &'static str {
                match self { $(Format::$variant => $name),+ }
            }

            /// The format of this name.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Format::$variant),)+ _ => None }
            }
        }
    };
}

formats! {
    /// For people.
    Text = "text",
    /// One JSON document.
    Json = "json",
    /// For a pull request or an issue.
    Markdown = "markdown",
    /// One page for a browser.
    Html = "html",
    /// JUnit XML.
    Junit = "junit",
    /// Metrics of Prometheus.
    Prometheus = "prometheus",
    /// Workflow commands of GitHub Actions.
    Github = "github",
    /// SARIF 2.1.0.
    Sarif = "sarif",
    /// Columns for people.
    Table = "table",
    /// Definitions, as `pull` writes them.
    Yaml = "yaml",
    /// A JSON document a line.
    Ndjson = "ndjson",
    /// The matrix of a job of GitHub Actions.
    Matrix = "github-matrix",
    /// A file that acknowledges the drift which was found.
    Acknowledgements = "acknowledgements",
}

impl Format {
    /// The formats of checked definitions.
    pub const OF_VALIDATION: &'static [Self] = &[Self::Text, Self::Json, Self::Github, Self::Sarif];
    /// The formats of a plan.
    pub const OF_PLAN: &'static [Self] =
        &[Self::Text, Self::Json, Self::Markdown, Self::Html, Self::Github, Self::Sarif];
    /// The formats of a verdict.
    pub const OF_DRIFT: &'static [Self] = &[
        Self::Text,
        Self::Json,
        Self::Markdown,
        Self::Html,
        Self::Junit,
        Self::Prometheus,
        Self::Github,
        Self::Sarif,
        Self::Acknowledgements,
    ];
    /// The formats of the merged checks of several stacks.
    pub const OF_MERGED: &'static [Self] =
        &[Self::Text, Self::Json, Self::Markdown, Self::Html, Self::Junit, Self::Prometheus, Self::Github, Self::Sarif];
    /// The formats of a list of stacks.
    pub const OF_STACKS: &'static [Self] = &[Self::Text, Self::Json, Self::Markdown, Self::Matrix];
    /// The formats of a run in progress and its outcome.
    pub const OF_APPLY: &'static [Self] = &[Self::Text, Self::Json, Self::Ndjson];
    /// The formats of the files that a run is written to.
    pub const OF_RUN_FILES: &'static [Self] = &[Self::Json, Self::Prometheus];
    /// The formats of what `show` shows.
    pub const OF_SHOWN: &'static [Self] =
        &[Self::Text, Self::Json, Self::Markdown, Self::Html, Self::Github, Self::Sarif, Self::Prometheus];
    /// The formats of live endpoints.
    pub const OF_ENDPOINTS: &'static [Self] = &[Self::Table, Self::Yaml, Self::Json];
    /// The formats of every other answer: rehearsals, the history, what the service is asked besides endpoints, explanations.
    pub const OF_ANSWERS: &'static [Self] = &[Self::Text, Self::Json];
    /// The formats of security events.
    pub const OF_EVENTS: &'static [Self] = &[Self::Table, Self::Json, Self::Ndjson];
}
