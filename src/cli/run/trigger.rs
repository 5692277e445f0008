//! Who and what starts a run: the person, the change request, the job and the commit that the variables of a forge
//! name, and who approved the plan and how.

use crate::cli::ProcessEnvironment;
use crate::cli::args::ApprovalArgs;
use crate::run::{ApprovalKind, RunTrigger};

/// The variable that names who approved, if no flag does.
const APPROVED_BY: &str = "TRUEUP_APPROVED_BY";
/// The variable that names the change request if the forge's own do not: after a merge they name none.
const CHANGE_REQUEST: &str = "TRUEUP_CHANGE_REQUEST";

/// Who and what starts a run with this decision.
pub fn of(decision: &ApprovalArgs, environment: &ProcessEnvironment) -> RunTrigger {
    let variable = |name: &str| environment.variable(name).map(str::to_owned);
    let in_pipeline = |find: &dyn Fn() -> Option<String>| if environment.pipeline().is_some() { find() } else { None };
    RunTrigger {
        actor: environment.actor(),
        approval: Some(match (&decision.digest, decision.yes) {
            (Some(_), _) => ApprovalKind::Digest,
            (None, true) => ApprovalKind::Yes,
            (None, false) => ApprovalKind::Prompt,
        }),
        approved_by: decision.approved_by.clone().or_else(|| variable(APPROVED_BY)),
        change_request: variable(CHANGE_REQUEST).or_else(|| in_pipeline(&|| change_request(environment))),
        job: in_pipeline(&|| job(environment)),
        commit: in_pipeline(&|| {
            ["GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "BITBUCKET_COMMIT"].into_iter().find_map(variable)
        }),
    }
}

/// The pull or merge request that a pipeline runs for.
fn change_request(environment: &ProcessEnvironment) -> Option<String> {
    let variable = |name: &str| environment.variable(name);
    let github = || {
        let number = variable("GITHUB_REF")?.strip_prefix("refs/pull/")?.split('/').next()?;
        Some(format!("{}/pull/{number}", repository(environment)?))
    };
    let gitlab = || {
        let (project, number) = (variable("CI_MERGE_REQUEST_PROJECT_URL")?, variable("CI_MERGE_REQUEST_IID")?);
        Some(format!("{project}/-/merge_requests/{number}"))
    };
    // Azure sets the first for a repository on GitHub alone, and the second for every one.
    let numbers = ["SYSTEM_PULLREQUEST_PULLREQUESTNUMBER", "SYSTEM_PULLREQUEST_PULLREQUESTID", "BITBUCKET_PR_ID"];
    let number = || numbers.into_iter().find_map(variable).map(str::to_owned);
    github().or_else(gitlab).or_else(number)
}

fn job(environment: &ProcessEnvironment) -> Option<String> {
    let again = environment.variable("GITHUB_RUN_ATTEMPT").filter(|attempt| *attempt != "1");
    let again = again.map(|attempt| format!("/attempts/{attempt}")).unwrap_or_default();
    let run = environment.variable("GITHUB_RUN_ID");
    let github = run.and_then(|run| Some(format!("{}/actions/runs/{run}{again}", repository(environment)?)));
    github.or_else(|| environment.variable("CI_JOB_URL").map(str::to_owned))
}

/// The repository on GitHub, Gitea or Forgejo, by its URL.
fn repository(environment: &ProcessEnvironment) -> Option<String> {
    Some(format!("{}/{}", environment.variable("GITHUB_SERVER_URL")?, environment.variable("GITHUB_REPOSITORY")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Format;

    fn trigger(variables: &[(&str, &str)]) -> RunTrigger {
        let decision =
            ApprovalArgs { yes: true, digest: None, approved_by: None, write: Vec::new(), format: Format::Text };
        of(&decision, &ProcessEnvironment::with(variables))
    }

    #[test]
    fn azure_names_the_pull_request_by_another_variable_where_the_repository_is_its_own() {
        let [own, github] = ["SYSTEM_PULLREQUEST_PULLREQUESTID", "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER"];
        let number = |variables: &[(&str, &str)]| trigger(variables).change_request;
        assert_eq!(number(&[("TF_BUILD", "True"), (own, "8")]).as_deref(), Some("8"));
        assert_eq!(number(&[("TF_BUILD", "True"), (own, "12345"), (github, "9")]).as_deref(), Some("9"));
    }

    #[test]
    fn a_forge_names_the_person_the_change_request_the_job_and_the_commit() {
        let github = trigger(&[
            ("CI", "true"),
            ("GITHUB_ACTOR", "ada"),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_REPOSITORY", "acme/shop"),
            ("GITHUB_REF", "refs/pull/17/merge"),
            ("GITHUB_RUN_ID", "4711"),
            ("GITHUB_RUN_ATTEMPT", "1"),
            ("GITHUB_SHA", "3f2c9ab"),
            ("TRUEUP_APPROVED_BY", "grace"),
        ]);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(github.actor, text("ada"));
        assert_eq!(github.change_request, text("https://github.com/acme/shop/pull/17"));
        assert_eq!(github.job, text("https://github.com/acme/shop/actions/runs/4711"));
        assert_eq!((github.commit, github.approved_by), (text("3f2c9ab"), text("grace")));
        let again = trigger(&[
            ("CI", "true"),
            ("GITHUB_ACTOR", "ada"),
            ("GITHUB_TRIGGERING_ACTOR", "bob"),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_REPOSITORY", "acme/shop"),
            ("GITHUB_RUN_ID", "4711"),
            ("GITHUB_RUN_ATTEMPT", "2"),
        ]);
        assert_eq!(again.actor, text("bob"));
        assert_eq!(again.job, text("https://github.com/acme/shop/actions/runs/4711/attempts/2"));
        let gitlab = trigger(&[
            ("CI", "true"),
            ("GITLAB_USER_LOGIN", "ada"),
            ("CI_MERGE_REQUEST_PROJECT_URL", "https://gitlab.com/acme/shop"),
            ("CI_MERGE_REQUEST_IID", "17"),
            ("CI_JOB_URL", "https://gitlab.com/acme/shop/-/jobs/4711"),
        ]);
        assert_eq!(gitlab.change_request, text("https://gitlab.com/acme/shop/-/merge_requests/17"));
        assert_eq!((gitlab.actor, gitlab.job), (text("ada"), text("https://gitlab.com/acme/shop/-/jobs/4711")));
    }

    #[test]
    fn without_a_pipeline_a_forge_names_nothing() {
        let here = trigger(&[("GITHUB_ACTOR", "ada"), ("GITHUB_SHA", "3f2c9ab"), ("USER", "someone")]);
        assert_eq!(here, RunTrigger { approval: Some(ApprovalKind::Yes), ..RunTrigger::default() });
        let pushed = trigger(&[("CI", "true"), ("GITHUB_REF", "refs/heads/main"), ("TRUEUP_CHANGE_REQUEST", "!7")]);
        assert_eq!(pushed.change_request.as_deref(), Some("!7"));
    }
}
