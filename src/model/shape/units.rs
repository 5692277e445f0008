//! The units of the spec of an endpoint.

use super::words::UnitForm;

/// A unit of the spec, by which it is compared.
#[derive(Debug)]
pub struct UnitFacts {
    /// Its name: that of its field or exclusive group.
    pub name: &'static str,
    /// The letter of its digests in `trueup/applied`.
    pub letter: char,
    /// How its value is shown.
    pub form: UnitForm,
    /// Whether it is a part of the address, which is shown whole.
    pub is_address: bool,
}

impl UnitFacts {
    const fn new(name: &'static str, letter: char, form: UnitForm) -> Self {
        Self { name, letter, form, is_address: false }
    }

    const fn address(self) -> Self {
        Self { is_address: true, ..self }
    }
}

/// The units of the spec in the order of reports and documents. Those of other kinds with the same name have the letter, too.
pub const UNITS: [UnitFacts; 6] = [
    UnitFacts::new("target", 't', UnitForm::Choice).address(),
    UnitFacts::new("protocol", 'p', UnitForm::Value),
    UnitFacts::new("port", 'o', UnitForm::Number).address(),
    UnitFacts::new("health_check_port", 'h', UnitForm::Number),
    UnitFacts::new("snat_pool", 's', UnitForm::Prefixes),
    UnitFacts::new("where", 'w', UnitForm::Place),
];
