//! A process of this program around each command. It is outside of what confines the command, has no terminal, and puts
//! back what is protected. The command runs in namespaces, whose first process ends everything in them. Without
//! namespaces, a process of the command becomes a child of this process when its own parent ends, and ends with it.
//!
//! The order arrives on standard input, which is a socket: one line, then what the command reads. A further byte asks
//! the command to end or kills it, and so does the end of the socket. The report is one line on the same socket.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group};
use serde::{Deserialize, Serialize};

use super::border::{Confined, View};
use super::bwrap::Bwrap;
use super::git_settings;
use super::guard::{Guard, Restored};
use super::holding::holding;
use super::limits::{Limits, Over};
use super::namespace::{self, Rank};
use super::network::{self, WayOut};
use super::note::{Known, Note, set_aside_left};
use super::process::{GRACE, LAST_OUTPUT, end_with_parent};
use super::processes::{children, parents};
use super::released::Freed;
use super::root::TEMPORARY;
use super::sandbox::{self, Enforcement, Restriction, put_back_outside};
use super::watch::Watched;

/// The argument that makes this program such a process.
const WORD: &str = "__supervise";
/// The argument that makes it the first process in namespaces that another program created.
const FIRST_WORD: &str = "__supervise_inside";
/// This program, even if its file was replaced in the meantime.
pub(super) const SELF: &str = "/proc/self/exe";
/// Asks a command to end.
pub(super) const STOP: u8 = b't';
/// Ends a command at once.
pub(super) const KILL: u8 = b'k';
/// Time between two checks for remaining processes.
const PAUSE: Duration = Duration::from_millis(20);
/// Number of checks before a process that cannot be killed is left alone.
const LOOKS: u32 = 500;

/// How long a test of namespaces may take.
const TRIAL: Duration = Duration::from_secs(10);

/// What to run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Order {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub folder: Option<OsString>,
    pub view: View,
    /// Whether it runs in its own namespaces.
    pub apart: bool,
    /// The program that creates them. `None` means this one.
    pub through: Option<PathBuf>,
    pub connects: bool,
    /// Hosts that it may connect to besides its own processes.
    pub hosts: Vec<String>,
    pub required: bool,
    pub limits: Limits,
    /// The project whose protected part is put back.
    pub guarded: Option<OsString>,
    /// The part of it that the command may change.
    pub released: Freed,
    /// The folder for the note of what was protected before.
    pub notes: Option<OsString>,
    /// What other commands in the project tell.
    pub known: Known,
    /// How many bytes after the order are the command's input. `None` means no input.
    pub stdin: Option<usize>,
    /// Only create the namespaces and run nothing.
    pub trial: bool,
}

/// The result: an exit code, or the signal that ended it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    NotStarted {
        os: Option<i32>,
        text: String,
    },
    Ended {
        code: Option<i32>,
        signal: i32,
        restored: Restored,
        /// Whether nobody waited for it any more.
        alone: bool,
        /// Hosts that it asked for and may not connect to.
        refused: Vec<String>,
        /// The limit for which it was ended.
        over: Option<Over>,
        /// What it could only read, and a person could let it change.
        closed: Vec<String>,
        /// Whether the system killed the first process inside.
        lost: bool,
    },
}

impl Order {
    /// The order for a command that clears its environment.
    pub(super) fn of(command: &Command, confined: &Confined, stdin: Option<usize>) -> Self {
        let set = |(name, value): (&std::ffi::OsStr, Option<&std::ffi::OsStr>)| Some((name.into(), value?.into()));
        Self {
            program: command.get_program().into(),
            arguments: command.get_args().map(OsString::from).collect(),
            environment: command.get_envs().filter_map(set).collect(),
            folder: command.get_current_dir().map(OsString::from),
            view: confined.view.clone(),
            apart: holding().is_whole(),
            through: holding().through().map(Path::to_path_buf),
            connects: confined.connects,
            hosts: confined.hosts.clone(),
            required: confined.required,
            limits: confined.limits,
            guarded: confined.guarded.as_ref().map(OsString::from),
            released: confined.released.clone(),
            notes: confined.notes.as_ref().map(OsString::from),
            known: Known::default(),
            stdin,
            trial: false,
        }
    }
}

impl Report {
    fn ended(code: Option<i32>, signal: i32) -> Self {
        Self::Ended {
            code,
            signal,
            restored: Restored::default(),
            alone: false,
            refused: Vec::new(),
            over: None,
            closed: Vec::new(),
            lost: false,
        }
    }

    fn not_started(error: &io::Error) -> Self {
        Self::NotStarted { os: error.raw_os_error(), text: error.to_string() }
    }
}

/// The program that supervises.
static SUPERVISOR: OnceLock<PathBuf> = OnceLock::new();

/// Handles a process that was started to supervise, and returns its exit code. `None` means that this process was not
/// started for that; it then starts such processes itself. Called first in `main`.
pub fn supervise() -> Option<ExitCode> {
    let word = std::env::args_os().nth(1).unwrap_or_default();
    let serves: Option<fn() -> io::Result<()>> = if word == WORD {
        Some(serve)
    } else if word == FIRST_WORD {
        Some(serve_inside)
    } else {
        None
    };
    if let Some(serves) = serves {
        return Some(if serves().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if Path::new(SELF).exists() {
        supervise_with(Path::new(SELF));
    }
    None
}

/// Lets this program supervise commands from now on. The program must call [`supervise`] first.
pub fn supervise_with(program: &Path) {
    let _again = SUPERVISOR.set(program.to_path_buf());
}

/// A supervising process with its end of the socket. `None` if no program is known for it.
pub(super) fn command(control: UnixStream) -> Option<tokio::process::Command> {
    let mut command = tokio::process::Command::new(SUPERVISOR.get()?);
    command.arg(WORD).env_clear().envs(git_settings::variables());
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(control)));
    Some(command)
}

/// Whether this system lets a command have its own namespaces, or lets `through` create them.
///
/// # Errors
/// It does not, for this reason.
pub(super) fn probe(through: Option<&Path>) -> Result<(), String> {
    let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
    let Some(command) = command(theirs) else {
        return Err("no process of this program supervises commands".to_owned());
    };
    let mut command = command.into_std();
    let trial = Order { trial: true, apart: true, through: through.map(Path::to_path_buf), ..Order::default() };
    let try_out = || -> io::Result<Report> {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        drop(command);
        let mut order = serde_json::to_vec(&trial)?;
        order.push(b'\n');
        (&ours).write_all(&order)?;
        ours.set_read_timeout(Some(TRIAL))?;
        let mut line = String::new();
        let read = BufReader::new(&ours).read_line(&mut line);
        let _gone = child.kill();
        child.wait()?;
        read?;
        Ok(serde_json::from_str(&line)?)
    };
    match try_out() {
        Ok(Report::Ended { code: Some(0), .. }) => Ok(()),
        Ok(Report::Ended { .. }) => Err("the first process in the namespaces was killed".to_owned()),
        Ok(Report::NotStarted { text, .. }) => Err(text),
        Err(error) => Err(error.to_string()),
    }
}

enum Happened {
    /// The command ended.
    Ended(WaitStatus),
    /// Nothing is left of it.
    Gone,
    /// It was asked to end.
    Stop,
    /// It must end at once.
    Kill,
    /// It uses too much.
    Over(Over),
    /// Nobody waits for it any more.
    Alone,
}

/// The order from standard input, the command's input, and the rest of the stream.
fn ordered() -> io::Result<(Order, Vec<u8>, BufReader<UnixStream>, UnixStream)> {
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut incoming = BufReader::new(control.try_clone()?);
    let mut line = String::new();
    incoming.read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    let mut bytes = vec![0; order.stdin.unwrap_or(0)];
    incoming.read_exact(&mut bytes)?;
    Ok((order, bytes, incoming, control))
}

/// Runs as the first process in namespaces that another program created.
fn serve_inside() -> io::Result<()> {
    keep_files(0)?;
    let (order, bytes, incoming, control) = ordered()?;
    let rank = Rank::own()?;
    namespace::settle_inside()?;
    let guard = order
        .guarded
        .as_ref()
        .map(|root| Guard::knowing(Path::new(root), &order.released, &order.view.changeable, &order.known));
    as_first(order, bytes, incoming, guard.as_ref(), &control, rank)
}

fn serve() -> io::Result<()> {
    // Without a terminal, nobody can type into one. A group leader cannot leave its group, but this process is none.
    let _leader = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let (mut order, bytes, incoming, control) = ordered()?;
    keep_files(libc::CLOSE_RANGE_CLOEXEC)?;
    let (guard, mut note) = match (&order.guarded, &order.notes) {
        (Some(root), Some(notes)) => {
            let (root, view) = (Path::new(root), &order.view);
            let look = |known: &Known| Guard::knowing(root, &order.released, &view.changeable, known);
            let (known, guard, note) = Note::take(Path::new(notes), root, &view.own, look)?;
            order.known = Known { named: guard.named.clone(), ..known };
            (Some(guard), Some(note))
        }
        (root, _) => {
            (root.as_ref().map(|root| Guard::of(Path::new(root), &order.released, &order.view.changeable)), None)
        }
    };
    let apart = order.apart;
    let mut report = if apart {
        let mut view = order.view.clone();
        let names = guard.as_ref().map(|guard| guard.close(&mut view)).unwrap_or_default();
        let places = order.notes.clone().zip(order.guarded.clone());
        let told = in_namespaces(&view, guard.as_ref(), note.as_mut(), order, bytes, incoming)?;
        let mut report = told.unwrap_or_else(|| {
            let mut report = Report::ended(None, Signal::KILL.as_raw());
            if let Report::Ended { restored, lost, .. } = &mut report {
                *lost = true;
                *restored = guard.as_ref().and_then(|guard| put_back_outside(guard, &view)).unwrap_or_else(|| {
                    drop(note.take());
                    let left = places.map(|(notes, root)| set_aside_left(Path::new(&notes), Path::new(&root)));
                    Restored { left: left.unwrap_or_default(), ..Restored::default() }
                });
            }
            report
        });
        if let Report::Ended { closed, restored, .. } = &mut report {
            *closed = names;
            // A file that is closed inside, but was changed under another name, is put back from outside.
            if !restored.open.is_empty()
                && let Some(again) = guard.as_ref().and_then(|guard| put_back_outside(guard, &view))
            {
                restored.open = again.open;
            }
        }
        report
    } else {
        note.as_mut().map_or(Ok(()), Note::beat)?;
        here(order, bytes, incoming, Rank::own().ok())
    };
    if let (Some(guard), Report::Ended { restored, alone, .. }) = (guard.filter(|_| !apart), &mut report) {
        if *alone {
            guard.set_aside();
        }
        *restored = guard.restore();
    }
    if let Some(note) = note {
        note.over();
    }
    answer(&control, &report)
}

/// Keeps descriptors that were open at the start of this program from reaching a command: a descriptor of a folder
/// would lead out. With `flags` 0 it closes them now, before anything has opened one.
fn keep_files(flags: libc::c_uint) -> io::Result<()> {
    #[expect(unsafe_code, reason = "the library for system calls does not know this one")]
    // SAFETY: the call takes numbers only. With the flag it closes nothing: descriptors above the standard ones are closed in
    // programs that are started from here on. Without it, it comes first in this process, when no value owns a descriptor.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, flags) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Runs the command in its own namespaces. `None` if its first process was killed and reported nothing.
fn in_namespaces(
    view: &View,
    guard: Option<&Guard>,
    note: Option<&mut Note>,
    order: Order,
    bytes: Vec<u8>,
    incoming: BufReader<UnixStream>,
) -> io::Result<Option<Report>> {
    let (told, tells) = UnixStream::pair()?;
    let (hosts, grantable) = (order.hosts.clone(), order.guarded.is_some());
    if let Some(program) = order.through.clone() {
        return through(&program, view, note, (told, tells), order, bytes, incoming);
    }
    let first = |rank| as_first(order, bytes, incoming, guard, &tells, rank);
    let refused = |error: &io::Error| {
        let text = format!("the system refuses namespaces: {error}");
        // One byte precedes the report, with or without the sockets of the network.
        let _over = (&tells).write_all(b"\n");
        let _over = answer(&tells, &Report::NotStarted { os: None, text });
    };
    let between = namespace::start(view, first, refused)?;
    drop(tells);
    note.map_or(Ok(()), Note::beat)?;
    let report = reported(&hosts, grantable, told)?;
    namespace::wait(between);
    Ok(report)
}

/// Like `in_namespaces`, but in namespaces that another program creates, where this program runs again.
fn through(
    program: &Path,
    view: &View,
    note: Option<&mut Note>,
    (told, theirs): (UnixStream, UnixStream),
    order: Order,
    bytes: Vec<u8>,
    mut incoming: BufReader<UnixStream>,
) -> io::Result<Option<Report>> {
    let mut bwrap = Bwrap::of(program, view, FIRST_WORD)?;
    bwrap.command.stdin(Stdio::from(OwnedFd::from(theirs)));
    if order.trial {
        bwrap.command.stderr(Stdio::piped());
    }
    end_with_parent(&mut bwrap.command);
    let mut child = bwrap.command.spawn()?;
    drop(bwrap);
    note.map_or(Ok(()), Note::beat)?;
    let mut line = serde_json::to_vec(&order)?;
    line.push(b'\n');
    line.extend(bytes);
    let mut inside = told.try_clone()?;
    std::thread::spawn(move || {
        // If it has already gone, the missing report shows it.
        let _gone = inside.write_all(&line).and_then(|()| io::copy(&mut incoming, &mut inside));
        let _gone = inside.shutdown(Shutdown::Write);
    });
    let report = reported(&order.hosts, order.guarded.is_some(), told)?;
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut said)?;
    }
    child.wait()?;
    let refused = || order.trial.then(|| Report::NotStarted { os: None, text: said.trim().to_owned() });
    Ok(report.or_else(refused))
}

/// What the first process inside reports. Meanwhile this process keeps its way out open.
fn reported(hosts: &[String], grantable: bool, told: UnixStream) -> io::Result<Option<Report>> {
    // If the namespaces were refused, no socket arrived, and the report says why.
    let way_out = WayOut::serve(hosts, grantable, &told);
    let mut line = String::new();
    BufReader::new(told).read_line(&mut line)?;
    let mut report = serde_json::from_str(&line).ok();
    if let (Some(Report::Ended { refused, .. }), Ok(way_out)) = (&mut report, way_out) {
        *refused = way_out.refused();
    }
    Ok(report)
}

/// Runs the command as the first process of its namespaces.
fn as_first(
    mut order: Order,
    bytes: Vec<u8>,
    incoming: BufReader<UnixStream>,
    guard: Option<&Guard>,
    tells: &UnixStream,
    rank: Rank,
) -> io::Result<()> {
    let variables = match network::open(&order.hosts, tells) {
        Ok(variables) => variables,
        Err(error) => {
            let text = format!("a port of this machine that was granted can't be had here: {error}");
            let _over = (&*tells).write_all(b"\n");
            return answer(tells, &Report::NotStarted { os: None, text });
        }
    };
    if order.trial {
        return answer(tells, &Report::ended(Some(0), 0));
    }
    let proxies = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
    order.environment.splice(0..0, proxies.filter(|_| order.connects).collect::<Vec<_>>());
    let mut report = here(order, bytes, incoming, Some(rank));
    if let (Some(guard), Report::Ended { restored, .. }) = (guard, &mut report) {
        // Wherever a link leads here, the command itself could have written there.
        *restored = guard.restore();
    }
    answer(tells, &report)
}

/// Runs the command under this process.
fn here(order: Order, bytes: Vec<u8>, incoming: BufReader<UnixStream>, rank: Option<Rank>) -> Report {
    let first = order.apart;
    let temporary = TEMPORARY.iter().map(PathBuf::from).chain(order.view.home.clone()).filter(|_| first).collect();
    let watched = Watched { limits: order.limits, temporary, first };
    let child = match start(order, bytes, rank) {
        Ok(child) => child,
        Err(error) => return Report::not_started(&error),
    };
    let (sender, happened) = channel();
    let listening = sender.clone();
    std::thread::spawn(move || listen(incoming, &listening));
    let watching = sender.clone();
    std::thread::spawn(move || watching.send(Happened::Over(watched.until_over())));
    std::thread::spawn(move || reap(child, &sender));
    let (ended, ends) = until_gone(child, &happened, if first { kill_others } else { kill_descendants });
    let code = ended.and_then(WaitStatus::exit_status);
    let mut report = Report::ended(code, ended.and_then(WaitStatus::terminating_signal).unwrap_or(0));
    if let Report::Ended { alone, over, .. } = &mut report {
        (*alone, *over) = (ends.alone, ends.over);
    }
    report
}

fn answer(mut control: &UnixStream, report: &Report) -> io::Result<()> {
    let line = serde_json::to_string(report)?;
    control.write_all(format!("{line}\n").as_bytes())
}

/// Starts the command from a thread that is restricted first and then stays, because the system kills the command
/// together with that thread.
fn start(order: Order, bytes: Vec<u8>, rank: Option<Rank>) -> io::Result<Pid> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let writable = if order.apart { order.view.writable_inside().collect() } else { order.view.writable_now() };
        let (files, calls) = sandbox::restrict(&Restriction { writable, connects: order.connects });
        let held = !order.required || order.apart || (files != Enforcement::None && calls);
        let refused = || Err(io::Error::other("the system cannot restrict it to reading"));
        let _nobody = sender.send(if held { spawn(&order, bytes, rank.as_ref()) } else { refused() });
        loop {
            std::thread::park();
        }
    });
    receiver.recv().map_err(|_| io::Error::other("the thread of the sandbox died"))?
}

fn spawn(order: &Order, bytes: Vec<u8>, rank: Option<&Rank>) -> io::Result<Pid> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(&order.program);
    let environment = order.environment.iter().map(|(name, value)| (name, value));
    command.args(&order.arguments).env_clear().envs(environment).process_group(0);
    if let Some(folder) = &order.folder {
        command.current_dir(folder);
    }
    command.stdin(if order.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    end_with_parent(&mut command);
    let mut child = match rank {
        Some(rank) => rank.spawn_first(&mut command)?,
        None => command.spawn()?,
    };
    if let Some(mut sink) = child.stdin.take() {
        // A process need not read all of it.
        std::thread::spawn(move || drop(sink.write_all(&bytes)));
    }
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| io::Error::other("a process without a number"))
}

fn listen(mut control: impl Read, happened: &Sender<Happened>) {
    let mut byte = [0];
    while matches!(control.read(&mut byte), Ok(1)) {
        let _over = happened.send(if byte == [KILL] { Happened::Kill } else { Happened::Stop });
    }
    let _over = happened.send(Happened::Alone);
}

/// Waits for the command and for everything that it left behind.
fn reap(child: Pid, happened: &Sender<Happened>) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => drop(happened.send(Happened::Ended(status))),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let _over = happened.send(Happened::Gone);
}

/// Why a command was ended before it ended by itself.
#[derive(Default)]
struct Ends {
    /// Nobody waited for it any more.
    alone: bool,
    over: Option<Over>,
}

/// Waits until no process is left. Processes that the command left have a moment for their last output. Returns how the
/// command ended, and what ended it.
fn until_gone(child: Pid, happened: &Receiver<Happened>, kill_all: fn()) -> (Option<WaitStatus>, Ends) {
    let (mut ended, mut ends) = (None, Ends::default());
    // When everything that is left gets killed.
    let mut due: Option<Instant> = None;
    let mut looks = 0;
    let sooner = |due: Option<Instant>, wait: Duration| {
        let at = Instant::now() + wait;
        Some(due.map_or(at, |due| due.min(at)))
    };
    loop {
        let next = match due {
            Some(due) => happened.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => happened.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(Happened::Ended(status)) => {
                ended = Some(status);
                due = sooner(due, LAST_OUTPUT);
            }
            Ok(Happened::Stop) => {
                let _gone = kill_process_group(child, Signal::TERM);
                due = sooner(due, GRACE);
            }
            Ok(Happened::Kill) => due = sooner(due, Duration::ZERO),
            Ok(Happened::Over(over)) => {
                // A command that ended by itself did not exceed a limit.
                ends.over = ends.over.or(Some(over)).filter(|_| ended.is_none());
                due = sooner(due, Duration::ZERO);
            }
            Ok(Happened::Alone) => {
                ends.alone = true;
                due = sooner(due, Duration::ZERO);
            }
            Err(RecvTimeoutError::Timeout) if looks < LOOKS => {
                looks += 1;
                kill_all();
                due = Some(Instant::now() + PAUSE);
            }
            Ok(Happened::Gone) | Err(_) => return (ended, ends),
        }
    }
}

/// Ends all other processes of the namespace. This process is its first.
fn kill_others() {
    // It is no error if there are none.
    let _gone = rustix::process::kill_process_group(Pid::INIT, Signal::KILL);
}

fn kill_descendants() {
    for pid in children(&parents()).into_iter().filter_map(Pid::from_raw) {
        // It is no error if the process has ended in the meantime.
        let _gone = kill_process(pid, Signal::KILL);
    }
}
