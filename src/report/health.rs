//! What a check of the set-up found: a line for each check, with what to do about it, as text and as JSON.

use crate::report::prelude::*;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// It is as it should be.
    Ok,
    /// It works, and could be better.
    Note,
    /// It does not work.
    Failed,
    /// It could not be checked.
    NotChecked,
}

impl HealthStatus {
    /// Its word in its colour.
    fn word(self) -> Part<'static> {
        match self {
            HealthStatus::Ok => styled(Role::Right, "ok"),
            HealthStatus::Note => styled(Role::Careful, "note"),
            HealthStatus::Failed => styled(Role::Wrong, "failed"),
            HealthStatus::NotChecked => styled(Role::Quiet, "not checked"),
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HealthCheck {
    /// What was checked.
    pub name: &'static str,
    /// How it ended.
    pub status: HealthStatus,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub fix: Vec<String>,
}

/// Every check, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    checks: Vec<HealthCheck>,
}

impl Health {
    /// Adds a check.
    pub fn add(&mut self, name: &'static str, status: HealthStatus, message: impl Into<String>) -> &mut Self {
        self.checks.push(HealthCheck { name, status, message: message.into(), fix: Vec::new() });
        self
    }

    /// Says what to do about the last check.
    pub fn fix(&mut self, fix: impl Into<String>) -> &mut Self {
        if let Some(last) = self.checks.last_mut() {
            last.fix.push(fix.into());
        }
        self
    }

    /// How many checks failed.
    pub fn failed(&self) -> usize {
        self.checks.iter().filter(|check| check.status == HealthStatus::Failed).count()
    }
}

impl Report for Health {
    /// A row for each check, with what to do about it below, and the sum.
    fn blocks<'a>(&'a self, _: &TextView) -> Blocks<'a> {
        let mut table = Table::new(["", "", ""]);
        for check in &self.checks {
            table.row([line![check.status.word()], line![check.name], line![foreign(&check.message)]]);
            let fixes = check.fix.iter().map(|fix| line!["fix: ", code(fix)]);
            fixes.for_each(|fix| table.row([Line::default(), Line::default(), fix]));
        }
        Blocks::from(table).then(match self.failed() {
            0 => line![styled(Role::Right, "Nothing is wrong.")],
            failed => line![styled(Role::Wrong, Line::count(failed, "check").and(" failed."))],
        })
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        document::write("health", HealthReport { healthy: self.failed() == 0, checks: &self.checks }, out)
    }
}

/// The checks, as JSON.
#[derive(Serialize, JsonSchema)]
pub struct HealthReport<'a> {
    /// No check failed.
    healthy: bool,
    /// Every check, in order.
    checks: &'a [HealthCheck],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Format, render};

    #[test]
    fn each_check_is_a_line_with_its_fix_below() {
        let mut health = Health::default();
        health.add("service", HealthStatus::Ok, "https://acme.example.net");
        health.add("token", HealthStatus::Failed, "no token is set, and none\u{1b}[0m").fix("set TRUEUP_TOKEN");
        health.add("write access", HealthStatus::NotChecked, "no request shows it");
        let view = TextView { width: 60, is_terminal: true, ..TextView::default() };
        let report = |format| render(&health, format, &view);
        insta::assert_snapshot!(report(Format::Text), @r"
        ok           service       https://acme.example.net
        failed       token         no token is set, and
                                   none\u{1b}[0m
                                   fix: set TRUEUP_TOKEN
        not checked  write access  no request shows it

        1 check failed.
        ");
        assert!(report(Format::Json).contains("\"healthy\": false"));
    }
}
