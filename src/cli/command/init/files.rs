//! The files of a new stack as texts. Pure: the answers go in, paths and texts come out.

use super::Forge;
use crate::cli::command::prelude::*;
use crate::model::Name;

/// The service of the example pipelines.
const EXAMPLE_URL: &str = "https://acme.console.example.net";

/// The URL in a new file if the service is unknown.
pub const NO_URL: &str = "https://TENANT.console.ves.volterra.io";

/// The pipelines for GitHub, by their path in the repository.
const GITHUB: [(&str, &str); 7] = [
    (".github/workflows/plan.yaml", include_str!("../../../../examples/pipelines/github/plan.yaml")),
    (".github/workflows/comment.yaml", include_str!("../../../../examples/pipelines/github/comment.yaml")),
    (".github/workflows/apply.yaml", include_str!("../../../../examples/pipelines/github/apply.yaml")),
    (".github/workflows/apply-stack.yaml", include_str!("../../../../examples/pipelines/github/apply-stack.yaml")),
    (".github/workflows/drift.yaml", include_str!("../../../../examples/pipelines/github/drift.yaml")),
    (".github/workflows/snapshot.yaml", include_str!("../../../../examples/pipelines/github/snapshot.yaml")),
    (".github/actions/setup-trueup/action.yml", include_str!("../../../../action.yml")),
];
/// The pipelines for GitLab.
const GITLAB: [(&str, &str); 3] = [
    (".gitlab-ci.yml", include_str!("../../../../examples/pipelines/gitlab/gitlab-ci.yml")),
    (".gitlab/trueup-stack.yml", include_str!("../../../../examples/pipelines/gitlab/trueup-stack.yml")),
    (".gitlab/trueup.yml", include_str!("../../../../templates/trueup.yml")),
];

/// A definition to begin with.
const EXAMPLE: &str = include_str!("example.yaml");

const GITIGNORE: &str = "\
# Saved plans and snapshots contain whole endpoints; a review needs only the digest.
plan.json
live.json
# A token belongs into a secret store, never into a repository.
*.token
# A command that was killed can leave a file that it was writing.
.trueup-*.tmp
";

/// What the files of a new stack depend on.
#[derive(Debug)]
pub struct NewStack {
    /// The service, if it is known.
    pub base_url: Option<BaseUrl>,
    /// The name under which it owns objects.
    pub name: Name,
    /// Its namespaces, at least one.
    pub namespaces: Vec<Namespace>,
    /// The kinds of its definitions besides endpoints.
    pub kinds: Vec<KindName>,
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its path, relative to the directory that the list is for.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl NewFile {
    fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}

/// `trueup.yaml`.
pub fn settings(stack: &NewStack) -> NewFile {
    let base_url = match &stack.base_url {
        Some(url) => {
            format!("# The service. A pipeline names it again beside the token, as TRUEUP_BASE_URL.\nbase_url: {url}\n")
        }
        None => format!("# The service.\n# base_url: {NO_URL}\n"),
    };
    let namespaces: Vec<String> = stack.namespaces.iter().map(|namespace| scalar(namespace.as_str())).collect();
    let kinds: Vec<&str> = stack.kinds.iter().map(|kind| kind.as_str()).collect();
    let kinds = match kinds.is_empty() {
        true => String::new(),
        false => format!("\n# Of these kinds, too.\nkinds: [{}]\n", kinds.join(", ")),
    };
    let text = format!(
        "# The settings of this stack. `trueup schema --of config` describes all of them.\n\n\
         # The name under which this repository owns endpoints, unique in the tenant.\n\
         stack: {}\n\n{base_url}\n\
         # trueup reads these namespaces, and deletes what the stack owns only in them.\n\
         namespaces: [{}]\n{kinds}",
        scalar(stack.name.as_str()),
        namespaces.join(", ")
    );
    NewFile::new(config::FILE, text)
}

/// A name in YAML, quoted where needed, such as `'null'`.
fn scalar(name: &str) -> String {
    safe::yaml_of_texts(&name).trim_end().to_owned()
}

/// A definition to begin with.
pub fn example(stack: &NewStack) -> Option<NewFile> {
    let namespace = stack.namespaces.first()?;
    let text = EXAMPLE.replace("NAMESPACE", &scalar(namespace.as_str()));
    Some(NewFile::new(format!("{namespace}/example.yaml"), text))
}

/// `.gitignore`.
pub fn gitignore() -> NewFile {
    NewFile::new(".gitignore", GITIGNORE)
}

/// The pipelines of a forge, with paths from the top of the repository. They find its stacks by themselves.
pub fn pipelines(forge: Forge, stack: &NewStack) -> Vec<NewFile> {
    let files: &[(&str, &str)] = match forge {
        Forge::Github => &GITHUB,
        Forge::Gitlab => &GITLAB,
        Forge::None => &[],
    };
    let url = stack.base_url.as_ref().map_or(NO_URL, BaseUrl::as_str);
    files.iter().map(|(path, text)| NewFile::new(*path, text.replace(EXAMPLE_URL, url))).collect()
}

/// What has to be set before the pipelines of a forge run.
pub fn before_pipelines(forge: Forge) -> Option<&'static str> {
    match forge {
        Forge::Github => Some(
            "Before the workflows run:\n  \
             set the variable TRUEUP_RELEASES to the URL of the releases of trueup\n  \
             set `sha256` in each workflow, from SHA256SUMS of the release\n  \
             add the secret TRUEUP_READ_TOKEN to the environment `plan`, TRUEUP_WRITE_TOKEN to `production`\n  \
             let only the default branch deploy to the environment `production`, and require reviewers in it\n  \
             for each environment NAME of a stack, `plan-NAME` has the tokens of `plan`, and `production-NAME` the rules of `production`\n  \
             require the check `trueup` of the workflow `plan`\n  \
             name your default branch in apply.yaml, apply-stack.yaml and snapshot.yaml, if it is not `main`\n  \
             delete snapshot.yaml if only the tenant's team may read its contents\n",
        ),
        Forge::Gitlab => Some(
            "Before the pipeline runs:\n  \
             set `releases`, `sha256` (from SHA256SUMS of the release) and `image` in .gitlab-ci.yml and .gitlab/trueup-stack.yml\n  \
             add the masked variable TRUEUP_TOKEN to the environments `plan/*` (reads) and `production/*` (writes)\n  \
             protect each environment `production/…`, with approvals: its jobs alone get the token that writes\n  \
             add a pipeline schedule for the nightly check\n  \
             add TRUEUP_COMMENT_TOKEN, a token of the project with the scope `api`, for the notes in merge requests\n",
        ),
        Forge::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack() -> NewStack {
        let name = |text| Namespace::parse(text).expect("a name");
        NewStack {
            base_url: Some(BaseUrl::parse("https://t.example.net").expect("a URL")),
            name: Name::parse("s").expect("a name"),
            namespaces: vec![name("shop"), name("pay")],
            kinds: Vec::new(),
        }
    }

    #[test]
    fn nothing_of_the_example_is_left_in_a_pipeline() {
        for (forge, count) in [(Forge::Github, 7), (Forge::Gitlab, 3), (Forge::None, 0)] {
            let files = pipelines(forge, &stack());
            assert_eq!(files.len(), count);
            let all: String = files.iter().map(|file| file.text.as_str()).collect();
            assert!(!all.contains(EXAMPLE_URL), "{all}");
            if count > 0 {
                assert!(all.contains("https://t.example.net"));
                assert!(all.contains(env!("CARGO_PKG_VERSION")));
            }
        }
    }

    #[test]
    fn each_workflow_that_names_a_branch_is_in_the_list_of_what_to_set() {
        let list = before_pipelines(Forge::Github).expect("a list");
        for (path, text) in GITHUB {
            let named = ["[main]", "heads/main", "origin/main"].iter().any(|branch| text.contains(branch));
            let line = list.lines().find(|line| line.contains("if it is not `main`")).expect("a line");
            assert_eq!(named, line.contains(&format!(" {}", path.rsplit('/').next().expect("a name"))), "{path}");
        }
    }

    #[test]
    fn what_the_pipelines_of_a_forge_need_is_in_the_list_of_what_to_set() {
        let needed = [
            (Forge::Github, "reviewer", "reviewers"),
            (Forge::Github, "TRUEUP_RELEASES", "TRUEUP_RELEASES"),
            (Forge::Gitlab, "\"schedule\"", "schedule"),
            (Forge::Gitlab, "the protected ones", "protect"),
            (Forge::Gitlab, "TRUEUP_COMMENT_TOKEN", "TRUEUP_COMMENT_TOKEN"),
        ];
        for (forge, used, named) in needed {
            assert!(pipelines(forge, &stack()).iter().any(|file| file.text.contains(used)), "{used}");
            assert!(before_pipelines(forge).expect("a list").contains(named), "{named}");
        }
    }

    #[test]
    fn the_settings_name_what_was_given() {
        let text = settings(&stack()).text;
        assert!(text.contains("\nstack: s\n") && text.contains("\nbase_url: https://t.example.net\n"), "{text}");
        assert!(text.contains("\nnamespaces: [shop, pay]\n"), "{text}");
        assert!(settings(&NewStack { base_url: None, ..stack() }).text.contains("\n# base_url: "));
    }
}
