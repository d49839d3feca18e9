//! A data directory: its lock, its keys, its store, and an engine on it.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};
use engine::{
    Clock, Engine, Keys, Setup, Vault,
    keys::{self, Seed},
};
use store::{Location, RowSeal};
use trail::{VerifierKey, rotation::Rotation};

/// How long a command that has the directory to itself waits for its own readers
/// before it leaves something in the write-ahead log.
pub const PATIENCE: Duration = Duration::from_secs(5);

pub const SOCKET: &str = "wakeful.sock";

/// The platform's data directory for us.
pub fn default_directory() -> Result<PathBuf> {
    own_directory("XDG_DATA_HOME", ".local/share")
        .context("no data directory is known; name one with --data DIR")
}

/// Where the platform keeps what a user's programs note for themselves.
pub fn state_directory() -> Result<PathBuf> {
    own_directory("XDG_STATE_HOME", ".local/state")
        .context("no place for the log is known; name a file with WAKE_LOG")
}

fn own_directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let parent = match set(variable) {
        Some(directory) => PathBuf::from(directory),
        None => PathBuf::from(set("HOME")?).join(below_home),
    };
    Some(parent.join("wakeful"))
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

/// A new file that only its owner can read.
pub fn create_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

pub fn body_keys(file: Option<&Path>) -> Result<Vec<Seed>> {
    let Some(file) = file else {
        return Ok(Vec::new());
    };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("could not read the body key {}", file.display()))?;
    Vault::read_body_keys(&text).with_context(|| format!("in {}", file.display()))
}

/// For content alone: no secret is opened with it.
pub fn body_vault(file: Option<&Path>) -> Result<Vault> {
    let seal = keys::seed(&"0".repeat(64)).context("a seed")?;
    Ok(Vault::new(&seal, &body_keys(file)?))
}

/// What an engine on this directory is made of. The directory must be locked.
/// Before anything is written, [`engine::reached::check`] must find that the
/// data reach as far as they were signed; starting an engine does that.
pub async fn setup(directory: &Path, body_key: Option<&Path>) -> Result<Setup> {
    let location = Location::from(directory);
    if location.is_empty() {
        // Opening it would remove a write-ahead log that belongs to it.
        refuse_second_log(directory)?;
    }
    // Only data that nothing was written to yet may get new keys.
    let seal_key = directory.join(keys::DIRECTORY).join(keys::SEAL_KEY);
    if !seal_key.exists() && location.has_log().unwrap_or(true) {
        return Err(needed(&seal_key));
    }
    let seal = keys::open_seal(directory).context("could not open the keys")?;
    let store = store::open(&location, &seal.row_seal())
        .await
        .context("could not open the data")?;
    finish_rotation(directory, store.as_ref()).await?;
    let body = body_keys(body_key)?;
    if store.head().await?.is_none() {
        refuse_second_log(directory)?;
        let keys = Keys::begin(directory).context("could not make the keys")?;
        return Ok(setup_with(keys, store, &body));
    }
    match keys::missing(directory) {
        Some(file) => Err(needed(&file)),
        None => setup_of(directory, store, &body),
    }
}

/// Why there is no start without a key.
fn needed(file: &Path) -> anyhow::Error {
    anyhow!(
        "{} is missing, and the data needs it: put it back from where the keys are kept. \
         Without it, `wakeful backup` and `wakeful restore` make a new log of the same data",
        file.display()
    )
}

/// A log and its key begin together. Where there is a key, or a head that was
/// signed, and nothing in the database, a log was lost.
fn refuse_second_log(directory: &Path) -> Result<()> {
    let key = directory.join(keys::DIRECTORY).join(keys::TRAIL_KEY);
    let key = Some(key).filter(|key| std::fs::metadata(key).is_ok_and(|key| key.len() > 0));
    let location = Location::from(directory);
    if let Some(file) = key.or_else(|| location.remembered_head()) {
        bail!(
            "{} is here, but {} is missing or empty: its log was lost, and no other one begins in \
             its place. Put the database back, with its -wal file, or bring a backup with \
             `wakeful restore`; or use another directory",
            file.display(),
            location.database().display()
        );
    }
    Ok(())
}

/// The key of rows in a data directory, if it is there and can be read.
pub fn row_seal(directory: &Path) -> Option<RowSeal> {
    let file = directory.join(keys::DIRECTORY).join(keys::SEAL_KEY);
    keys::read_seal(&file).ok().map(|seed| seed.row_seal())
}

/// The same, on a store that is open already.
pub fn setup_of(directory: &Path, store: Arc<dyn store::Store>, body: &[Seed]) -> Result<Setup> {
    let keys = Keys::open(directory).context("could not open the keys")?;
    Ok(setup_with(keys, store, body))
}

fn setup_with(keys: Keys, store: Arc<dyn store::Store>, body: &[Seed]) -> Setup {
    let vault = Vault::new(&keys.seal, body);
    Setup {
        store,
        keys,
        vault,
        clock: Clock::system(),
    }
}

/// A log's first key, or a hand-over to its next one, that was cut short: if the log is signed with
/// the next key already, that is the key; if not, it never was.
async fn finish_rotation(directory: &Path, store: &dyn store::Store) -> Result<()> {
    let keys = directory.join(keys::DIRECTORY);
    let next = keys.join(keys::NEXT_TRAIL_KEY);
    if !next.exists() {
        return Ok(());
    }
    let key = keys::read_trail_key(&next).context("could not read the log's next key")?;
    let head = store.head().await?;
    match head.is_some_and(|head| key.verifier().open(&head.note).is_ok()) {
        true => std::fs::rename(&next, keys.join(keys::TRAIL_KEY)),
        false => std::fs::remove_file(&next),
    }
    .context("could not finish the change of the log's key")
}

/// Hands the log over to a new key. Gives the old and the new one.
pub async fn rotate_log_key(
    directory: &Path,
    body_key: Option<&Path>,
) -> Result<(VerifierKey, VerifierKey)> {
    let mut setup = setup(directory, body_key).await?;
    engine::reached::check(setup.store.as_ref(), setup.keys.log.verifier()).await?;
    let keys = directory.join(keys::DIRECTORY);
    let next = keys.join(keys::NEXT_TRAIL_KEY);
    keys::write_trail_key(&next, setup.keys.log.name(), &keys::random()?)
        .context("could not write the new key")?;
    let new = keys::read_trail_key(&next)?;
    let rotation = Rotation::sign(&setup.keys.log, &new);
    let both = (setup.keys.log.verifier().clone(), new.verifier().clone());
    setup.keys.log = new;
    let store = Arc::clone(&setup.store);
    Engine::rotate_log_key(setup, rotation).await?;
    store.settle(PATIENCE).await?;
    std::fs::rename(&next, keys.join(keys::TRAIL_KEY))
        .context("could not put the new key in place")?;
    Ok(both)
}

pub async fn start(directory: &Path, body_key: Option<&Path>) -> Result<Engine> {
    let engine = Engine::start(setup(directory, body_key).await?).await?;
    if keys::missing(directory).is_some() {
        Keys::begun(directory).context("could not put the new key in place")?;
    }
    Ok(engine)
}
