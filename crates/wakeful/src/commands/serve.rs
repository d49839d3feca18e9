//! Running the server: settings from flags and a file, listening, ending.

use std::{
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use account::secret::{self, Kind as Secret};
use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;
use server::{
    App, Settings,
    limits::People,
    listen::{Tls, TlsMin},
    proxy::{self, ProxySecret, Unfit},
    serve::{self, Bound},
};
use wake::{limits, net::Cidr};
use wakelink::relay::Limits;

use crate::{
    Ending,
    cli::{Place, Serve},
    commands::files,
    connect, house,
    output::say,
};

pub const DEFAULT_LISTEN: &str = "127.0.0.1:7377";

/// The file's side of the same settings.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    data: Option<PathBuf>,
    listen: Option<SocketAddr>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_min: Option<String>,
    #[serde(default)]
    behind_proxy: Vec<String>,
    proxy_secret_file: Option<PathBuf>,
    body_key: Option<PathBuf>,
    address: Option<String>,
    max_details: Option<usize>,
    #[serde(default)]
    link: Limits,
    /// Whether `connections` is written under `[link]`.
    #[serde(skip)]
    asks_for_connections: bool,
    #[serde(default)]
    people: People,
}

fn read_config(path: Option<&Path>) -> Result<File> {
    let Some(path) = path else {
        return Ok(File::default());
    };
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("could not read {}", path.display()))?;
    let what = || format!("in {}", path.display());
    let mut file: File = toml::from_str(&text).with_context(what)?;
    let written: toml::Table = toml::from_str(&text).with_context(what)?;
    let link = written.get("link");
    file.asks_for_connections = link.is_some_and(|link| link.get("connections").is_some());
    Ok(file)
}

pub async fn serve(place: &Place, flags: Serve) -> Result<Ending> {
    let mut file = read_config(flags.config.as_deref())?;
    let directory = match (&place.data, file.data) {
        (None, Some(data)) => connect::named_directory(&data)?,
        _ => connect::directory(place)?,
    };
    let default_listen = DEFAULT_LISTEN.parse().context("the default address")?;
    let listen = flags.listen.or(file.listen).unwrap_or(default_listen);
    let proxies = if flags.behind_proxy.is_empty() {
        file.behind_proxy
    } else {
        flags.behind_proxy
    };
    let proxies = proxies
        .iter()
        .map(|text| {
            text.parse()
                .with_context(|| format!("--behind-proxy {text}"))
        })
        .collect::<Result<Vec<Cidr>>>()?;
    let proxy_secret = flags.proxy_secret_file.or(file.proxy_secret_file);
    let proxy_secret = proxy_secret.as_deref().map(read_secret).transpose()?;
    check_proxies(&proxies, proxy_secret.as_ref())?;
    let tls_min = flags.tls_min.or(file.tls_min);
    let oldest = read_tls_min(tls_min.as_deref())?;
    let files = (
        flags.tls_cert.or(file.tls_cert),
        flags.tls_key.or(file.tls_key),
    );
    let tls =
        match files {
            (Some(cert), Some(key)) => Some(read_tls(oldest, &cert, &key).with_context(|| {
                format!("could not use {} and {}", cert.display(), key.display())
            })?),
            (None, None) => None,
            _ => bail!("a certificate and its key go together: give both or neither"),
        };
    if tls.is_none() && oldest != TlsMin::default() {
        tracing::warn!("tls-min has no effect without a certificate: the proxy in front decides");
    }
    if tls.is_none() && proxies.is_empty() && !listen.ip().is_loopback() {
        bail!(
            "{listen} can be reached from other machines, and plain HTTP must not be: \
             give --tls-cert and --tls-key, or --behind-proxy CIDR if a proxy speaks HTTPS for it, \
             or listen on 127.0.0.1"
        );
    }

    let max_details_bytes = flags
        .max_details
        .or(file.max_details)
        .unwrap_or(limits::DETAILS_BYTES);
    if max_details_bytes > limits::DETAILS_BYTES_MAX {
        bail!(
            "--max-details {max_details_bytes} is too large: at most {} bytes (16 MiB); \
             agents can send a link to what is larger",
            limits::DETAILS_BYTES_MAX
        );
    }
    if let Some(limit) = file.link.nothing_passes() {
        bail!("{limit} = 0 under [link] would let nothing through: leave it out, or give more");
    }
    if let Some(limit) = file.people.nothing_passes() {
        bail!("{limit} = 0 under [people] would let nothing through: leave it out, or give more");
    }
    let connections = files::make_room(&mut file.link, file.asks_for_connections);
    let address = match flags.address.or(file.address) {
        Some(given) => {
            Some(wake::base(&given).map_err(|fault| anyhow!("--address {given} is {fault}"))?)
        }
        None => None,
    };

    // A directory is made only once nothing else stands in the way.
    let found = directory.exists().then(|| house::lock(&directory));
    let found = found.transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let bound = Bound::new(listen, tls)
        .await
        .with_context(|| format!("could not listen on {listen}; choose another with --listen"))?;
    let _lock = match found {
        Some(lock) => lock,
        None => house::lock(&directory)?,
    };
    let body_key = place.body_key.clone().or(file.body_key);
    let engine = house::start(&directory, body_key.as_deref()).await?;
    let bound = bound
        .with_socket(directory.join(house::SOCKET))
        .context("could not open the administration socket in the data directory")?;
    let listening = bound.address()?;
    let own = format!("{scheme}://{listening}");
    if address.is_none() && wake::base(&own).is_err() {
        tracing::warn!("agents cannot use {own}: name the address they use with --address");
    }
    let nobody = engine.shared().accounts().users.is_empty();
    let setup = nobody
        .then(|| engine::keys::random().map(|random| Secret::Link.spell(random)))
        .transpose()?;
    let settings = Settings {
        address: address.unwrap_or_else(|| own.clone()),
        port: listening.port(),
        max_details_bytes,
        proxies,
        proxy_secret,
        setup: setup.as_ref().map(|link| secret::hash(link)),
        link: file.link,
        people: file.people,
        connections,
    };
    // Before anyone is told that it runs, or a signal would kill it.
    let shutdown = shutdown()?;
    tracing::info!(address = %own, data = %directory.display(), "listening");
    if let Some(link) = setup {
        say(&format!(
            "Nobody is here yet. Open this to begin:\n{}/setup/{link}",
            settings.address
        ));
    }
    let app = App::new(engine, settings);
    serve::serve(app, bound, shutdown).await;
    tracing::info!("stopped");
    Ok(Ending::Done)
}

/// What the proxy proves itself with.
fn read_secret(file: &Path) -> Result<ProxySecret> {
    let read = || {
        let mode = std::fs::metadata(file)?.permissions().mode();
        Ok::<_, std::io::Error>((mode, std::fs::read_to_string(file)?))
    };
    let (mode, text) =
        read().with_context(|| format!("could not read the secret in {}", file.display()))?;
    // A service manager may hand it over by way of a group.
    if mode & 0o007 != 0 {
        bail!(
            "{} can be read by others; run chmod 600 on it",
            file.display()
        );
    }
    ProxySecret::parse(&text).with_context(|| {
        format!(
            "{} must hold {} to {} visible characters without spaces; \
             openssl rand -hex 32 gives some",
            file.display(),
            proxy::LEAST_CHARS,
            proxy::MOST_CHARS
        )
    })
}

fn check_proxies(proxies: &[Cidr], secret: Option<&ProxySecret>) -> Result<()> {
    if secret.is_some() && proxies.is_empty() {
        bail!("--proxy-secret-file is for a proxy: name its network with --behind-proxy CIDR");
    }
    proxy::check(proxies, secret).map_err(|unfit| match unfit {
        Unfit::TooWide(network) => anyhow!(
            "--behind-proxy {network} lets nearly anyone speak for others: \
             name only the proxy's own network or address"
        ),
        Unfit::Unproven(network) => anyhow!(
            "--behind-proxy {network} contains this machine itself, where any program could \
             say that it is the proxy: give --proxy-secret-file FILE, and have the proxy send \
             what is in it as the header {}",
            proxy::HEADER
        ),
    })
}

fn read_tls(oldest: TlsMin, cert: &Path, key: &Path) -> std::io::Result<Tls> {
    Tls::from_pem_since(oldest, &std::fs::read(cert)?, &std::fs::read(key)?)
}

fn read_tls_min(text: Option<&str>) -> Result<TlsMin> {
    match text {
        None => Ok(TlsMin::default()),
        Some(text) => text.parse().with_context(|| format!("tls-min {text:?}")),
    }
}

/// Ends on SIGTERM or SIGINT, from the moment this is called.
pub fn shutdown() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("could not wait for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("could not wait for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
