//! Putting a device's secret on both sides. It is made on the device, a person
//! carries it to the client, and no server ever has it.

use std::io::{IsTerminal as _, Read as _};

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use wakelink::Secret;
use zeroize::Zeroizing;

use crate::{
    Ending,
    cli::Place,
    link::{cli::Pair, private, qr},
    output::{line, print, print_json, say},
};

/// More than a code or an address with one in it has.
const CODE_BYTES: u64 = 4096;

pub fn pair(place: &Place, given: &Pair) -> Result<Ending> {
    let file = private::secret_file(&given.device, given.secret_file.as_deref())?;
    let known = match given.replace {
        true => None,
        false => private::read_secret(&given.device, &file)?,
    };
    match given.accept {
        true => {
            let secret = read_code(&given.device)?;
            match known {
                Some(known) if known == secret => {}
                Some(_) => bail!(
                    "{} holds another secret; --replace puts this one in its place",
                    file.display()
                ),
                None => private::write_secret(&given.device, &secret, &file)?,
            }
            accepted(place, &given.device, &secret);
        }
        false => {
            let secret = match known {
                Some(known) => known,
                None => {
                    let secret = Secret::new(engine::keys::random()?);
                    private::write_secret(&given.device, &secret, &file)?;
                    secret
                }
            };
            show(place, &given.device, &secret);
            if !place.json {
                say(&format!("Kept in {}.", file.display()));
            }
        }
    }
    Ok(Ending::Done)
}

/// A code, or the address that a picture holds.
fn read_code(device: &str) -> Result<Secret> {
    if std::io::stdin().is_terminal() {
        say("The code that the other side shows, then Enter and Ctrl-D:");
    }
    let mut text = Zeroizing::new(String::new());
    std::io::stdin()
        .take(CODE_BYTES)
        .read_to_string(&mut text)
        .context("could not read standard input")?;
    match Secret::from_uri(&text) {
        Some((of, _)) if of != device => bail!("that is the code of {}", line(&of)),
        Some((_, secret)) => Ok(secret?),
        None => Ok(Secret::from_code(device, &text)?),
    }
}

fn show(place: &Place, device: &str, secret: &Secret) {
    let (code, uri) = (secret.code(device), secret.uri(device));
    let fingerprint = secret.fingerprint(device);
    if place.json {
        return print_json(&json!({
            "agent_id": device, "code": *code, "uri": *uri, "fingerprint": fingerprint
        }));
    }
    if let Some(picture) = qr::lines(&uri) {
        say(&match std::io::stderr().is_terminal() {
            true => qr::coloured(&picture),
            false => picture.join("\n"),
        });
    }
    print(&code);
    say(&format!(
        "Give it to `wakeful link pair {} --accept` where you want to use the device.\n\
         Whoever has it can command the device. Both sides then show this fingerprint:\n{fingerprint}",
        line(device)
    ));
}

fn accepted(place: &Place, device: &str, secret: &Secret) {
    let fingerprint = secret.fingerprint(device);
    match place.json {
        true => print_json(&json!({ "agent_id": device, "fingerprint": fingerprint })),
        false => {
            print(&fingerprint);
            say("Paired, if the device shows the same.");
        }
    }
}
