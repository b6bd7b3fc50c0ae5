//! The network of a command: only its own processes, and hosts that the user granted, which it reaches through a proxy.
//!
//! The command has its own network without a way out. Its first process listens there and passes the listening sockets
//! to the process outside, which accepts connections and forwards them.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

use crate::fetch_url::address::refusal;

/// The maximum number of hosts on this machine that can be granted by port. One message can carry 64.
const PORTS: usize = 64;
/// The maximum number of bytes of the head of a request.
const HEAD: u64 = 16 * 1024;
/// The maximum number of connections of a command at once.
const CONNECTIONS: usize = 256;
/// How long a host may take to answer a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// A host that the user granted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostGrant {
    /// Its name in lower case.
    name: String,
    /// Whether all hosts below the name count too.
    below: bool,
    /// `None` means the ports of the web.
    port: Option<u16>,
}

impl HostGrant {
    /// Reads `host`, `host:port`, `*.domain` or `*.domain:port`.
    fn read(text: &str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (text, None),
        };
        let (name, below) = host.strip_prefix("*.").map_or((host, false), |domain| (domain, true));
        let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
        let valid = !name.is_empty() && !name.starts_with('-') && name.chars().all(plain);
        valid.then(|| Self { name: name.to_ascii_lowercase(), below, port })
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let below = host.strip_suffix(&self.name).is_some_and(|rest| rest.ends_with('.'));
        let named = if self.below { below } else { host == self.name };
        named && self.port.map_or([80, 443].contains(&port), |granted| granted == port)
    }

    /// The port of this machine that is granted.
    fn local_port(&self) -> Option<u16> {
        self.port.filter(|_| self.name == "localhost" && !self.below)
    }
}

/// Whether a text names a host that can be granted: `host`, `host:port`, `*.domain` or `localhost:port`.
pub fn is_host(text: &str) -> bool {
    HostGrant::read(text).is_some_and(|grant| grant.name != "localhost" || grant.local_port().is_some())
}

fn grants(hosts: &[String]) -> Vec<HostGrant> {
    hosts.iter().filter_map(|host| HostGrant::read(host)).collect()
}

fn local_ports(grants: &[HostGrant]) -> Vec<u16> {
    grants.iter().filter_map(HostGrant::local_port).take(PORTS).collect()
}

/// Listens inside and passes the sockets out. Returns the variables that point programs to the proxy.
///
/// # Errors
/// It cannot listen on a port, or the process outside has gone.
pub(super) fn open(hosts: &[String], outside: &UnixStream) -> io::Result<Vec<(&'static str, String)>> {
    let proxy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = format!("http://{}", proxy.local_addr()?);
    let ports = local_ports(&grants(hosts)).into_iter().map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
    let listeners: Vec<TcpListener> = std::iter::once(Ok(proxy)).chain(ports).collect::<io::Result<_>>()?;
    let sockets: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PORTS + 1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(&sockets)) {
        return Err(io::Error::other("too many ports"));
    }
    sendmsg(outside, &[IoSlice::new(b"\n")], &mut message, SendFlags::empty())?;
    let names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    let own = "localhost,127.0.0.1,::1".to_owned();
    Ok(names
        .map(|name| (name, address.clone()))
        .into_iter()
        .chain([("no_proxy", own.clone()), ("NO_PROXY", own)])
        .collect())
}

/// The way out of a command's network. The process outside keeps it open.
#[derive(Default)]
pub(super) struct WayOut {
    refused: Arc<Mutex<BTreeSet<String>>>,
}

impl WayOut {
    /// Serves the sockets on which the first process inside listens. Reads one byte, which arrives with the sockets.
    /// `grantable` says whether a person's grant would apply to the command.
    ///
    /// # Errors
    /// The first process ended and passed nothing.
    pub(super) fn serve(hosts: &[String], grantable: bool, inside: &UnixStream) -> io::Result<Self> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PORTS + 1))];
        let mut message = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        recvmsg(inside, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)?;
        let rights = |part| if let RecvAncillaryMessage::ScmRights(sockets) = part { Some(sockets) } else { None };
        let mut listeners = message.drain().filter_map(rights).flatten().map(TcpListener::from);
        let proxy = listeners.next().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        let this = Self::default();
        let grants: Arc<[HostGrant]> = grants(hosts).into();
        for (listener, port) in listeners.zip(local_ports(&grants)) {
            accept(listener, move |client| pass_on(client, port));
        }
        let refused = Arc::clone(&this.refused);
        accept(proxy, move |client| proxied(client, &grants, grantable, &refused));
        Ok(this)
    }

    /// Hosts that the command asked for and did not get, with their ports.
    pub(super) fn refused(&self) -> Vec<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Serves each connection in a thread, until the process ends with the command.
fn accept(listener: TcpListener, serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) {
    let (serve, open) = (Arc::new(serve), Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            if open.load(Ordering::SeqCst) >= CONNECTIONS {
                continue;
            }
            open.fetch_add(1, Ordering::SeqCst);
            let (serve, open) = (Arc::clone(&serve), Arc::clone(&open));
            std::thread::spawn(move || {
                // If a connection breaks, the command notices it.
                let _broken = serve(client);
                open.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
}

fn pass_on(client: TcpStream, port: u16) -> io::Result<()> {
    both_ways(client, TcpStream::connect((Ipv4Addr::LOCALHOST, port))?)
}

/// What a request to the proxy asks for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    host: String,
    port: u16,
    /// The request as the host gets it. `None` if the client asked for the connection itself.
    request: Option<String>,
}

impl Wanted {
    fn read(head: &str) -> Option<Self> {
        let is_odd = |line: &str| line.chars().any(|letter| letter.is_control() && letter != '\t');
        if head.split("\r\n").any(is_odd) {
            return None;
        }
        let (line, rest) = head.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method == "CONNECT" {
            let (host, port) = host_and_port(target, None)?;
            return Some(Self { host, port, request: None });
        }
        let target = target.strip_prefix("http://")?;
        let end = target.find(['/', '?']).unwrap_or(target.len());
        let (authority, path) = target.split_at(end);
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let (host, port) = host_and_port(authority, Some(80))?;
        let hop = |line: &&str| {
            let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
            !["connection", "proxy-connection", "proxy-authorization", "host"].contains(&name.as_str())
        };
        let headers: String = rest
            .split("\r\n")
            .filter(hop)
            .filter(|line| !line.is_empty())
            .fold(String::new(), |all, line| all + line + "\r\n");
        let request = format!("{method} {path} {version}\r\nHost: {authority}\r\n{headers}Connection: close\r\n\r\n");
        Some(Self { host, port, request: Some(request) })
    }
}

fn host_and_port(authority: &str, usual: Option<u16>) -> Option<(String, u16)> {
    let authority = authority.rsplit('@').next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') && !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, usual?),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

fn proxied(
    mut client: TcpStream,
    grants: &[HostGrant],
    grantable: bool,
    refused: &Mutex<BTreeSet<String>>,
) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?.take(HEAD));
    let mut head = String::new();
    while reader.read_line(&mut head)? > 0 && !head.ends_with("\r\n\r\n") {}
    let Some(wanted) = Wanted::read(&head) else {
        return say(&mut client, "400 Bad Request", "this is no request to a proxy");
    };
    let (host, port) = (&wanted.host, wanted.port);
    let granted: Vec<&HostGrant> = grants.iter().filter(|grant| grant.covers(host, port)).collect();
    if granted.is_empty() && !grantable {
        return say(&mut client, "403 Forbidden", "a check reaches no host, whatever was granted");
    }
    if granted.is_empty() {
        return refuse(&mut client, &format!("{host}:{port}"), refused);
    }
    let mut server = match connect(host, port) {
        Ok(server) => server,
        Err(error) => return say(&mut client, "502 Bad Gateway", &error.to_string()),
    };
    match &wanted.request {
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        Some(request) => server.write_all(request.as_bytes())?,
    }
    // What arrived together with the head is for the host.
    server.write_all(reader.buffer())?;
    drop(reader);
    both_ways(client, server)
}

/// A person may copy the suggested command that grants a host, so it contains nothing but a host name.
fn refuse(client: &mut TcpStream, host: &str, refused: &Mutex<BTreeSet<String>>) -> io::Result<()> {
    if !is_host(host) {
        return say(
            client,
            "403 Forbidden",
            "commands may not connect to this host, and it has no name that can be granted",
        );
    }
    refused.lock().unwrap_or_else(PoisonError::into_inner).insert(host.to_owned());
    let advice = format!("a person can allow it: callsheet grants add host {host}");
    say(client, "403 Forbidden", &format!("commands may not connect to this host; {advice}"))
}

/// Connects to an address that was checked, so the name cannot lead elsewhere in between.
fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    for at in (host, port).to_socket_addrs()? {
        if is_private(at.ip()) {
            last = io::Error::new(io::ErrorKind::PermissionDenied, format!("{host} has a private address"));
            continue;
        }
        if is_own(at) {
            last = io::Error::new(io::ErrorKind::PermissionDenied, format!("{host} is this machine"));
            continue;
        }
        match TcpStream::connect_timeout(&at, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn is_private(ip: IpAddr) -> bool {
    refusal(ip).is_some()
}

/// Whether an address belongs to this machine. It can be a public address that this machine can reach from itself.
/// Nothing is sent.
fn is_own(at: SocketAddr) -> bool {
    let any: IpAddr = if at.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let from = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(at)?;
        socket.local_addr()
    };
    from().is_ok_and(|from: SocketAddr| from.ip() == at.ip())
}

fn say(client: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len() + 1;
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    )?;
    client.shutdown(Shutdown::Write)
}

fn both_ways(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    let up = std::thread::spawn(move || {
        let _broken = io::copy(&mut from_client, &mut to_server);
        let _closed = to_server.shutdown(Shutdown::Write);
    });
    let (mut from_server, mut to_client) = (server, client);
    let _broken = io::copy(&mut from_server, &mut to_client);
    let _closed = to_client.shutdown(Shutdown::Write);
    let _ended = up.join();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_covers_its_host_and_no_other() {
        let cases = [
            ("crates.io", "crates.io", 443, true),
            ("crates.io", "CRATES.io.", 443, true),
            ("crates.io", "static.crates.io", 443, false),
            ("crates.io", "crates.io", 22, false),
            ("crates.io:22", "crates.io", 22, true),
            ("crates.io:22", "crates.io", 443, false),
            ("*.npmjs.org", "registry.npmjs.org", 443, true),
            ("*.npmjs.org", "npmjs.org", 443, false),
            ("*.npmjs.org", "evilnpmjs.org", 443, false),
        ];
        for (grant, host, port, covers) in cases {
            assert_eq!(HostGrant::read(grant).unwrap().covers(host, port), covers, "{grant} {host}:{port}");
        }
        for text in ["", "*.", "a b", "a/b", "host:port", "host:99999"] {
            assert_eq!(HostGrant::read(text), None, "{text}");
        }
        // Texts that would do more than name a host if a person copied them, and texts that no grant could cover.
        for text in ["$(id):80", "a;b:80", "`id`", "--everywhere", "::1:80", "localhost"] {
            assert!(!is_host(text), "{text}");
        }
        assert_eq!(local_ports(&grants(&["localhost:5432".to_owned(), "localhost".to_owned()])), [5432]);
    }

    /// Every address of this machine counts. Loopback addresses stand here for a public one.
    #[test]
    fn an_address_of_this_machine_is_known_by_itself() {
        let at = |text: &str| SocketAddr::new(text.parse().unwrap(), 80);
        assert!(is_own(at("127.0.0.1")) && !is_own(at("192.0.2.1")) && !is_own(at("8.8.8.8")));
        assert!(connect("127.0.0.1", 9).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied));
    }

    /// A grant is suggested only if it would apply.
    #[test]
    fn a_refused_host_names_a_grant_only_to_what_has_grants() {
        for grantable in [true, false] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.write_all(b"CONNECT crates.io:443 HTTP/1.1\r\n\r\n").unwrap();
            let refused = Mutex::default();
            proxied(listener.accept().unwrap().0, &[], grantable, &refused).unwrap();
            let mut said = String::new();
            client.read_to_string(&mut said).unwrap();
            assert_eq!(said.contains("grants add host crates.io:443"), grantable, "{said}");
            assert!(said.starts_with("HTTP/1.1 403"), "{said}");
        }
    }

    #[test]
    fn a_request_is_passed_on_without_what_is_meant_for_the_proxy() {
        let connect = Wanted::read("CONNECT crates.io:443 HTTP/1.1\r\nHost: crates.io:443\r\n\r\n").unwrap();
        assert_eq!(connect, Wanted { host: "crates.io".to_owned(), port: 443, request: None });
        let six = Wanted::read("CONNECT [::1]:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((six.host.as_str(), six.port), ("::1", 443));
        let get = Wanted::read(
            "GET http://a.org/x?y HTTP/1.1\r\nHost: b.org\r\nProxy-Authorization: x\r\nAccept: */*\r\n\r\n",
        )
        .unwrap();
        let request = "GET /x?y HTTP/1.1\r\nHost: a.org\r\nAccept: */*\r\nConnection: close\r\n\r\n";
        assert_eq!(get, Wanted { host: "a.org".to_owned(), port: 80, request: Some(request.to_owned()) });
        for head in [
            "",
            "GET /x HTTP/1.1\r\n\r\n",
            "CONNECT a.org HTTP/1.1\r\n\r\n",
            "GET http://a.org/ HTTP/1.1\nHost: b\r\n\r\n",
            "GET http:// HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(Wanted::read(head), None, "{head:?}");
        }
    }
}
