//! Backup and restore.

use std::{fs, io::Write as _, os::unix::fs::DirBuilderExt as _, path::Path, sync::Arc};

use anyhow::{Context as _, Result, bail};
use engine::{Engine, keys, proof};
use serde_json::json;
use store::{
    Location,
    durable::{put_in_place, with_suffix},
};

use crate::{
    Ending,
    cli::Place,
    connect, house,
    output::{Progress, print_json, say},
};

pub async fn backup(place: &Place, file: &Path, with_keys: bool) -> Result<Ending> {
    let directory = connect::own_directory(place, "backup")?;
    if file.exists() {
        bail!("{} exists; choose another name", file.display());
    }
    let store = store::open_read_only(&directory.as_path().into(), None)
        .with_context(|| format!("could not open the data in {}", directory.display()))?;
    let mut inside = Vec::new();
    if with_keys {
        for name in [keys::TRAIL_KEY, keys::SEAL_KEY] {
            let key = fs::read(directory.join(keys::DIRECTORY).join(name))
                .with_context(|| format!("could not read {name}"))?;
            inside.push((name.to_owned(), key));
        }
    }
    // Made under another name, so that a file of this name is a whole backup.
    let partial = with_suffix(file, ".partial");
    house::create_private(&partial)
        .with_context(|| format!("could not create {}", partial.display()))?;
    let made = copy(store.as_ref(), &partial, inside, file).await;
    if made.is_err() {
        let _ = fs::remove_file(&partial);
    }
    made.context("the copy failed")?;
    match place.json {
        true => print_json(&json!({ "file": file, "with_keys": with_keys })),
        false if with_keys => say("Backed up, with the keys: keep the file as safe as them."),
        false => {
            say("Backed up, without the keys. Keep keys/ of the data directory somewhere else.")
        }
    }
    Ok(Ending::Done)
}

async fn copy(
    store: &dyn store::Store,
    partial: &Path,
    inside: Vec<(String, Vec<u8>)>,
    file: &Path,
) -> Result<()> {
    store.backup(partial, inside).await?;
    Ok(put_in_place(partial, file)?)
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
    if Location::from(directory.as_path()).exists()? {
        bail!(
            "{} holds data already; restore into another",
            directory.display()
        );
    }
    // Beside the place, so that what is there is whole and was verified.
    let staging = directory.join("restoring");
    if staging.exists() {
        fs::remove_dir_all(&staging).context("could not remove what an earlier try left")?;
    }
    create_private_directory(&staging)?;
    let keys_directory = directory.join(keys::DIRECTORY);
    let seal = keys_directory.join(keys::SEAL_KEY);
    let had_key = seal.exists();
    let restored = restore_into(place, file, &directory, &staging).await;
    if restored.is_err() && !had_key && seal.exists() {
        // It came with a backup that was refused, or was made for it.
        fs::remove_file(&seal).context("could not remove keys/seal.key of the backup")?;
        // Unless other keys are there.
        let _ = fs::remove_dir(&keys_directory);
    }
    fs::remove_dir_all(&staging).context("could not remove the directory restoring")?;
    let (origin, with_keys) = restored?;
    match place.json {
        true => print_json(&json!({ "origin": origin, "with_keys": with_keys })),
        false => {
            say(&format!(
                "Restored. The log goes on as {origin}, and its next entry says so."
            ));
            if !with_keys {
                say(
                    "There were no keys, so passwords, webhook secrets and device tokens cannot be \
                     opened. Make sign-in links with wakeful user sign-in-link NAME, and new \
                     secrets with wakeful webhook secret --agent ID. Devices go on with the tokens \
                     they have.",
                );
            }
        }
    }
    Ok(Ending::Done)
}

/// Gives the log's new origin, and whether the key of the secrets is there.
async fn restore_into(
    place: &Place,
    file: &Path,
    directory: &Path,
    staging: &Path,
) -> Result<(String, bool)> {
    let (target, staged) = (Location::from(directory), Location::from(staging));
    let keys_directory = directory.join(keys::DIRECTORY);
    let (seal, trail) = (
        keys_directory.join(keys::SEAL_KEY),
        keys_directory.join(keys::TRAIL_KEY),
    );
    let inside = store::restore(file, &staged, seal.exists()).context("this is no backup")?;
    let inside = |name: &str| inside.iter().find(|(held, _)| held == name);
    if let (Some((_, key)), false) = (inside(keys::SEAL_KEY), seal.exists()) {
        create_private_directory(&keys_directory)?;
        house::create_private(&seal)?.write_all(key)?;
    }
    // Whose log it was: the key says it, or else the log itself.
    let known = match inside(keys::TRAIL_KEY) {
        Some((_, key)) => {
            let held = staging.join(keys::TRAIL_KEY);
            house::create_private(&held)?.write_all(key)?;
            Some(keys::read_trail_key(&held)?)
        }
        None => keys::read_trail_key(&trail).ok(),
    };
    let with_keys = seal.exists();
    let body_keys = house::body_keys(place.body_key.as_deref())?;
    // Without the key nobody can tell any more whether rows were changed that no
    // entry proves: they are taken as they are. A new key is made once the backup
    // has been verified.
    let passing = store::RowSeal::new(&keys::random()?);
    let known_seal = house::row_seal(directory).filter(|_| with_keys);
    if known_seal.is_none() {
        store::reseal(&staged, &passing).context("this is no backup")?;
    }
    let row_seal = known_seal.as_ref().unwrap_or(&passing);
    let opened = store::open(&staged, row_seal).await;
    let mut store = opened.context("this is no backup")?;
    // Whatever the views of the backup say, the trail decides.
    let made_anew = async |store: &dyn store::Store| {
        let rebuilt = engine::rebuild::rebuild(store, &|_, _| {}).await;
        rebuilt.context("the backup does not verify, and was not restored")
    };
    let older = store.is_rebuilding().await?;
    if older {
        made_anew(store.as_ref()).await?;
    }
    let progress = Progress::new("verified");
    let verified = proof::verify(
        store.as_ref(),
        &house::body_vault(place.body_key.as_deref())?,
        known.as_ref().map(|key| key.verifier()),
        Vec::new(),
        &|done, all| progress.at(done, all),
    )
    .await;
    progress.finish();
    verified.context("the backup does not verify, and was not restored")?;
    if !older {
        made_anew(store.as_ref()).await?;
    }
    if known_seal.is_none() {
        drop(store);
        let row_seal = keys::open_seal(directory)?.row_seal();
        store::reseal(&staged, &row_seal)?;
        store = store::open(&staged, &row_seal).await?;
    }

    // A new origin and key: whoever kept the old log's checkpoints can tell.
    if trail.exists() {
        fs::rename(&trail, with_suffix(&trail, ".before-restore"))?;
    }
    let setup = house::setup_of(directory, Arc::clone(&store), &body_keys)?;
    setup.vault.check(setup.store.as_ref()).await?;
    let origin = setup.keys.log.name().to_owned();
    Engine::continue_log(setup).await?;
    // All of it into the one file.
    store.settle(house::PATIENCE).await?;
    drop(store);
    // What another database left here must not be taken for a part of this one.
    target.set_aside(".before-restore")?;
    staged.move_to(&target)?;
    Ok((origin, with_keys))
}

pub fn create_private_directory(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.with_context(|| format!("could not create {}", path.display()))
}
