//! Files that only their owner can read: tokens and secrets.

use std::{
    fs::{self, DirBuilder},
    io::{ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use wakelink::Secret;
use zeroize::Zeroizing;

use crate::house;

/// The longest name that a file may have on every system, with room for more.
const NAME_BYTES: usize = 200;

/// Where a device's secret is unless someone says otherwise: with what a
/// user's programs note for themselves, never in a server's data directory.
pub fn secret_file(agent_id: &str, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(file) = given {
        return Ok(file.to_owned());
    }
    let name = client::encode(agent_id);
    if name.is_empty() || name.len() > NAME_BYTES {
        bail!("{agent_id:?} cannot be a file's name: name a file with --secret-file");
    }
    let directory = house::state_directory()?.join("link");
    Ok(directory.join(format!("{name}.secret")))
}

/// Reads a file, unless others can.
pub fn read(file: &Path) -> Result<Zeroizing<String>> {
    let what = || format!("could not read {}", file.display());
    let mode = fs::metadata(file).with_context(what)?.permissions().mode();
    let others = match is_credential(file) {
        true => 0o037,
        false => 0o077,
    };
    if mode & others != 0 {
        let file = file.display();
        bail!("{file} can be read by others: run chmod 600 {file}");
    }
    Ok(Zeroizing::new(fs::read_to_string(file).with_context(what)?))
}

/// Whether systemd handed this file over. It does so with an access list for
/// the service's user, and such a list shows as if the group could read.
fn is_credential(file: &Path) -> bool {
    let Some(directory) = std::env::var_os("CREDENTIALS_DIRECTORY") else {
        return false;
    };
    match (fs::canonicalize(directory), fs::canonicalize(file)) {
        (Ok(directory), Ok(file)) => file.parent() == Some(&directory),
        _ => false,
    }
}

/// The secret of this device, if there is one.
pub fn read_secret(agent_id: &str, file: &Path) -> Result<Option<Secret>> {
    if matches!(fs::metadata(file), Err(error) if error.kind() == ErrorKind::NotFound) {
        return Ok(None);
    }
    let text = read(file)?;
    match Secret::from_uri(&text) {
        Some((of, secret)) if of == agent_id => Ok(Some(
            secret.with_context(|| format!("in {}", file.display()))?,
        )),
        Some((of, _)) => bail!("{} holds the secret of {of}", file.display()),
        None => bail!("{} holds no secret of a device", file.display()),
    }
}

pub fn write_secret(agent_id: &str, secret: &Secret, file: &Path) -> Result<()> {
    write(&secret.uri(agent_id), file)
}

/// How a device's token begins.
pub const DEVICE_TOKEN: &str = account::secret::Kind::Device.prefix();

/// The device's token in a file, which the server need not be asked about if it
/// is none.
pub fn read_device_token(file: &Path) -> Result<Zeroizing<String>> {
    let text = read(file)?;
    match text.trim() {
        token if token.starts_with(DEVICE_TOKEN) => Ok(Zeroizing::new(token.to_owned())),
        _ => bail!(
            "{} holds no token of a device ({DEVICE_TOKEN}…): `wakeful link token` gives it",
            file.display()
        ),
    }
}

/// Whether something has this name, be it a link that leads nowhere.
pub fn is_there(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok()
}

/// Makes sure that a file can be written, and writes nothing.
pub fn make_room(file: &Path) -> Result<()> {
    room(file).map(drop)
}

/// Keeps a line: whole in a new file for its owner alone, then in its place.
pub fn write(text: &str, file: &Path) -> Result<()> {
    let what = || format!("could not write {}", file.display());
    let mut written = room(file)?;
    written
        .write_all(format!("{text}\n").as_bytes())
        .and_then(|()| written.as_file().sync_all())
        .with_context(what)?;
    written.persist(file).with_context(what)?;
    Ok(())
}

/// A new file beside it.
fn room(file: &Path) -> Result<tempfile::NamedTempFile> {
    let what = || format!("could not write {}", file.display());
    if file.is_dir() {
        bail!("could not write {}: it is a directory", file.display());
    }
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut make = DirBuilder::new();
    make.recursive(true)
        .mode(0o700)
        .create(directory)
        .with_context(what)?;
    tempfile::NamedTempFile::new_in(directory).with_context(what)
}
