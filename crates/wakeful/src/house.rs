//! A data directory: its lock, its keys, its store, and an engine on it.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use engine::{Clock, Engine, Keys, Setup, Vault, keys::Seed};

pub const SOCKET: &str = "wakeful.sock";

/// The platform's data directory for us.
pub fn default_directory() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match (set("XDG_DATA_HOME"), set("HOME")) {
        (Some(data), _) => Ok(PathBuf::from(data).join("wakeful")),
        (None, Some(home)) => Ok(PathBuf::from(home).join(".local/share/wakeful")),
        (None, None) => bail!("no data directory is known; name one with --data DIR"),
    }
}

/// Held for as long as the directory is in use.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock is in the open file")] File);

/// Locks a data directory, creating it if it is not there.
pub fn lock(directory: &Path) -> Result<Lock> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .with_context(|| format!("could not create {}", directory.display()))?;
    let path = directory.join("lock");
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .with_context(|| format!("could not open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => {
            bail!("{} is in use by another wakeful", directory.display())
        }
        Err(TryLockError::Error(error)) => Err(error).context("could not lock the data directory"),
    }
}

pub fn body_keys(file: Option<&Path>) -> Result<Vec<Seed>> {
    let Some(file) = file else {
        return Ok(Vec::new());
    };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("could not read the body key {}", file.display()))?;
    Vault::read_body_keys(&text).with_context(|| format!("in {}", file.display()))
}

/// What an engine on this directory is made of. The directory must be locked.
pub async fn setup(directory: &Path, body_key: Option<&Path>) -> Result<Setup> {
    let keys = Keys::open(directory).context("could not open the keys")?;
    let vault = Vault::new(&keys.seal, &body_keys(body_key)?);
    let store = store::open(directory)
        .await
        .context("could not open the data")?;
    Ok(Setup {
        store,
        keys,
        vault,
        clock: Clock::system(),
    })
}

pub async fn start(directory: &Path, body_key: Option<&Path>) -> Result<Engine> {
    Ok(Engine::start(setup(directory, body_key).await?).await?)
}
