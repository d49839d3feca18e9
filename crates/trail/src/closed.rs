//! Closed sets. `closed!` writes an enum from its list, so that a further
//! variant, and its word on the wire, on the trail and in help texts, is a line
//! in one place.

/// Declares an enum of plain variants, and `ALL` of them in order. With a word
/// for each variant also `as_str`, `parse` and the list for people (`NAMES`), and
/// the word stands for the variant in JSON; without, its name in snake case does.
#[macro_export]
macro_rules! closed {
    ($(#[$meta:meta])* $name:ident {
        $(#[$first_about:meta])* $first:ident = $first_word:literal
        $(, $(#[$about:meta])* $variant:ident = $word:literal)* $(,)?
    }) => {
        $crate::closed! { @enum [$(#[$meta])*] $name {
            $(#[$first_about])* #[serde(rename = $first_word)] $first,
            $($(#[$about])* #[serde(rename = $word)] $variant,)*
        } }

        impl $name {
            /// All words, with commas between them.
            pub const NAMES: &'static str = concat!($first_word $(, ", ", $word)*);

            pub fn as_str(self) -> &'static str {
                match self {
                    $name::$first => $first_word,
                    $($name::$variant => $word,)*
                }
            }

            pub fn parse(text: &str) -> Option<$name> {
                Self::ALL.into_iter().find(|known| known.as_str() == text)
            }
        }
    };
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $variant:ident,)* }) => {
        $crate::closed! { @enum [$(#[$meta])* #[serde(rename_all = "snake_case")]] $name {
            $($(#[$about])* $variant,)*
        } }
    };
    (@enum [$(#[$meta:meta])*] $name:ident { $($(#[$about:meta])* $variant:ident,)* }) => {
        #[derive(
            Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, ::serde::Serialize, ::serde::Deserialize,
        )]
        $(#[$meta])*
        pub enum $name { $($(#[$about])* $variant,)* }

        impl $name {
            pub const ALL: [$name; [$(stringify!($variant)),*].len()] = [$($name::$variant),*];
        }
    };
}

#[cfg(test)]
mod tests {
    closed! {
        /// Two of them.
        Answer {
            Yes = "yes",
            /// Or not.
            NotYet = "not_yet",
        }
    }

    #[test]
    fn a_word_is_written_and_read_the_same_everywhere() {
        assert_eq!(Answer::ALL, [Answer::Yes, Answer::NotYet]);
        assert_eq!(Answer::NAMES, "yes, not_yet");
        for word in Answer::ALL {
            assert_eq!(Answer::parse(word.as_str()), Some(word));
            let json = format!("\"{}\"", word.as_str());
            assert_eq!(serde_json::to_string(&word).unwrap(), json);
            assert_eq!(serde_json::from_str::<Answer>(&json).unwrap(), word);
        }
        assert_eq!(Answer::parse("no"), None);
    }
}
