//! A systemd unit for a device: systemd hands the files over, so that the
//! service's own user need not be able to read them where they lie.

use anyhow::{Context as _, Result};

use crate::{
    Ending,
    cli::Place,
    link::{
        cli::Device,
        config::{self, absolute},
    },
    output::print,
};

const UNIT: &str = include_str!("device.service");
/// Where systemd puts what it hands over; every version that does knows this name.
const HANDED_OVER: &str = "${CREDENTIALS_DIRECTORY}";

pub fn print_unit(place: &Place, given: &Device) -> Result<Ending> {
    let config = config::read(place, given)?;
    let program = std::env::current_exe().context("where is this program?")?;
    let mut credentials = vec![
        ("device.toml", absolute(&given.config)?),
        ("token", absolute(&config.token_file)?),
        ("secret", absolute(&config.secret_file)?),
    ];
    let mut arguments = vec![
        quoted(&program.display().to_string()),
        format!("link device --config {HANDED_OVER}/device.toml"),
        format!("--token-file {HANDED_OVER}/token --secret-file {HANDED_OVER}/secret"),
        format!("--server {}", quoted(&config.server)),
    ];
    if let Some(ca) = &config.server_ca {
        credentials.push(("ca.pem", absolute(ca)?));
        arguments.push(format!("--server-ca {HANDED_OVER}/ca.pem"));
    }
    let credentials: Vec<String> = credentials
        .iter()
        .map(|(name, file)| {
            let from = format!("{name}:{}", file.display()).replace('%', "%%");
            format!("LoadCredential={from}")
        })
        .collect();
    let unit = UNIT
        .replace(
            "@AGENT@",
            &config
                .agent_id
                .replace('%', "%%")
                .replace(['\n', '\r'], " "),
        )
        .replace("@COMMAND@", &arguments.join(" "))
        .replace("@CREDENTIALS@", &credentials.join("\n"));
    print(unit.trim_end());
    Ok(Ending::Done)
}

/// One argument of a command line in a unit, whatever is in it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:".contains(c);
    if text.chars().all(plain) {
        return text.to_owned();
    }
    let mut quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    quoted = quoted.replace('%', "%%").replace('$', "$$");
    format!("\"{quoted}\"")
}
