//! A server that takes part: its filled store, and how it is started on it.
//!
//! Every measurement gets a freshly started process, and only one runs at a
//! time. A small store is copied for each, since a few seconds of deliveries
//! would make it a large one; a large store hardly grows and is used in place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::child::{Running, free_addr};
use crate::plain;
use crate::wakeful::{Credentials, Wakeful};
use crate::work::{DELIVERY, Target};

/// Stores up to this many deliveries are copied for each measurement.
const COPIED_MAX: u64 = 100_000;

#[derive(Debug, Clone)]
pub enum Kind {
    /// This program's own plain server; the path is this program.
    Plain(PathBuf),
    Wakeful(Wakeful),
    /// Another build of Wakeful, to compare with.
    Other(Wakeful),
}

#[derive(Debug)]
pub struct Contender {
    kind: Kind,
    home: TempDir,
    copied: bool,
    credentials: Credentials,
}

/// A store to run on, removed afterwards if it is a copy.
#[derive(Debug)]
pub struct Store<'c> {
    contender: &'c Contender,
    copy: Option<TempDir>,
}

impl Contender {
    /// Makes a store under `dir` with `count` deliveries in it.
    pub fn prepare(kind: Kind, dir: &Path, count: u64) -> Result<Self> {
        let home = tempfile::Builder::new().prefix("bench-").tempdir_in(dir)?;
        let data = home.path();
        let credentials = match &kind {
            Kind::Plain(_) => {
                plain::store::preload(data, &plain::row_of(DELIVERY)?, count)?;
                // Not looked at, but as long as the real ones.
                Credentials {
                    owner_token: format!("wl_{}", "0".repeat(43)),
                    agent_key: format!("wk_live_{}", "0".repeat(43)),
                }
            }
            Kind::Wakeful(wakeful) | Kind::Other(wakeful) => {
                let credentials = wakeful.create(data)?;
                wakeful.preload(data, &credentials.owner_token, count)?;
                credentials
            }
        };
        Ok(Contender {
            kind,
            home,
            copied: count <= COPIED_MAX,
            credentials,
        })
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Plain(_) => "plain",
            Kind::Wakeful(_) => "wakeful",
            Kind::Other(_) => "other",
        }
    }

    pub fn wakeful(&self) -> Option<&Wakeful> {
        match &self.kind {
            Kind::Plain(_) | Kind::Other(_) => None,
            Kind::Wakeful(wakeful) => Some(wakeful),
        }
    }

    pub fn store(&self) -> Result<Store<'_>> {
        let copy = if self.copied {
            let beside = self.home.path().parent().context("a store has a parent")?;
            let copy = tempfile::Builder::new()
                .prefix("bench-")
                .tempdir_in(beside)?;
            copy_tree(self.home.path(), copy.path())?;
            Some(copy)
        } else {
            None
        };
        Ok(Store {
            contender: self,
            copy,
        })
    }
}

impl Store<'_> {
    pub fn path(&self) -> &Path {
        self.copy.as_ref().unwrap_or(&self.contender.home).path()
    }

    pub fn start(&self) -> Result<(Running, Target)> {
        let addr = free_addr()?;
        let mut command = match &self.contender.kind {
            Kind::Plain(program) => {
                let mut command = Command::new(program);
                command
                    .args(["plain-server", "--listen", &addr.to_string(), "--data"])
                    .arg(self.path());
                command
            }
            Kind::Wakeful(wakeful) | Kind::Other(wakeful) => wakeful.serve(self.path(), addr)?,
        };
        let log = tempfile::NamedTempFile::new()?;
        let running = Running::start(&mut command, addr, log.path())?;
        let target = Target {
            addr,
            agent_key: self.contender.credentials.agent_key.clone(),
            owner_token: self.contender.credentials.owner_token.clone(),
        };
        Ok((running, target))
    }
}

/// Copies files and directories; sockets and the like belong to a process that is gone.
fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
            fs::set_permissions(&target, entry.metadata()?.permissions())?;
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
            // Else the first sync of the measurement pays for the copy.
            fs::File::open(&target)?.sync_all()?;
        }
    }
    Ok(())
}
