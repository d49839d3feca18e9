//! Connections: accepted, protected, served, and let go at the end.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    io,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{body::Body, http::Response, serve::Listener};
use hyper::{
    Request,
    body::Incoming,
    rt::{Read, Sleep, Timer, Write},
    server::conn::{http1, http2},
    service::{Service, service_fn},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::{
    ServerConfig, SupportedProtocolVersion,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    version::{TLS12, TLS13},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::{
    again::again,
    crowd::{Bounds, Crowd, Guest},
    stalled::{Bodies, Impatient},
};

/// How long a listener waits for others.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// A client that sends no request holds a connection for this long at most.
    silent: Duration,
    /// So does one that takes nothing of what it asked for.
    stalled: Duration,
}

const PATIENCE: Patience = Patience {
    silent: Duration::from_secs(15),
    stalled: Duration::from_secs(30),
};

/// What one HTTP/1 connection buffers before it asks whether the head is too
/// large. hyper would take six times as much, and many senders of large bodies
/// would add up to a lot.
const BUFFER_BYTES: usize = 64 << 10;
/// Requests at once on one HTTP/2 connection.
const STREAMS: u32 = 100;

/// The oldest version of TLS that a listener speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMin {
    /// Many devices know nothing newer.
    #[default]
    V1_2,
    V1_3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write the oldest version of TLS to speak as 1.2, which is the default, or 1.3")]
pub struct TlsMinFault;

impl std::str::FromStr for TlsMin {
    type Err = TlsMinFault;

    fn from_str(text: &str) -> Result<TlsMin, TlsMinFault> {
        match text {
            "1.2" => Ok(TlsMin::V1_2),
            "1.3" => Ok(TlsMin::V1_3),
            _ => Err(TlsMinFault),
        }
    }
}

impl TlsMin {
    fn versions(self) -> &'static [&'static SupportedProtocolVersion] {
        static NEWEST_FIRST: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
        match self {
            TlsMin::V1_2 => &NEWEST_FIRST,
            TlsMin::V1_3 => &NEWEST_FIRST[..1],
        }
    }
}

/// A certificate and its key, ready to protect connections.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// From a chain of certificates and a private key, both as PEM. Whoever
    /// offers only versions of TLS before `oldest` is refused in the handshake.
    pub fn from_pem_since(oldest: TlsMin, chain: &[u8], key: &[u8]) -> io::Result<Tls> {
        let chain = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(io::Error::other)?;
        let mut config = ServerConfig::builder_with_protocol_versions(oldest.versions())
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

/// Serves what connects until `stop` ends; then lets requests in flight take
/// `grace` more. Every connection gets a service of its own from `greet`;
/// `origin` gives the address that it counts for, if there is one.
pub async fn listen<L, S>(
    bounds: Bounds,
    listener: L,
    tls: Option<Tls>,
    origin: impl Fn(&L::Addr) -> Option<IpAddr>,
    greet: impl Fn(&L::Addr, &Arc<Guest>) -> S,
    stop: impl Future<Output = ()>,
    grace: Duration,
) where
    L: Listener,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let serve = move |stream, service, stay| {
        let tls = tls.clone();
        async move {
            match tls {
                Some(tls) => protect(stream, tls, service, stay).await,
                None => http1(TokioIo::new(stream), service, stay).await,
            }
        }
    };
    let accepting = (bounds, PATIENCE);
    listen_within(accepting, listener, origin, greet, serve, stop, grace).await;
}

/// The same without TLS and without counting by address; less to compile.
pub async fn listen_plainly<L, S>(
    bounds: Bounds,
    listener: L,
    greet: impl Fn(&L::Addr, &Arc<Guest>) -> S,
    stop: impl Future<Output = ()>,
    grace: Duration,
) where
    L: Listener,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let serve = |stream, service, stay| http1(TokioIo::new(stream), service, stay);
    let accepting = (bounds, PATIENCE);
    listen_within(accepting, listener, |_| None, greet, serve, stop, grace).await;
}

async fn listen_within<L, S, F>(
    (bounds, patience): (Bounds, Patience),
    mut listener: L,
    origin: impl Fn(&L::Addr) -> Option<IpAddr>,
    greet: impl Fn(&L::Addr, &Arc<Guest>) -> S,
    serve: impl Fn(Impatient<L::Io>, S, Stay) -> F + Clone + Send + 'static,
    stop: impl Future<Output = ()>,
    grace: Duration,
) where
    L: Listener,
    S: Send + 'static,
    F: Future<Output = ()> + Send,
{
    let places = Arc::new(Semaphore::new(bounds.connections));
    let crowd = Crowd::new(bounds);
    let (stopping, stopped) = watch::channel(());
    let mut stop = std::pin::pin!(stop);
    loop {
        let place = Arc::clone(&places);
        let accepted = async { (place.acquire_owned().await, listener.accept().await) };
        let (place, (stream, address)) = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => break,
        };
        let origin = origin(&address);
        if origin.is_some() {
            wait_for_room(&crowd).await;
        }
        let guest = crowd.enter(origin, Instant::now());
        let service = greet(&address, &guest);
        let stream = Impatient::new(stream, patience.stalled);
        let stay = Stay {
            patience,
            stopped: stopped.clone(),
            _place: place.ok(),
        };
        let serve = serve.clone();
        tokio::spawn(again(async move {
            let mut served = std::pin::pin!(serve(stream, service, stay));
            let first = poll_fn(|context| Poll::Ready(served.as_mut().poll(context))).await;
            guest.was_looked_at();
            if first.is_ready() {
                return;
            }
            unless(served, guest.sent_away(), || guest.must_leave()).await;
        }));
    }
    drop((listener, stopped));
    let _ = stopping.send(());
    // Every connection holds a receiver until it ends.
    let ended = tokio::time::timeout(grace, stopping.closed()).await;
    if ended.is_err() {
        tracing::warn!("requests were still in flight at the end");
    }
}

/// Many may come in the same moment: those who are here are looked at before one
/// of them must go.
async fn wait_for_room(crowd: &Crowd) {
    const STEP: Duration = Duration::from_millis(5);
    const STEPS: usize = 100;
    for _ in 0..STEPS {
        if crowd.has_room(Instant::now()) {
            return;
        }
        tokio::time::sleep(STEP).await;
    }
}

/// How long a connection may stay.
struct Stay {
    patience: Patience,
    stopped: watch::Receiver<()>,
    /// Its place among those at once, until it ends.
    _place: Option<OwnedSemaphorePermit>,
}

async fn protect<S>(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    tls: Tls,
    service: S,
    stay: Stay,
) where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    // Who does not speak TLS, or not in time, is no one's failure but theirs.
    let Ok(Ok(stream)) = tokio::time::timeout(stay.patience.silent, tls.0.accept(stream)).await
    else {
        return;
    };
    match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => http2(TokioIo::new(stream), service, stay).await,
        _ => http1(TokioIo::new(stream), service, stay).await,
    }
}

async fn http1<S>(io: impl Read + Write + Send + Unpin + 'static, service: S, stay: Stay)
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send,
    S::Future: Send,
{
    let connection = http1::Builder::new()
        .timer(OneAlarm::default())
        .header_read_timeout(stay.patience.silent)
        .max_buf_size(BUFFER_BYTES)
        .serve_connection(io, service)
        .with_upgrades();
    drive(
        connection,
        http1::UpgradeableConnection::graceful_shutdown,
        stay.stopped.clone(),
    )
    .await;
}

async fn http2<S>(io: impl Read + Write + Send + Unpin + 'static, service: S, stay: Stay)
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let spoke = Arc::new(AtomicBool::new(false));
    let bodies = Bodies::default();
    let noting = {
        let (spoke, bodies) = (Arc::clone(&spoke), bodies.clone());
        service_fn(move |request| {
            spoke.store(true, Ordering::Relaxed);
            let (answering, bodies) = (service.call(request), bodies.clone());
            async move {
                answering
                    .await
                    .map(|answer| answer.map(|body| bodies.watch(body)))
            }
        })
    };
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        // Whoever is gone without a word does not answer.
        .keep_alive_interval(stay.patience.silent)
        .keep_alive_timeout(stay.patience.silent)
        .serve_connection(io, noting);
    let finish = http2::Connection::graceful_shutdown;
    let mut served = std::pin::pin!(drive(connection, finish, stay.stopped.clone()));
    let silence = tokio::time::timeout(stay.patience.silent, &mut served).await;
    if silence.is_ok() || !spoke.load(Ordering::Relaxed) {
        return;
    }
    // The socket itself may be free while no stream gets any room.
    while !bodies.is_stalled(stay.patience.stalled) {
        let served = tokio::time::timeout(stay.patience.silent, &mut served);
        if served.await.is_ok() {
            return;
        }
    }
}

/// A connection until it ends; after `stopped` it takes no further request.
async fn drive<C: Future>(
    connection: C,
    finish: fn(Pin<&mut C>),
    mut stopped: watch::Receiver<()>,
) {
    let mut connection = std::pin::pin!(connection);
    let stopping = stopped.clone();
    let has_stopped = || stopping.has_changed().unwrap_or(true);
    // A client that goes away in the middle is ordinary.
    let ended = unless(connection.as_mut(), stopped.changed(), has_stopped).await;
    if ended.is_none() {
        finish(connection.as_mut());
        let _ = connection.await;
    }
}

/// What `often` gives, which is woken with every request, unless `once` ends
/// before it. To look at that one each time cost as much as finding the route;
/// it is looked at first, so that it wakes this task, and when it `has_ended`.
async fn unless<F: Future>(
    mut often: Pin<&mut F>,
    once: impl Future,
    has_ended: impl Fn() -> bool,
) -> Option<F::Output> {
    let mut once = std::pin::pin!(once);
    let mut will_wake = false;
    poll_fn(|context| {
        if let Poll::Ready(output) = often.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        if will_wake && !has_ended() {
            return Poll::Pending;
        }
        will_wake = true;
        once.as_mut().poll(context).map(|_| None)
    })
    .await
}

/// The timer of one connection. hyper asks for a new sleep with every request
/// and drops it when the request is there; to enter and leave the runtime's
/// timers each time cost as much as reading the request. Here one alarm stays
/// set: it goes off once per [`Patience::silent`], and is set again if whoever
/// waits then has waited for less.
#[derive(Clone, Debug, Default)]
struct OneAlarm(Arc<Mutex<Option<Alarm>>>);

type Alarm = Pin<Box<tokio::time::Sleep>>;

struct Wait {
    until: Instant,
    alarm: OneAlarm,
}

impl Timer for OneAlarm {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, until: Instant) -> Pin<Box<dyn Sleep>> {
        let alarm = self.clone();
        Box::pin(Wait { until, alarm })
    }
}

impl Sleep for Wait {}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let until = tokio::time::Instant::from_std(self.until);
        let mut alarm = self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
        let alarm = alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        while alarm.as_mut().poll(context).is_ready() {
            if alarm.deadline() >= until {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(until);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpStream},
    };

    const PATIENCE: Duration = Duration::from_millis(200);
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

    async fn start(connections: usize, patience: Duration) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let bounds = Bounds {
            connections,
            strangers: connections,
            strangers_per_address: connections,
            ..Bounds::new(connections, connections)
        };
        let patience = super::Patience {
            silent: patience,
            stalled: PATIENCE,
        };
        let greet = |_: &_, _: &_| {
            service_fn(async |request: Request<Incoming>| {
                Ok(Response::new(match request.uri().path() {
                    "/much" => Body::from(vec![b'x'; 32 << 20]),
                    _ => Body::from("hello"),
                }))
            })
        };
        let origin = |address: &std::net::SocketAddr| Some(address.ip());
        let never = std::future::pending();
        let serve = |stream, service, stay| http1(TokioIo::new(stream), service, stay);
        tokio::spawn(listen_within(
            (bounds, patience),
            listener,
            origin,
            greet,
            serve,
            never,
            PATIENCE,
        ));
        address
    }

    #[tokio::test]
    async fn who_takes_nothing_of_what_was_asked_for_is_let_go() {
        let address = start(1, Duration::from_secs(60)).await;
        let mut stalled = TcpStream::connect(address).await.unwrap();
        let ask = b"GET /much HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stalled.write_all(ask).await.unwrap();
        // There is one place: another is greeted when the first is gone.
        let mut next = TcpStream::connect(address).await.unwrap();
        let greeted = tokio::time::timeout(Duration::from_secs(10), greeted(&mut next)).await;
        assert!(greeted.is_ok(), "the one that reads nothing is still there");
    }

    async fn greeted(connection: &mut TcpStream) {
        connection.write_all(REQUEST).await.unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"hello") {
            assert_ne!(connection.read_buf(&mut read).await.unwrap(), 0);
        }
    }

    #[tokio::test]
    async fn one_connection_too_many_waits_until_another_ends() {
        let address = start(2, Duration::from_secs(60)).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        greeted(&mut first).await;
        greeted(&mut second).await;
        let mut third = TcpStream::connect(address).await.unwrap();
        let early = tokio::time::timeout(PATIENCE, greeted(&mut third)).await;
        assert!(early.is_err(), "it was not kept waiting");
        drop(first);
        // What it asked meanwhile is answered, and so is what it asks now.
        greeted(&mut third).await;
    }

    #[tokio::test]
    async fn who_sends_nothing_or_half_a_head_is_let_go() {
        let address = start(8, PATIENCE).await;
        for sent in [&b""[..], &REQUEST[..20]] {
            let mut connection = TcpStream::connect(address).await.unwrap();
            connection.write_all(sent).await.unwrap();
            let started = Instant::now();
            let mut said = Vec::new();
            connection.read_to_end(&mut said).await.unwrap();
            assert!(started.elapsed() >= PATIENCE);
            assert!(started.elapsed() < Duration::from_secs(10));
        }
    }
}
