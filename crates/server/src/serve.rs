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
use tokio::{net::UnixListener, task::JoinHandle};

use crate::{
    App,
    crowd::{self, Guest},
    failures, feed, link,
    listen::{Tls, listen, listen_plainly},
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
    let open = Open::begin(app, bound).await;
    shutdown.await;
    open.end().await;
}

/// A server at work. What it runs is begun by plain functions, and so compiled
/// here: async ones, and what depends on the type of `shutdown`, are compiled in
/// the program, when nothing else is left to compile.
struct Open {
    app: App,
    background: [JoinHandle<()>; 6],
    public: JoinHandle<()>,
    local: Option<JoinHandle<()>>,
    socket: Option<PathBuf>,
}

impl Open {
    async fn begin(app: App, bound: Bound) -> Open {
        let Bound { tcp, tls, socket } = bound;
        if let Err(error) = link::traffic::resume(&app).await {
            tracing::error!(%error, "what was relayed before is not known");
        }
        tries::resume(&app).await;
        let background = begin_background(&app);
        let (local, socket) = match socket {
            Some((listener, path)) => (Some(begin_local(&app, listener)), Some(path)),
            None => (None, None),
        };
        Open {
            public: begin_public(&app, tcp, tls),
            app,
            background,
            local,
            socket,
        }
    }

    async fn end(self) {
        let app = self.app;
        tracing::info!("stopping");
        app.stopping.send_replace(true);
        link::stop(&app).await;
        let _ = self.public.await;
        if let Some(local) = self.local {
            let _ = local.await;
        }
        if let Some(path) = self.socket {
            let _ = std::fs::remove_file(path);
        }
        failures::flush(&app).await;
        tries::flush(&app).await;
        self.background.iter().for_each(JoinHandle::abort);
        app.engine.stop().await;
    }
}

fn begin_background(app: &App) -> [JoinHandle<()>; 6] {
    [
        tokio::spawn(webhook::run(app.clone())),
        tokio::spawn(failures::run(app.clone())),
        tokio::spawn(tries::run(app.clone())),
        tokio::spawn(feed::run(app.clone())),
        tokio::spawn(link::watch(app.clone())),
        tokio::spawn(link::traffic::run(app.clone())),
    ]
}

fn begin_public(app: &App, tcp: Listeners, tls: Option<Tls>) -> JoinHandle<()> {
    let protection = match tls {
        Some(_) => Listener::Tls,
        None => Listener::Plain,
    };
    let door = Door::new(app.clone(), protection);
    let greet =
        move |address: &SocketAddr, guest: &Arc<Guest>| answer(door.to(address.ip(), guest));
    let tcp = tcp.tap_io(|stream| _ = stream.set_nodelay(true));
    let settings = &app.settings;
    let bounds = crowd::Bounds::new(settings.connections, settings.people.connections);
    // Behind a proxy, its connections are everyone's.
    let proxies = settings.proxies.clone();
    let origin = move |address: &SocketAddr| {
        let address = address.ip().to_canonical();
        let is_proxy = proxies.iter().any(|net| net.contains(address));
        (!is_proxy).then_some(address)
    };
    let stopped = stopped(app.clone());
    tokio::spawn(listen(bounds, tcp, tls, origin, greet, stopped, GRACE))
}

fn begin_local(app: &App, socket: UnixListener) -> JoinHandle<()> {
    let door = Door::new(app.clone(), Listener::Local);
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let greet = move |_: &_, guest: &Arc<Guest>| answer(door.to(here, guest));
    let bounds = crowd::Bounds::new(SOCKET_CONNECTIONS, SOCKET_CONNECTIONS);
    let stopped = stopped(app.clone());
    tokio::spawn(listen_plainly(bounds, socket, greet, stopped, SOCKET_GRACE))
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
