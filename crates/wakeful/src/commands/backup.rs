//! Backup and restore.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context as _, Result, bail};
use engine::{Engine, keys};
use serde_json::json;

use crate::{
    Ending,
    cli::Place,
    connect, house,
    output::{print_json, say},
};

pub async fn backup(place: &Place, file: &Path, with_keys: bool) -> Result<Ending> {
    if place.server.is_some() {
        bail!("backup runs on the server's machine: use --data DIR");
    }
    if file.exists() {
        bail!("{} exists; choose another name", file.display());
    }
    let directory = connect::directory(place)?;
    let store = store::open_read_only(&directory)
        .with_context(|| format!("there is no data in {}", directory.display()))?;
    let mut inside = Vec::new();
    if with_keys {
        for name in [keys::TRAIL_KEY, keys::SEAL_KEY] {
            let key = fs::read(directory.join(keys::DIRECTORY).join(name))
                .with_context(|| format!("could not read {name}"))?;
            inside.push((name.to_owned(), key));
        }
    }
    // Made under another name, so that a file of this name is a whole backup.
    let partial = file.with_extension("partial");
    let _ = fs::remove_file(&partial);
    fs::File::create_new(&partial)
        .and_then(|made| made.set_permissions(fs::Permissions::from_mode(0o600)))
        .with_context(|| format!("could not create {}", partial.display()))?;
    store
        .backup(&partial, inside)
        .await
        .context("the copy failed")?;
    fs::File::open(&partial)?.sync_all()?;
    fs::rename(&partial, file)?;
    match place.json {
        true => print_json(&json!({ "file": file, "with_keys": with_keys })),
        false if with_keys => say("Backed up, with the keys: keep the file as safe as them."),
        false => {
            say("Backed up, without the keys. Keep keys/ of the data directory somewhere else.")
        }
    }
    Ok(Ending::Done)
}

pub async fn restore(place: &Place, file: &Path) -> Result<Ending> {
    if place.server.is_some() {
        bail!("restore runs on the server's machine: use --data DIR");
    }
    if !file.exists() {
        bail!("{} does not exist", file.display());
    }
    let directory = connect::directory(place)?;
    let _lock = house::lock(&directory)?;
    let inside = store::restore(file, &directory).with_context(|| {
        format!(
            "could not restore into {}; it must hold no data yet",
            directory.display()
        )
    })?;
    let keys_directory = directory.join(keys::DIRECTORY);
    if let Some((_, seal)) = inside.iter().find(|(name, _)| name == keys::SEAL_KEY) {
        fs::create_dir_all(&keys_directory)?;
        fs::set_permissions(&keys_directory, fs::Permissions::from_mode(0o700))?;
        let path = keys_directory.join(keys::SEAL_KEY);
        fs::write(&path, seal)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    }
    // A new origin and key: whoever kept the old log's checkpoints can tell.
    let setup = house::setup(&directory, place.body_key.as_deref()).await?;
    let origin = setup.keys.log.name().to_owned();
    Engine::continue_log(setup).await?;
    match place.json {
        true => print_json(&json!({ "origin": origin, "with_keys": !inside.is_empty() })),
        false => {
            say(&format!(
                "Restored. The log goes on as {origin}, and its next entry says so."
            ));
            if inside.is_empty() {
                say(
                    "The backup had no keys: make new webhook secrets with wakeful webhook secret.",
                );
            }
        }
    }
    Ok(Ending::Done)
}
