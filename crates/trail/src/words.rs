//! Closed sets of words, as they stand on the wire, on the trail and in help
//! texts. `words!` writes an enum from its words, so that a further word is a
//! line in one place.

/// Declares an enum whose variants are written as these words, with all of them
/// in their order (`ALL`), and their list for people (`NAMES`).
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $name:ident {
        $(#[$first_meta:meta])* $first:ident = $first_word:literal
        $(, $(#[$next_meta:meta])* $next:ident = $next_word:literal)* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(#[$first_meta])* #[serde(rename = $first_word)] $first,
            $($(#[$next_meta])* #[serde(rename = $next_word)] $next,)*
        }

        impl $name {
            pub const ALL: [$name; [$first_word $(, $next_word)*].len()] =
                [$name::$first $(, $name::$next)*];

            /// All words, with commas between them.
            pub const NAMES: &'static str = concat!($first_word $(, ", ", $next_word)*);

            pub fn as_str(self) -> &'static str {
                match self {
                    $name::$first => $first_word,
                    $($name::$next => $next_word,)*
                }
            }

            pub fn parse(text: &str) -> Option<$name> {
                Self::ALL.into_iter().find(|word| word.as_str() == text)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    words! {
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
