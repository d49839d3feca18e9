//! Words of deliveries, and whether a search finds them: whole words, and the
//! beginnings of words from three letters on.

use crate::sqlite::search::{PREFIX_LETTERS, phrases};

/// The words of each column of a delivery, in their order.
#[derive(Clone, Debug, Default)]
pub struct Words {
    pub plain: Vec<Vec<String>>,
    /// Those of its details, until they are erased.
    pub details: Vec<String>,
}

/// The words of a text, in small letters without accents.
pub fn of(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words
        .map(|word| {
            word.chars()
                .flat_map(char::to_lowercase)
                .map(plain)
                .collect()
        })
        .collect()
}

/// A letter of Western European languages without its accent.
fn plain(letter: char) -> char {
    match letter {
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        'ý' | 'ÿ' => 'y',
        other => other,
    }
}

impl Words {
    /// Whether all that is searched for occurs; a search for no word finds nothing.
    pub fn have(&self, searched: &str) -> bool {
        let mut asked = phrases(searched)
            .map(|phrase| (of(phrase), phrase))
            .peekable();
        asked.peek().is_some()
            && asked.all(|(words, phrase)| {
                let as_beginning = phrase.chars().count() >= PREFIX_LETTERS;
                let columns = self.plain.iter().chain([&self.details]);
                !words.is_empty()
                    && columns
                        .into_iter()
                        .any(|column| occur(&words, column, as_beginning))
            })
    }
}

/// Whether words stand next to each other, the last of them perhaps as a beginning.
fn occur(words: &[String], column: &[String], as_beginning: bool) -> bool {
    column.windows(words.len()).any(|found| {
        let last = words.len() - 1;
        let ends = match as_beginning {
            true => found[last].starts_with(&words[last]),
            false => found[last] == words[last],
        };
        ends && found[..last] == words[..last]
    })
}
