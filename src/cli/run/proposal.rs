//! The plan of a stack's definitions, with all that an apply of it needs: made in the same way for one stack and for several.

use crate::cli::args::{ApplyArgs, ApprovalArgs, ScopeArgs};
use crate::cli::run::{PendingRun, RunLimits, RunOrigin};
use crate::cli::{Connection, Context, Result, Session, SessionOptions};
use crate::plan::{Allowances, Plan};
use crate::report::TextView;

/// A plan that is not approved yet.
pub struct Proposal {
    /// The changes.
    pub plan: Plan,
    /// The service that the plan is for.
    pub connection: Connection,
    /// What was allowed by name.
    pub allow: Allowances,
    /// How it is drawn.
    pub view: TextView,
}

impl Proposal {
    /// Plans the definitions that `scope` names.
    ///
    /// # Errors
    /// As those of a session and of its plan.
    pub async fn of(arguments: &ApplyArgs, context: &Context, scope: &ScopeArgs) -> Result<Self> {
        let (base, only_this_change) = (arguments.base.base.as_deref(), arguments.part.only_this_change);
        let permission = Some(&arguments.permission);
        let options = SessionOptions { base, only_this_change, permission, ..SessionOptions::default() };
        let session = Session::open(context, scope, options).await?;
        let mut plan = session.plan().await?;
        let is_asked_for = !arguments.decision.yes && arguments.decision.digest.is_none();
        if is_asked_for || plan.changes.is_empty() {
            session.locate(&mut plan);
        }
        session.attribute(&mut plan)?;
        session.stamp(&mut plan);
        session.consent(&mut plan);
        let (view, allow) = (session.view(), session.allow.clone());
        let connection = session.into_connection()?;
        Ok(Self { plan, connection, allow, view })
    }

    /// The run that would apply it.
    pub fn pending<'a>(&'a self, context: &'a Context, decision: &'a ApprovalArgs) -> PendingRun<'a> {
        let Self { plan, connection, allow, view } = self;
        let (origin, trust) = (RunOrigin::Definitions, RunLimits::whole(plan));
        PendingRun { context, decision, plan, connection, allow, view, origin, trust }
    }
}
