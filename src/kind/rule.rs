//! What is allowed in a field, beyond its type.

/// Which part of a field a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The value itself.
    Value,
    /// Each item of a list.
    Items,
    /// Each key of a map.
    Keys,
    /// Each value of a map.
    Values,
}

/// One rule of the vendor.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// From and to: of a number, or of how much there must be of something.
    Range {
        /// What is compared.
        unit: Unit,
        /// The least allowed.
        least: Option<&'static str>,
        /// The most allowed.
        most: Option<&'static str>,
    },
    /// So many items of a list: one of these numbers.
    ItemCounts(Vec<&'static str>),
    /// Numbers in one of these ranges.
    Ranges(Vec<&'static str>),
    /// Numbers in none of these ranges.
    NotInRanges(Vec<&'static str>),
    /// One of these values; of an enumeration the numbers.
    In(Vec<&'static str>),
    /// None of these values.
    NotIn(Vec<&'static str>),
    /// This value.
    Const(&'static str),
    /// A regular expression in RE2's syntax, not anchored.
    Pattern(&'static str),
    /// One of the vendor's names for a form of text, such as `hostname`.
    Format(Vec<&'static str>),
    /// No item twice.
    Unique,
    /// No two values of a map alike.
    UniqueValues,
    /// No two items with the same `metadata.name`.
    UniqueNames,
    /// Only numbers that the enumeration names.
    DefinedOnly,
    /// At least one of the numbers below is not zero.
    OneNonzero,
}

/// What a range is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The number itself.
    Number,
    /// Characters of a text.
    Characters,
    /// Bytes of a text.
    Bytes,
    /// Items of a list.
    Items,
    /// Entries of a map.
    Pairs,
    /// Ports of a text with ranges of ports.
    Ports,
    /// The length of the prefix of an address.
    PrefixLength,
}

impl Part {
    /// A rule of this part in words.
    #[must_use]
    pub fn words(self, rule: &str) -> String {
        match self {
            Part::Value => rule.to_owned(),
            Part::Items => format!("each item {rule}"),
            Part::Keys => format!("each key {rule}"),
            Part::Values => format!("each value {rule}"),
        }
    }
}

impl Rule {
    /// The rule in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Rule::Range { unit, least, most } => range(*unit, *least, *most),
            Rule::ItemCounts(counts) => format!("exactly {} items", counts.join(" or ")),
            Rule::Ranges(ranges) => format!("one of the ranges {}", ranges.join(", ").replace("..", " to ")),
            Rule::NotInRanges(ranges) => format!("in none of the ranges {}", ranges.join(", ").replace("..", " to ")),
            Rule::In(values) => format!("one of {}", values.join(", ")),
            Rule::NotIn(values) => format!("none of {}", values.join(", ")),
            Rule::Const(value) => format!("exactly {value}"),
            Rule::Pattern(pattern) => format!("matches {pattern}"),
            Rule::Format(formats) => format!("a valid {}", formats.join(" or ").replace('_', " ")),
            Rule::Unique => "no item twice".to_owned(),
            Rule::UniqueValues => "no value twice".to_owned(),
            Rule::UniqueNames => "no two items with the same name".to_owned(),
            Rule::DefinedOnly => "a known value".to_owned(),
            Rule::OneNonzero => "at least one number that is not 0".to_owned(),
        }
    }
}

fn range(unit: Unit, least: Option<&'static str>, most: Option<&str>) -> String {
    let (one, many) = match unit {
        Unit::Number => ("", ""),
        Unit::Characters => (" character", " characters"),
        Unit::Bytes => (" byte", " bytes"),
        Unit::Items => (" item", " items"),
        Unit::Pairs => (" entry", " entries"),
        Unit::Ports => (" port", " ports"),
        Unit::PrefixLength => (" bit of prefix", " bits of prefix"),
    };
    let word = |number: &str| if number == "1" { one } else { many };
    match (least, most) {
        (Some(least), Some(most)) if least == most => format!("exactly {least}{}", word(most)),
        (Some(least), Some(most)) => format!("{least} to {most}{}", word(most)),
        (Some(least), None) => format!("at least {least}{}", word(least)),
        (None, Some(most)) => format!("at most {most}{}", word(most)),
        (None, None) => String::new(),
    }
}
