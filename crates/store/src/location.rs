//! Where a store is kept, by name: `sqlite:/path/to/directory`, or the bare path of
//! a directory, which means the same. Whoever has a location need not know which
//! files the store has there.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use crate::{
    Result,
    sqlite::{self, files},
};

/// The kinds of store that can be named.
const KNOWN: &str = "sqlite:/path/to/directory, or the path alone";

/// The name of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A directory with a SQLite database.
    Sqlite(PathBuf),
}

/// A name of no store that this program knows.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownStore {
    #[error(
        "no store is known by the name {0}:…; this program knows {KNOWN}. For a directory of that \
         name, write ./ before it"
    )]
    Scheme(String),
    #[error("the name of the store has no path; write {KNOWN}")]
    NoPath,
    #[error("a sqlite store has no host; write {KNOWN}")]
    Host,
}

impl From<&Path> for Location {
    fn from(directory: &Path) -> Location {
        Location(Kind::Sqlite(directory.to_owned()))
    }
}

impl FromStr for Location {
    type Err = UnknownStore;

    fn from_str(name: &str) -> std::result::Result<Location, UnknownStore> {
        let path = match name.split_once(':') {
            // After two slashes a host would follow, and a file has none.
            Some(("sqlite", rest)) => match rest.strip_prefix("//") {
                Some(path) if !path.starts_with('/') => return Err(UnknownStore::Host),
                path => path.unwrap_or(rest),
            },
            Some((scheme, _)) if is_scheme(scheme) => {
                return Err(UnknownStore::Scheme(scheme.to_owned()));
            }
            _ => name,
        };
        match path.is_empty() {
            true => Err(UnknownStore::NoPath),
            false => Ok(Location::from(Path::new(path))),
        }
    }
}

/// Whether a text may stand before the colon of a URL (RFC 3986 §3.1).
fn is_scheme(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|next| next.is_ascii_alphanumeric() || "+-.".contains(next))
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kind::Sqlite(directory) = &self.0;
        write!(f, "sqlite:{}", directory.display())
    }
}

impl Location {
    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }

    /// The directory in which it is.
    pub fn directory(&self) -> &Path {
        let Kind::Sqlite(directory) = &self.0;
        directory
    }

    /// What an operator would look for, such as the path of a database's file.
    pub fn database(&self) -> PathBuf {
        let Kind::Sqlite(directory) = &self.0;
        files::database(directory)
    }

    /// Whether there is a database, be it an empty one.
    pub fn exists(&self) -> Result<bool> {
        let Kind::Sqlite(directory) = &self.0;
        files::exists(directory)
    }

    /// Whether there is no database, or one to which no byte was written.
    pub fn is_empty(&self) -> bool {
        let Kind::Sqlite(directory) = &self.0;
        files::is_empty(directory)
    }

    /// Whether something was written to its log.
    pub fn has_log(&self) -> Result<bool> {
        let Kind::Sqlite(directory) = &self.0;
        Ok(files::exists(directory)? && sqlite::has_log(directory)?)
    }

    /// What remembers a signed head, if something does, as an operator would call it.
    pub fn remembered_head(&self) -> Option<PathBuf> {
        let Kind::Sqlite(directory) = &self.0;
        files::remembered_head(directory)
    }

    /// Gives whatever is here other names, with `suffix` at their end; gives that of
    /// the database. Nobody may have it open.
    pub fn set_aside(&self, suffix: &str) -> Result<PathBuf> {
        let Kind::Sqlite(directory) = &self.0;
        files::set_aside(directory, suffix)
    }

    /// Puts the store that is here to another place, durably; that place has none.
    /// Nobody may have it open.
    pub fn move_to(&self, to: &Location) -> Result<()> {
        let (Kind::Sqlite(from), Kind::Sqlite(to)) = (&self.0, &to.0);
        files::move_all(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_path_or_says_which_store_it_is() {
        let here = |path: &str| Ok(Location::from(Path::new(path)));
        for (name, expected) in [
            ("sqlite:/var/lib/wakeful", here("/var/lib/wakeful")),
            ("sqlite:///var/lib/wakeful", here("/var/lib/wakeful")),
            ("sqlite:data", here("data")),
            ("/var/lib/wakeful", here("/var/lib/wakeful")),
            ("data", here("data")),
            ("./a:b", here("./a:b")),
            ("/srv/10:30", here("/srv/10:30")),
        ] {
            assert_eq!(name.parse(), expected, "{name}");
        }
        let shown = Location::from(Path::new("/data")).to_string();
        assert_eq!(shown, "sqlite:/data");
        assert_eq!(shown.parse(), here("/data"));
    }

    #[test]
    fn a_store_that_is_not_known_is_refused_and_the_known_ones_are_named() {
        for name in ["postgres://db/wakeful", "mysql:x", "C:data"] {
            let refused = name.parse::<Location>().unwrap_err();
            let scheme = name.split(':').next().unwrap().to_owned();
            assert_eq!(refused, UnknownStore::Scheme(scheme));
            assert!(refused.to_string().contains("sqlite:/path"), "{refused}");
        }
        for name in ["sqlite://", "sqlite://host/data"] {
            assert_eq!(name.parse::<Location>(), Err(UnknownStore::Host), "{name}");
        }
        for name in ["", "sqlite:"] {
            assert_eq!(
                name.parse::<Location>(),
                Err(UnknownStore::NoPath),
                "{name}"
            );
        }
    }
}
