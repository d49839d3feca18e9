//! Listening, and ending well: requests in flight are finished, whoever waits
//! is let go, then the writer ends.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use axum::{body::Body, serve::ListenerExt as _};
use hyper::service::service_fn;
use tokio::net::UnixListener;

use crate::{
    App,
    crowd::{self, Guest},
    failures, feed, link,
    listen::{Tls, listen_counting},
    loopback::Listeners,
    transport::{Door, Listener},
    tries, webhook,
};

/// Requests in flight may take this long after the signal; the whole of an
/// orderly end stays within 10 s.
const GRACE: Duration = Duration::from_secs(8);
/// Connections for administration: commands of whoever runs the server.
const SOCKET_CONNECTIONS: usize = 64;
/// Administration in flight, after that.
const SOCKET_GRACE: Duration = Duration::from_secs(1);

/// Where to listen.
#[derive(Debug)]
pub struct Bound {
    tcp: Listeners,
    tls: Option<Tls>,
    socket: Option<(UnixListener, PathBuf)>,
}

impl Bound {
    pub async fn new(address: SocketAddr, tls: Option<Tls>) -> io::Result<Bound> {
        Ok(Bound {
            tcp: Listeners::bind(address).await?,
            tls,
            socket: None,
        })
    }

    /// Adds the owner-only socket for administration.
    pub fn with_socket(mut self, path: PathBuf) -> io::Result<Bound> {
        // The data directory is locked, so a socket that is there is left over.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixListener::bind(&path)?;
        let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, owner_only)?;
        self.socket = Some((socket, path));
        Ok(self)
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.address()
    }
}

/// Serves until `shutdown` ends.
pub async fn serve(app: App, bound: Bound, shutdown: impl Future<Output = ()>) {
    let Bound { tcp, tls, socket } = bound;
    if let Err(error) = link::traffic::resume(&app).await {
        tracing::error!(%error, "what was relayed before is not known");
    }
    tries::resume(&app).await;
    let background = [
        tokio::spawn(webhook::run(app.clone())),
        tokio::spawn(failures::run(app.clone())),
        tokio::spawn(tries::run(app.clone())),
        tokio::spawn(feed::run(app.clone())),
        tokio::spawn(link::watch(app.clone())),
        tokio::spawn(link::traffic::run(app.clone())),
    ];
    let protection = match tls {
        Some(_) => Listener::Tls,
        None => Listener::Plain,
    };
    let public = {
        let door = Door::new(app.clone(), protection);
        let greet =
            move |address: &SocketAddr, guest: &Arc<Guest>| answer(door.to(address.ip(), guest));
        let tcp = tcp.tap_io(|stream| _ = stream.set_nodelay(true));
        let stopped = stopped(app.clone());
        let settings = &app.settings;
        let bounds = crowd::Bounds::new(settings.connections, settings.people.connections);
        // Behind a proxy, its connections are everyone's.
        let proxies = settings.proxies.clone();
        let origin = move |address: &SocketAddr| {
            let address = address.ip().to_canonical();
            let is_proxy = proxies.iter().any(|net| net.contains(address));
            (!is_proxy).then_some(address)
        };
        tokio::spawn(async move {
            listen_counting(bounds, tcp, tls, origin, greet, stopped, GRACE).await
        })
    };
    let (socket, path) = socket.unzip();
    let local = socket.map(|socket| {
        let door = Door::new(app.clone(), Listener::Local);
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let greet = move |_: &_, guest: &Arc<Guest>| answer(door.to(here, guest));
        let stopped = stopped(app.clone());
        let bounds = crowd::Bounds::new(SOCKET_CONNECTIONS, SOCKET_CONNECTIONS);
        tokio::spawn(async move {
            listen_counting(bounds, socket, None, |_| None, greet, stopped, SOCKET_GRACE).await
        })
    });

    shutdown.await;
    tracing::info!("stopping");
    app.stopping.send_replace(true);
    link::stop(&app).await;
    let _ = public.await;
    if let Some(local) = local {
        let _ = local.await;
    }
    if let Some(path) = path {
        let _ = std::fs::remove_file(path);
    }
    failures::flush(&app).await;
    tries::flush(&app).await;
    background.iter().for_each(tokio::task::JoinHandle::abort);
    app.engine.stop().await;
}

async fn stopped(app: App) {
    app.stopped().await;
}

/// A door as hyper knows services.
fn answer(
    door: Door,
) -> impl hyper::service::Service<
    hyper::Request<hyper::body::Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future: Send,
> + Send {
    let door = Arc::new(door);
    service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let door = Arc::clone(&door);
        async move { Ok(door.answer(request.map(Body::new)).await) }
    })
}
