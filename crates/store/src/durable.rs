//! Files that get their names when they are whole.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Gives a file another name, durably: its bytes are synced before it has the name,
/// and then the name.
pub fn put_in_place(from: &Path, to: &Path) -> io::Result<()> {
    File::open(from)?.sync_all()?;
    fs::rename(from, to)?;
    let directory = to.parent().filter(|path| !path.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// The same name with this at its end.
pub fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// This name, or one with a number at its end, that no file has.
pub fn unused(path: &Path) -> PathBuf {
    let mut names = (1..).map(|n| with_suffix(path, &format!("-{n}")));
    let name = std::iter::once(path.to_owned()).chain(&mut names);
    let mut free = name.filter(|name| !name.exists());
    free.next().unwrap_or_else(|| path.to_owned())
}
