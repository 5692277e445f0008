//! Settings that differ from the base, or that the policy limits, as text.

use super::{TextView, columns};
use crate::model::policy::Direction;
use crate::plan::Plan;
use crate::report::{Role, safe};

/// The settings that are others than at the base, or that the policy limits, with what is in force; an
/// empty line behind them.
#[must_use]
pub fn setting_changes(plan: &Plan, view: &TextView) -> String {
    let changes = &plan.setting_changes;
    if changes.is_empty() {
        return String::new();
    }
    let title = match &plan.source.base {
        Some(base) if changes.iter().any(|change| change.base.is_some()) => {
            format!("This change alters settings of {}:", safe::line(base))
        }
        _ => "The policy limits settings:".to_owned(),
    };
    let mut text = format!("{}\n", view.palette.paint(Role::Strong, title));
    let values: Vec<String> = changes.iter().map(|change| safe::line(&change.values()).into_owned()).collect();
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let names = width(&mut changes.iter().map(|change| change.setting.len()));
    let widest = width(&mut values.iter().map(|value| columns(value))).min(40);
    for (change, value) in changes.iter().zip(&values) {
        let role = match change.direction {
            Direction::Loosened => Role::Wrong,
            Direction::Changed | Direction::Limited => Role::Careful,
            Direction::Tightened => Role::Quiet,
        };
        let gap = " ".repeat(widest.saturating_sub(columns(value)));
        text.push_str(&format!(
            "  {}  {:<names$}  {value}{gap}   {}\n",
            view.palette.paint(role, format!("{:<9}", change.direction.as_str())),
            change.setting,
            safe::line(&change.force()),
        ));
    }
    text.push('\n');
    text
}
