//! The trail from a shell. Verification reads the data itself and never asks a
//! server whether the server can be trusted.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use client::{Reply, encode};
use engine::{keys, proof};
use serde_json::{Value, json};
use trail::{Checkpoint, Keyring, Receipt, VerifierKey, export_reader::verify_export};

use crate::{
    Ending,
    cli::{Place, Trail},
    connect::{self, As, Connection, connect},
    house,
    output::{Progress, line, print, print_body, print_json, say, table},
    prefix,
};

pub async fn trail(place: &Place, command: Trail) -> Result<Ending> {
    match command {
        Trail::Show {
            delivery,
            agent,
            limit,
            cursor,
        } => {
            let what = match delivery {
                Some(id) => Asked::Of(id, "history"),
                None => {
                    let agent = agent.map(|id| format!("&agent_id={}", encode(&id)));
                    let cursor = cursor.map(|cursor| format!("&cursor={}", encode(&cursor)));
                    Asked::Path(format!(
                        "/api/v1/trail?limit={limit}{}{}",
                        agent.unwrap_or_default(),
                        cursor.unwrap_or_default()
                    ))
                }
            };
            show(place, what, |value| {
                let mut rows = Vec::new();
                for entry in value["entries"].as_array().into_iter().flatten() {
                    let cell = |field: &str| line(entry[field].as_str().unwrap_or_default());
                    rows.push(vec![
                        entry["position"].to_string(),
                        cell("time"),
                        cell("stream"),
                        cell("actor"),
                        cell("event_type"),
                        line(&entry["facts"].to_string()),
                    ]);
                }
                let next = value["next_cursor"].as_str();
                match (rows.is_empty(), next) {
                    (true, None) => say("No entry matches."),
                    (true, Some(_)) => say("Nothing found so far; there is more to look through."),
                    (false, _) => {}
                }
                table(&rows);
                if let Some(next) = next {
                    say(&format!("more: --cursor {}", line(next)));
                }
            })
            .await
        }
        Trail::Proof { subject } => {
            let what = match subject.parse::<u64>() {
                Ok(position) => Asked::Path(format!("/api/v1/trail/{position}/proof")),
                Err(_) => Asked::Of(subject, "receipt"),
            };
            show(place, what, |value| print(&value.to_string())).await
        }
        Trail::Checkpoint => raw(place, "/checkpoint", "checkpoint").await,
        Trail::Key => raw(place, "/checkpoint/key", "key").await,
        Trail::Verify {
            file: Some(file),
            key,
            since,
            ..
        } => verify_file(place, &file, &key, &since),
        Trail::Verify {
            file: None,
            key,
            since,
            views,
        } => verify_data(place, &key, &since, views).await,
        Trail::Export { file } => export(place, &file).await,
        Trail::Rebuild => rebuild(place).await,
        Trail::RotateKey => rotate_key(place).await,
    }
}

/// What is asked of the server.
enum Asked {
    Path(String),
    /// A delivery by its id or the beginning of it, and what about it.
    Of(String, &'static str),
}

impl Asked {
    async fn of(self, connection: &Connection) -> Result<Result<Reply, Ending>> {
        let path = match self {
            Asked::Path(path) => path,
            Asked::Of(id, what) => match prefix::find(connection, &id).await? {
                Ok(named) => format!("/api/v1/inbox/{}/{what}", encode(&named.id)),
                Err(ending) => return Ok(Err(ending)),
            },
        };
        connection.call("GET", &path, None).await
    }
}

async fn show(place: &Place, what: Asked, show: impl FnOnce(&Value)) -> Result<Ending> {
    let connection = connect(place, As::Operator).await?;
    let reply = what.of(&connection).await;
    connection.close().await;
    match reply? {
        Err(ending) => return Ok(ending),
        Ok(reply) if place.json => print_body(&reply.body),
        Ok(reply) => show(&reply.json()),
    }
    Ok(Ending::Done)
}

/// A text of the server's; with `--json` under its name. A signed note ends
/// with a line break that is part of it.
async fn raw(place: &Place, path: &str, name: &str) -> Result<Ending> {
    let connection = connect(place, As::Operator).await?;
    let reply = connection.call("GET", path, None).await;
    connection.close().await;
    match reply? {
        Err(ending) => return Ok(ending),
        Ok(reply) => {
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            match place.json {
                true if name == "key" => print_json(&json!({ name: text.trim_end() })),
                true => print_json(&json!({ name: text })),
                false => print(text.trim_end_matches('\n')),
            }
        }
    }
    Ok(Ending::Done)
}

/// Keys given as text or as files that hold them, the current one first.
fn read_keys(given: &[String]) -> Result<Vec<VerifierKey>> {
    let read = |text: &String| {
        let held = std::fs::read_to_string(text).unwrap_or_else(|_| text.clone());
        let key = held.trim().parse();
        key.context("--key is not a log's key; `wakeful trail key` prints it")
    };
    given.iter().map(read).collect()
}

/// Checkpoints that were kept; each is signed with one of the log's keys.
fn read_checkpoints(keys: &[VerifierKey], files: &[PathBuf]) -> Result<Vec<Checkpoint>> {
    let read = |file: &PathBuf| {
        let note = std::fs::read_to_string(file)
            .with_context(|| format!("could not read {}", file.display()))?;
        let opened = keys.iter().find_map(|key| key.open(&note).ok());
        opened.with_context(|| {
            format!(
                "{} is not signed with this log's key; name an older key with --key too",
                file.display()
            )
        })
    };
    files.iter().map(read).collect()
}

async fn verify_data(
    place: &Place,
    keys_given: &[String],
    since: &[PathBuf],
    views: bool,
) -> Result<Ending> {
    if place.server.is_some() {
        bail!("verify reads the data itself: use --data DIR, or an export and its key");
    }
    let directory = connect::own_directory(place, "verify")?;
    let mut known = read_keys(keys_given)?;
    let file = directory.join(keys::DIRECTORY).join(keys::TRAIL_KEY);
    match keys::read_trail_key(&file) {
        Ok(own) if known.is_empty() => known.push(own.verifier().clone()),
        Ok(_) => {}
        Err(error) if known.is_empty() => {
            let text = format!("could not read {}; name the key with --key", file.display());
            return Err(error).context(text);
        }
        Err(_) => {}
    }
    let kept = read_checkpoints(&known, since)?;
    let store = store::open_read_only(&directory)
        .with_context(|| format!("could not open the data in {}", directory.display()))?;
    let progress = Progress::new("verified");
    let verified = proof::verify(
        store.as_ref(),
        &house::body_vault(place.body_key.as_deref())?,
        known.first(),
        kept,
        &|done, all| progress.at(done, all),
    )
    .await;
    progress.finish();
    match verified {
        Ok(found) => {
            let seconds = progress.elapsed().as_secs_f64();
            if views {
                let changed = changed_views(store.as_ref()).await?;
                if !changed.is_empty() {
                    let what = format!(
                        "the trail is whole, but these views are not what it says: {}; \
                         stop the server and run `wakeful trail rebuild`",
                        changed.join(", ")
                    );
                    return Ok(unverified(place, "views_differ", &what));
                }
            }
            report(place, &found.report, found.sealed, seconds);
            if views && !place.json {
                print("the views that requests are answered from are what it says");
            }
            Ok(Ending::Done)
        }
        Err(proof::ProofFault::Trail(fault)) => {
            Ok(unverified(place, fault.reason.code(), &fault.to_string()))
        }
        Err(fault @ proof::ProofFault::Checkpoint(_)) => {
            Ok(unverified(place, "checkpoint", &fault.to_string()))
        }
        Err(fault @ proof::ProofFault::OtherKey { .. }) => {
            Ok(unverified(place, "part_unopened", &fault.to_string()))
        }
        Err(fault @ proof::ProofFault::Taken { .. }) => {
            Ok(unverified(place, "part_missing", &fault.to_string()))
        }
        Err(proof::ProofFault::Store(store::Error::Damaged(what))) => {
            Ok(unverified(place, "damaged", &what))
        }
        Err(fault) => Err(fault.into()),
    }
}

fn report(place: &Place, report: &trail::verify::Report, sealed: u64, seconds: f64) {
    let checkpoint = &report.checkpoint;
    if place.json {
        print_json(&json!({
            "verified": true,
            "entries": checkpoint.size,
            "streams": report.streams,
            "parts": report.parts,
            "erased": report.erased.saturating_sub(sealed),
            "sealed": sealed,
            "checkpoints_kept": report.kept,
            "origin": checkpoint.origin,
            "root": checkpoint.root.to_hex(),
            "seconds": seconds,
        }));
        return;
    }
    print(&format!(
        "verified: {} entries in {} streams, up to the checkpoint of {}",
        checkpoint.size, report.streams, checkpoint.origin
    ));
    if report.kept > 0 {
        print(&format!("{} kept checkpoints are part of it", report.kept));
    }
    let erased = report.erased.saturating_sub(sealed);
    if erased > 0 {
        print(&format!(
            "{erased} parts were erased; their commitments stand"
        ));
    }
    if sealed > 0 {
        print(&format!(
            "{sealed} parts are encrypted and were not opened; give --body-key to compare them"
        ));
    }
}

fn unverified(place: &Place, code: &str, text: &str) -> Ending {
    match place.json {
        true => print_json(&json!({ "verified": false, "code": code, "detail": text })),
        false => print(&format!("NOT VERIFIED: {}", line(text))),
    }
    Ending::Unverified
}

/// A receipt is one JSON object; an export is many lines.
fn verify_file(
    place: &Place,
    file: &Path,
    keys_given: &[String],
    since: &[PathBuf],
) -> Result<Ending> {
    let known = read_keys(keys_given)?;
    let Some(key) = known.first() else {
        bail!("name the log's key with --key: a file cannot vouch for itself");
    };
    let open = || File::open(file).with_context(|| format!("could not read {}", file.display()));
    let mut start = [0; 64];
    let read = open()?
        .read(&mut start)
        .context("could not read the file")?;
    let is_export = start[..read].starts_with(b"{\"key\":");
    if !is_export {
        let mut bytes = Vec::new();
        open()?.take(64 << 20).read_to_end(&mut bytes)?;
        let trimmed = bytes.trim_ascii_end();
        let verified = Receipt::read(trimmed).and_then(|receipt| receipt.verify(key));
        return Ok(match verified {
            Err(fault) => unverified(place, fault.code(), &fault.to_string()),
            Ok(entry) => {
                match place.json {
                    true => print_json(&json!({
                        "verified": true, "stream": entry.stream, "position": entry.position,
                        "event_type": entry.event_type, "actor": entry.actor,
                        "time": entry.time, "erased": entry.erased,
                    })),
                    false => print(&format!(
                        "verified: {} by {} at {}, entry {} of {}",
                        line(&entry.event_type),
                        line(&entry.actor),
                        entry.time,
                        entry.position,
                        line(&entry.checkpoint.origin)
                    )),
                }
                Ending::Done
            }
        });
    }
    let kept = read_checkpoints(&known, since)?;
    let progress = Progress::new("verified");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let reader = BufReader::with_capacity(1 << 20, open()?);
    match verify_export(reader, &Keyring::new(key.clone()), kept, threads) {
        Ok(found) => {
            report(place, &found, 0, progress.elapsed().as_secs_f64());
            Ok(Ending::Done)
        }
        Err(fault) => Ok(unverified(place, fault.reason.code(), &fault.to_string())),
    }
}

async fn export(place: &Place, file: &Path) -> Result<Ending> {
    let directory = connect::own_directory(place, "export")?;
    let own = keys::read_trail_key(&directory.join(keys::DIRECTORY).join(keys::TRAIL_KEY))
        .context("could not read the log's key")?;
    let store = store::open_read_only(&directory)
        .with_context(|| format!("could not open the data in {}", directory.display()))?;
    // All content is in it, readable.
    let out = house::create_private(file)
        .with_context(|| format!("could not create {}", file.display()))?;
    let progress = Progress::new("exported");
    let written = proof::export(
        store.as_ref(),
        &house::body_vault(place.body_key.as_deref())?,
        own.verifier(),
        BufWriter::with_capacity(1 << 20, &out),
        &|done, all| progress.at(done, all),
    )
    .await;
    progress.finish();
    let written = written.and_then(|entries| {
        out.sync_all()?;
        Ok(entries)
    });
    let entries = match written {
        Ok(entries) => entries,
        Err(fault) => {
            let _ = std::fs::remove_file(file);
            return Err(fault.into());
        }
    };
    match place.json {
        true => print_json(&json!({ "entries": entries, "key": own.verifier().to_string() })),
        false => {
            say(&format!(
                "{entries} entries. Whoever verifies them needs this key, from you and not from the file:"
            ));
            print(&own.verifier().to_string());
        }
    }
    Ok(Ending::Done)
}

async fn rebuild(place: &Place) -> Result<Ending> {
    let directory = connect::own_directory(place, "rebuild")?;
    let _lock = house::lock(&directory)?;
    let setup = house::setup(&directory, place.body_key.as_deref()).await?;
    setup.vault.check(setup.store.as_ref()).await?;
    let (entries, changed) = rebuild_and_compare(setup.store.as_ref()).await?;
    match place.json {
        true => print_json(&json!({ "entries": entries, "changed": changed })),
        false if changed.is_empty() => {
            print(&format!("rebuilt from {entries} entries; nothing changed"))
        }
        false => print(&format!(
            "rebuilt from {entries} entries; these views had differed: {}",
            changed.join(", ")
        )),
    }
    Ok(Ending::Done)
}

/// Gives the number of entries, and the views that were not what the trail says.
async fn rebuild_and_compare(store: &dyn store::Store) -> Result<(u64, Vec<String>)> {
    let before = store.view_digests().await?;
    let progress = Progress::new("rebuilt");
    let entries = engine::rebuild::rebuild(store, &|done, all| progress.at(done, all)).await?;
    progress.finish();
    let after = store.view_digests().await?;
    let differing = before.into_iter().zip(after);
    let differing = differing.filter(|(before, after)| before != after);
    Ok((entries, differing.map(|(before, _)| before.0).collect()))
}

/// The views of a copy, made anew: no server has to stop for it.
async fn changed_views(store: &dyn store::Store) -> Result<Vec<String>> {
    let scratch = tempfile::tempdir().context("no room for a copy")?;
    let file = scratch.path().join(store::FILE);
    drop(house::create_private(&file)?);
    store
        .backup(&file, Vec::new())
        .await
        .context("the copy failed")?;
    let copy = store::open(scratch.path()).await?;
    Ok(rebuild_and_compare(copy.as_ref()).await?.1)
}

async fn rotate_key(place: &Place) -> Result<Ending> {
    let directory = connect::own_directory(place, "rotate-key")?;
    let _lock = house::lock(&directory)?;
    let (old, new) = house::rotate_log_key(&directory, place.body_key.as_deref()).await?;
    match place.json {
        true => print_json(&json!({ "old_key": old.to_string(), "key": new.to_string() })),
        false => {
            say("The log goes on with a new key, and an entry signed by both says so.");
            say(&format!("Checkpoints from before verify with {old}"));
            print(&new.to_string());
        }
    }
    Ok(Ending::Done)
}
