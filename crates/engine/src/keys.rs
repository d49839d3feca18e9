//! The two keys of a data directory, made on first start and readable by their
//! owner alone: `trail.key` signs the log, `seal.key` wraps secrets and, by a key
//! made from it, seals the rows that no entry proves.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use hex::HEXLOWER;
use store::RowSeal;
use trail::LogKey;
use zeroize::Zeroizing;

pub const DIRECTORY: &str = "keys";
pub const TRAIL_KEY: &str = "trail.key";
pub const SEAL_KEY: &str = "seal.key";
/// The log's next key, while it is being handed over.
pub const NEXT_TRAIL_KEY: &str = "trail.key.next";

/// What the keys are, and the origin that names the log.
#[derive(Debug)]
pub struct Keys {
    pub log: LogKey,
    pub seal: Seed,
}

/// 32 secret bytes.
#[derive(Clone)]
pub struct Seed(pub Zeroizing<[u8; 32]>);

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(…)")
    }
}

impl Seed {
    /// The key of rows: it tells nothing about this one.
    pub fn row_seal(&self) -> RowSeal {
        RowSeal::new(&trail::Hash::of("wakeful/row-seal/1", &[self.0.as_slice()]).0)
    }
}

/// A key's file that is not in a data directory.
pub fn missing(directory: &Path) -> Option<PathBuf> {
    let keys = directory.join(DIRECTORY);
    let files = [TRAIL_KEY, SEAL_KEY].map(|name| keys.join(name));
    files.into_iter().find(|file| !file.exists())
}

impl Keys {
    /// Opens the keys of a data directory, making those that are not there.
    pub fn open(directory: &Path) -> io::Result<Keys> {
        Keys::open_with(directory, TRAIL_KEY)
    }

    /// The same for a log that is about to begin. Its key gets its own name with
    /// [`Keys::begun`] when the log is durable, so that a key without a log
    /// always means that a log was lost.
    pub fn begin(directory: &Path) -> io::Result<Keys> {
        Keys::open_with(directory, NEXT_TRAIL_KEY)
    }

    /// The log has begun: its next key is its key.
    pub fn begun(directory: &Path) -> io::Result<()> {
        let keys = directory.join(DIRECTORY);
        fs::rename(keys.join(NEXT_TRAIL_KEY), keys.join(TRAIL_KEY))?;
        fs::File::open(keys)?.sync_all()
    }

    fn open_with(directory: &Path, trail_key: &str) -> io::Result<Keys> {
        let seal = open_seal(directory)?;
        let keys = directory.join(DIRECTORY);
        let trail_key = keys.join(trail_key);
        if !trail_key.exists() {
            let origin = format!("wakeful.local/{}", HEXLOWER.encode(&random::<8>()?));
            write_trail_key(&trail_key, &origin, &random()?)?;
        }
        Ok(Keys {
            log: read_trail_key(&trail_key)?,
            seal,
        })
    }
}

/// Opens `seal.key` of a data directory, making it if it is not there.
pub fn open_seal(directory: &Path) -> io::Result<Seed> {
    let keys = directory.join(DIRECTORY);
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&keys)?;
    let seal_key = keys.join(SEAL_KEY);
    if !seal_key.exists() {
        let text = Zeroizing::new(format!("{}\n", HEXLOWER.encode(&random::<32>()?)));
        create_private(&seal_key, text.as_bytes())?;
    }
    read_seal(&seal_key)
}

/// What `seal.key` holds.
pub fn read_seal(file: &Path) -> io::Result<Seed> {
    let text = read_private(file)?;
    seed(text.trim()).ok_or_else(|| invalid(file))
}

/// What `trail.key` holds: the origin on the first line, the seed on the second.
pub fn read_trail_key(file: &Path) -> io::Result<LogKey> {
    let text = read_private(file)?;
    let mut lines = text.lines();
    let key = (|| {
        let (origin, secret) = (lines.next()?, seed(lines.next()?.trim())?);
        LogKey::from_seed(origin, *secret.0).ok()
    })();
    key.ok_or_else(|| invalid(file))
}

pub fn write_trail_key(file: &Path, origin: &str, seed: &[u8; 32]) -> io::Result<()> {
    let text = Zeroizing::new(format!("{origin}\n{}\n", HEXLOWER.encode(seed)));
    create_private(file, text.as_bytes())
}

/// Random bytes from the operating system.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// Reads 64 hex digits.
pub fn seed(text: &str) -> Option<Seed> {
    let bytes = Zeroizing::new(HEXLOWER.decode(text.as_bytes()).ok()?);
    Some(Seed(Zeroizing::new(bytes.as_slice().try_into().ok()?)))
}

fn create_private(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    created.write_all(content)?;
    created.sync_all()?;
    // The name must survive a crash too, or the data would lose its key.
    file.parent()
        .map_or(Ok(()), |parent| fs::File::open(parent)?.sync_all())
}

/// Refuses a key that others can read: better to say so than to go on.
fn read_private(file: &Path) -> io::Result<Zeroizing<String>> {
    let mode = fs::metadata(file)?.permissions().mode();
    if mode & 0o077 != 0 {
        let text = format!(
            "{} can be read by others; run chmod 600 on it",
            file.display()
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    fs::read_to_string(file).map(Zeroizing::new)
}

fn invalid(file: &Path) -> io::Error {
    let text = format!("{} does not hold a key", file.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}
