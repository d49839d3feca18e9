//! The trail from a shell. Verification reads the data itself and never asks a
//! server whether the server can be trusted.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufReader, BufWriter, Read as _},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use client::{Reply, encode};
use engine::{
    Engine, keys, proof,
    reached::{self, Shortfall},
    rebuild::Rebuilt,
};
use serde_json::{Value, json};
use store::{
    Location,
    durable::{put_in_place, unused, with_suffix},
};
use tracing::{instrument::WithSubscriber as _, subscriber::NoSubscriber};
use trail::{
    Checkpoint, CheckpointFault, Keyring, Receipt, Stream, VerifierKey,
    export_reader::verify_export,
};

use crate::{
    Ending,
    cli::{Place, Trail},
    commands::backup,
    connect::{self, As, Connection, connect},
    house,
    output::{
        Progress, counted, line, print, print_body, print_json, print_json_line, print_text, say,
        table,
    },
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
                Ok(position) => Asked::Entry(subject, position),
                Err(_) => Asked::Of(subject, "receipt"),
            };
            show(place, what, print_json_line).await
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
            ..
        } => verify_data(place, &key, &since).await,
        Trail::Export { file } => export(place, &file).await,
        Trail::Rebuild => rebuild(place).await,
        Trail::Continue => go_on(place).await,
        Trail::RotateKey => rotate_key(place).await,
    }
}

/// What is asked of the server.
enum Asked {
    Path(String),
    /// A delivery by its id or the beginning of it, and what about it.
    Of(String, &'static str),
    /// An entry by its position, as it was written: digits alone may also be the
    /// beginning of a delivery's id.
    Entry(String, u64),
}

impl Asked {
    async fn of(self, connection: &Connection) -> Result<Result<Reply, Ending>> {
        let path = match self {
            Asked::Path(path) => path,
            Asked::Of(id, what) => match prefix::find(connection, &id).await? {
                Ok(named) => format!("/api/v1/inbox/{}/{what}", encode(&named.id)),
                Err(ending) => return Ok(Err(ending)),
            },
            Asked::Entry(written, position) => {
                if prefix::begins_one(connection, &written).await? {
                    say(&format!(
                        "wakeful: a delivery's id begins with {written}, which could also be a \
                         position: give more of the id, or write the position as +{position}"
                    ));
                    return Ok(Err(Ending::Refused));
                }
                format!("/api/v1/trail/{position}/proof")
            }
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
    let reply = connection.text(path).await;
    connection.close().await;
    match reply? {
        Err(ending) => return Ok(ending),
        Ok(reply) => {
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            let is_one = match name {
                "key" => text.trim().parse::<VerifierKey>().is_ok(),
                _ => Checkpoint::unsigned(&text).is_some(),
            };
            if !is_one {
                bail!("the answer is not a log's {name}; check the address");
            }
            match place.json {
                true if name == "key" => print_json(&json!({ name: text.trim_end() })),
                true => print_json(&json!({ name: text })),
                false => print_text(text.trim_end_matches('\n')),
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
        for key in keys {
            match key.open(&note) {
                Ok(checkpoint) => return Ok(checkpoint),
                Err(CheckpointFault::NotSigned) => {}
                Err(fault) => bail!("{} is not a checkpoint: {fault}", file.display()),
            }
        }
        bail!(
            "{} is not signed with this log's key; name an older key with --key too",
            file.display()
        )
    };
    files.iter().map(read).collect()
}

async fn verify_data(place: &Place, keys_given: &[String], since: &[PathBuf]) -> Result<Ending> {
    match verify_rows(place, keys_given, since).await {
        Err(error) => match unreadable(&format!("{error:#}")) {
            Some(what) => Ok(unverified(place, "damaged", &what)),
            None => Err(error),
        },
        ending => ending,
    }
}

/// What a failure says about a database that is not whole, in plain words; `None` if
/// the failure is another, or says itself what is wrong.
fn unreadable(failure: &str) -> Option<String> {
    let object = |of: &str| {
        let after = failure.split(of).nth(1)?;
        let name = after.split([' ', ':', ';', ',', ')']).next()?;
        Some(name.to_owned())
    };
    let what = if let Some(table) = object("no such table: ") {
        format!("its table {table} is missing or has another name")
    } else if let Some(column) = object("no such column: ") {
        format!("its column {column} is missing or has another name")
    } else if failure.contains("disk image is malformed")
        || failure.contains("malformed database schema")
    {
        "a part of the file was overwritten or cut off".to_owned()
    } else if failure.contains("not a database") {
        "the file holds something else, or its beginning was overwritten".to_owned()
    } else if let (Some(end), true) = (
        failure.find(" is not as this program made it"),
        failure.contains("restore a backup"),
    ) {
        let start = failure[..end].rfind(": ").map_or(0, |at| at + 2);
        format!("{} is not as this program made it", &failure[start..end])
    } else {
        return None;
    };
    Some(format!("the database is damaged: {what}; {RESTORE}"))
}

const RESTORE: &str = "restore a backup with `wakeful restore` (`wakeful trail rebuild` cannot \
    mend this)";

async fn verify_rows(place: &Place, keys_given: &[String], since: &[PathBuf]) -> Result<Ending> {
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
    let seal = house::row_seal(&directory);
    let store = store::open_read_only(&directory.as_path().into(), seal.as_ref())
        .with_context(|| format!("could not open the data in {}", directory.display()))?;
    let progress = Progress::new("verified");
    let log_took = OnceLock::new();
    let verified = proof::verify(
        store.as_ref(),
        &house::body_vault(place.body_key.as_deref())?,
        known.first(),
        kept,
        &|done, all| {
            progress.at(done, all);
            if done == all {
                log_took.get_or_init(|| progress.elapsed());
            }
        },
    )
    .await;
    progress.finish();
    match verified {
        Ok(found) => {
            let changed = changed_views(store.as_ref()).await?;
            if !changed.is_empty() {
                let what = format!(
                    "the trail is whole, but these views are not what it says: {}; \
                     stop the server and run `wakeful trail rebuild`",
                    changed.join(", ")
                );
                return Ok(unverified(place, "views_differ", &what));
            }
            let all = progress.elapsed();
            let took = Took {
                log: log_took.get().copied().unwrap_or(all),
                all,
            };
            report(place, &found.report, found.sealed, took);
            if !place.json {
                print("the views that requests are answered from are what it says");
            }
            if !found.rows_checked && !place.json {
                print(
                    "rows that no entry proves (secrets, rates, repeated requests, callbacks \
                     owed, snoozed and seen marks) were not checked: that takes keys/seal.key \
                     and data that this version has opened once",
                );
            }
            Ok(Ending::Done)
        }
        Err(proof::ProofFault::Trail(fault)) => {
            Ok(unverified(place, fault.reason.code(), &fault.to_string()))
        }
        Err(fault @ proof::ProofFault::Checkpoint(_)) => {
            Ok(unverified(place, "checkpoint", &fault.to_string()))
        }
        Err(proof::ProofFault::Short(short)) => {
            Ok(unverified(place, short.code(), &short.to_string()))
        }
        Err(fault @ proof::ProofFault::OtherKey { .. }) => {
            Ok(unverified(place, "part_unopened", &fault.to_string()))
        }
        Err(fault @ proof::ProofFault::Taken { .. }) => {
            Ok(unverified(place, "part_missing", &fault.to_string()))
        }
        Err(proof::ProofFault::Rows(mut wrong)) => {
            // Beside what is wrong already, as far as they can be made anew.
            let views = changed_views(store.as_ref()).await.unwrap_or_default();
            wrong.extend(
                views
                    .into_iter()
                    .map(|view| format!("{view}: a view that differs")),
            );
            let what = format!(
                "the trail is whole, but rows beside it are not what was written: {}; {}",
                wrong.join("; "),
                mended_by(&wrong)
            );
            Ok(unverified(place, "rows_differ", &what))
        }
        Err(proof::ProofFault::Store(store::Error::Damaged(what))) => {
            let what = unreadable(&what).unwrap_or(what);
            Ok(unverified(place, "damaged", &what))
        }
        // Every log has its first entry from the start.
        Err(proof::ProofFault::Empty) => {
            let what = format!("the database is damaged: it holds no log any more; {RESTORE}");
            Ok(unverified(place, "damaged", &what))
        }
        Err(fault) => Err(fault.into()),
    }
}

/// What to do about rows that are not what was written. A rebuild opens the database to
/// write: triggers and views are removed then, and any other table is refused.
fn mended_by(wrong: &[String]) -> &'static str {
    let is_code = |what: &str| what.starts_with("trigger ") || what.starts_with("view ");
    let mut foreign = wrong
        .iter()
        .filter_map(|what| what.strip_prefix("schema: "));
    match foreign.next() {
        Some(what) if !is_code(what) => RESTORE,
        Some(_) => "stop the server and run `wakeful trail rebuild`, which removes it",
        None => "stop the server and run `wakeful trail rebuild`",
    }
}

/// How long verifying took: the log alone, and with everything beside it.
struct Took {
    log: Duration,
    all: Duration,
}

fn report(place: &Place, report: &trail::verify::Report, sealed: u64, took: Took) {
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
            "log_seconds": took.log.as_secs_f64(),
            "seconds": took.all.as_secs_f64(),
        }));
        return;
    }
    print(&format!(
        "verified: {} in {}, up to the checkpoint of {}",
        entries(checkpoint.size),
        counted(report.streams, "stream", "streams"),
        checkpoint.origin
    ));
    if report.kept > 0 {
        let kept = counted(report.kept, "kept checkpoint is", "kept checkpoints are");
        print(&format!("{kept} part of it"));
    }
    let erased = report.erased.saturating_sub(sealed);
    if erased > 0 {
        print(&match erased {
            1 => "1 part was erased; its commitment stands".to_owned(),
            _ => format!("{erased} parts were erased; their commitments stand"),
        });
    }
    if sealed > 0 {
        print(&match sealed {
            1 => "1 part is encrypted and was not opened; give --body-key to compare it".to_owned(),
            _ => format!(
                "{sealed} parts are encrypted and were not opened; give --body-key to compare them"
            ),
        });
    }
}

fn entries(count: u64) -> String {
    counted(count, "entry", "entries")
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
        let verified =
            Receipt::read(trimmed).and_then(|receipt| Ok((receipt.verify(key)?, receipt.facts())));
        return Ok(match verified {
            Err(fault) => unverified(place, fault.code(), &fault.to_string()),
            Ok((entry, facts)) => {
                report_entry(place, &entry, facts.as_deref().unwrap_or_default());
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
            let all = progress.elapsed();
            report(place, &found, 0, Took { log: all, all });
            Ok(Ending::Done)
        }
        Err(fault) => Ok(unverified(place, fault.reason.code(), &fault.to_string())),
    }
}

/// What a receipt proves: the entry, and what its facts say of a delivery.
fn report_entry(place: &Place, entry: &trail::receipt::Verified, facts: &[u8]) {
    let facts: Value = serde_json::from_slice(facts).unwrap_or_default();
    let agent = match Stream::parse(&entry.stream) {
        Some(Stream::Agent(agent_id)) => Some(agent_id.to_string()),
        _ => None,
    };
    let fact = |name: &str| facts[name].as_str().map(str::to_owned);
    let about = [
        ("delivery_id", "delivery", fact("delivery_id")),
        ("agent_id", "agent", agent),
        ("status", "status", fact("status")),
        ("headline", "headline", fact("headline")),
    ];
    if place.json {
        let mut proven = json!({
            "verified": true, "stream": entry.stream, "position": entry.position,
            "event_type": entry.event_type, "actor": entry.actor,
            "time": entry.time, "erased": entry.erased,
        });
        for (name, _, value) in about {
            if let Some(value) = value {
                proven[name] = value.into();
            }
        }
        return print_json(&proven);
    }
    print(&format!(
        "verified: {} by {} at {}, entry {} of {}",
        line(&entry.event_type),
        line(&entry.actor),
        entry.time,
        entry.position,
        line(&entry.checkpoint.origin)
    ));
    let rows = about.into_iter().filter_map(|(_, label, value)| {
        let value = value.as_deref().map(line)?;
        Some(vec![format!("  {label}"), value])
    });
    table(&rows.collect::<Vec<_>>());
}

async fn export(place: &Place, file: &Path) -> Result<Ending> {
    let directory = connect::own_directory(place, "export")?;
    let own = keys::read_trail_key(&directory.join(keys::DIRECTORY).join(keys::TRAIL_KEY))
        .context("could not read the log's key")?;
    let store = store::open_read_only(&directory.as_path().into(), None)
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
                "{}. Whoever verifies the export needs this key, from you and not from the file:",
                self::entries(entries)
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
    // A log that somebody else signed is nothing to make anything from.
    if let Some(head) = setup.store.head().await? {
        let opened = setup.keys.log.verifier().open(&head.note);
        opened.context("the log's key in keys/trail.key does not fit the data")?;
    }
    engine::reached::check(setup.store.as_ref(), setup.keys.log.verifier()).await?;
    let mended = setup.store.mend_log().await?;
    setup.vault.check(setup.store.as_ref()).await?;
    let rebuilt = rebuild_and_compare(setup.store.as_ref()).await?;
    let from = entries(rebuilt.entries);
    let mut changed = mended.changed;
    changed.extend(rebuilt.wrong());
    let mut named = HashSet::new();
    changed.retain(|what| named.insert(what.clone()));
    setup.store.settle(house::PATIENCE).await?;
    match place.json {
        true => print_json(&json!({ "entries": rebuilt.entries, "changed": changed })),
        false if changed.is_empty() => print(&format!("rebuilt from {from}; nothing changed")),
        false => print(&format!(
            "rebuilt from {from}; these had differed: {}",
            changed.join(", ")
        )),
    }
    Ok(Ending::Done)
}

async fn rebuild_and_compare(store: &dyn store::Store) -> Result<Rebuilt> {
    let progress = Progress::new("rebuilt");
    let compared = engine::rebuild::compare(store, &|done, all| progress.at(done, all)).await;
    progress.finish();
    Ok(compared?)
}

/// The views of a copy, made anew: no server has to stop for it.
async fn changed_views(store: &dyn store::Store) -> Result<Vec<String>> {
    let scratch = tempfile::tempdir().context("no room for a copy")?;
    let location = Location::from(scratch.path());
    let copied = store::copy(store, &location).await;
    copied.context("the copy failed")?;
    // Kept rows are not what is compared here: any key will do.
    let seal = store::RowSeal::new(&[0; 32]);
    store::reseal_kept(&location, &seal)?;
    // What opening the copy removes from it is still in the database.
    let opened = store::open(&location, &seal).with_subscriber(NoSubscriber::default());
    let copy = opened.await?;
    Ok(rebuild_and_compare(copy.as_ref()).await?.wrong())
}

/// Continues the log after the last entry that holds. The data from before stays
/// beside it, under another name.
async fn go_on(place: &Place) -> Result<Ending> {
    let directory = connect::own_directory(place, "continue")?;
    let _lock = house::lock(&directory)?;
    if let Some(file) = keys::missing(&directory) {
        bail!("{} is missing: put it back first", file.display());
    }
    let seal = keys::open_seal(&directory).context("could not open the keys")?;
    let live = store::open_read_only(&directory.as_path().into(), None)
        .with_context(|| format!("there is no data in {}", directory.display()))?;
    let prefix = match live.sound_prefix().await? {
        Some(prefix) => prefix,
        None => sound_but_short(live.as_ref(), &directory).await?,
    };
    let kept = prefix.size;
    let staging = directory.join("continuing");
    if staging.exists() {
        fs::remove_dir_all(&staging).context("could not remove what an earlier try left")?;
    }
    backup::create_private_directory(&staging)?;
    let copied = store::copy(live.as_ref(), &staging.as_path().into()).await;
    copied.context("the copy failed")?;
    drop(live);
    let continued = continue_in(place, &directory, &staging, &seal, prefix).await;
    fs::remove_dir_all(&staging).context("could not remove the directory continuing")?;
    let (origin, before) = continued?;
    match place.json {
        true => print_json(&json!({ "origin": origin, "kept": kept, "before": before })),
        false => {
            say(&format!(
                "The log goes on as {origin} after {}; its next entry says \
                 what is missing. What was there before is in {}",
                entries(kept),
                before.display()
            ));
        }
    }
    Ok(Ending::Done)
}

/// A log whose every entry holds, and which ends before its last signed head.
async fn sound_but_short(live: &dyn store::Store, directory: &Path) -> Result<store::Prefix> {
    let key = keys::read_trail_key(&directory.join(keys::DIRECTORY).join(keys::TRAIL_KEY))
        .context("could not read the log's key")?;
    let head = live.head().await?.context("the data hold no log")?;
    let found = Checkpoint::unsigned(&head.note).context("the log's head cannot be read")?;
    let mut last_note = None;
    let reason = match reached::look(live, key.verifier()).await {
        Ok(()) => {
            bail!("the log holds as it is; `wakeful trail rebuild` mends what follows from it")
        }
        Err(Shortfall::Missing { signed, found }) => {
            let counts = |note: &String| Checkpoint::unsigned(note).map(|last| last.size);
            let mut notes = live.remembered()?.into_iter();
            last_note = notes.find(|note| counts(note) == Some(signed));
            format!("the log was signed up to {signed}, and the data end at {found}")
        }
        Err(Shortfall::Differs { size }) => {
            format!("the first {size} entries are not those that were signed")
        }
        Err(Shortfall::OtherLog { origin }) => format!("the file head is of the log {origin}"),
        Err(fault) => return Err(fault.into()),
    };
    Ok(store::Prefix {
        size: found.size,
        root: found.root,
        last_time: head.last_time,
        last_note,
        reason,
    })
}

/// Gives the new origin, and where the data from before is.
async fn continue_in(
    place: &Place,
    directory: &Path,
    staging: &Path,
    seal: &keys::Seed,
    prefix: store::Prefix,
) -> Result<(String, PathBuf)> {
    let (target, staged) = (Location::from(directory), Location::from(staging));
    let store = store::open(&staged, &seal.row_seal()).await?;
    let body_keys = house::body_keys(place.body_key.as_deref())?;
    // The new key is made beside the copy, and put in place with it.
    let beside = staging.join(keys::DIRECTORY);
    backup::create_private_directory(&beside)?;
    let own_seal = directory.join(keys::DIRECTORY).join(keys::SEAL_KEY);
    fs::copy(&own_seal, beside.join(keys::SEAL_KEY)).context("could not copy the key")?;
    let setup = house::setup_of(staging, Arc::clone(&store), &body_keys)?;
    setup.vault.check(setup.store.as_ref()).await?;
    let origin = setup.keys.log.name().to_owned();
    Engine::continue_log_from(setup, prefix).await?;
    store.settle(house::PATIENCE).await?;
    drop(store);
    let trail_key = directory.join(keys::DIRECTORY).join(keys::TRAIL_KEY);
    let old_key = unused(&with_suffix(&trail_key, ".before-continue"));
    let before = target.set_aside(".before-continue")?;
    fs::rename(&trail_key, &old_key)?;
    put_in_place(&beside.join(keys::TRAIL_KEY), &trail_key)?;
    staged.move_to(&target)?;
    Ok((origin, before))
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
