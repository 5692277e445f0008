//! Macros for what is displayed in one way: an enum whose values are words, and a type by a format of its fields.

/// Gives an enum the list of its values and the word of each, which is also how it is displayed.
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

/// Displays a type by a format, also with `Debug:` before it as that.
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
