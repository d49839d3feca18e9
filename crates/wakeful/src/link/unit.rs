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
        "link device --config %d/device.toml --token-file %d/token --secret-file %d/secret"
            .to_owned(),
        format!("--server {}", quoted(&config.server)),
    ];
    if let Some(ca) = &config.server_ca {
        credentials.push(("ca.pem", absolute(ca)?));
        arguments.push("--server-ca %d/ca.pem".to_owned());
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
