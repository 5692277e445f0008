//! Macros to display types: enums whose values are words, and types with a format of their fields.

/// Gives an enum the list of its values and a word for each, which is also its `Display`.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $type {
            /// Every value.
            pub const ALL: [$type; [$($word),+].len()] = [$($type::$variant),+];

            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $($type::$variant => $word),+ }
            }
        }

        $crate::model::displayed!($type, |value| "{}", value.as_str());
    };
}
pub(crate) use words;

/// Implements `Display` by a format, or `Debug` with `Debug:` before the type.
macro_rules! displayed {
    ($type:ty, |$value:ident| $($format:tt)+) => {
        $crate::model::displayed!(Display: $type, |$value| $($format)+);
    };
    ($how:ident: $type:ty, |$value:pat_param| $($format:tt)+) => {
        impl std::fmt::$how for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $value = self;
                write!(f, $($format)+)
            }
        }
    };
}
pub(crate) use displayed;
