//! A macro for enums whose values are words.

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

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;
