//! One process and everything that it starts, ended together: under a supervising process, or else as a process group.

use std::collections::BTreeSet;
use std::io;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use callsheet_runtime::ports::ToolFault;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::border::Confined;
use super::guard::{Guard, Restored};
use super::limits::Over;
use super::sandbox::{self, Enforcement, Restriction};
use super::stream::Stream;

/// Time between asking a group to end and killing it.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// Time for the last output of a process that has ended.
pub(super) const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Callsheet stopped it because its time ran out.
    TimedOut,
    /// Callsheet stopped it because it used too much.
    Over(Over),
}

/// A process that has ended.
pub(crate) struct Ended {
    pub end: End,
    pub stdout: String,
    pub stderr: String,
    /// Whether a stream was longer than what was kept of it.
    pub truncated: bool,
    /// What changed in the protected part of the project.
    pub restored: Restored,
    /// Hosts that it asked for and may not connect to.
    pub refused: Vec<String>,
    /// What it could only read, and a person could let it change.
    pub closed: Vec<String>,
    /// The system killed the process that confines it, and the command with it.
    pub lost: bool,
}

/// Bounds of a process.
pub(crate) struct Bounds<'a> {
    pub timeout: Duration,
    /// The maximum number of bytes kept of each stream.
    pub cap: usize,
    pub cancel: &'a CancellationToken,
    /// What it may change.
    pub confined: Confined,
    /// What it reads. `None` means nothing.
    pub stdin: Option<Vec<u8>>,
}

/// Why there is no end to report.
pub(crate) enum NotRun {
    /// It could not be started.
    Start(io::Error),
    /// The call is over.
    Fault(ToolFault),
}

/// Runs a command to its end. When this future is dropped, everything that the command started is killed.
pub(crate) async fn run(command: Command, bounds: Bounds<'_>) -> Result<Ended, NotRun> {
    #[cfg(target_os = "linux")]
    {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(NotRun::Start)?;
        if let Some(supervisor) = super::supervisor::command(theirs) {
            return super::supervised::run(command, supervisor, ours, bounds).await;
        }
    }
    alone(command, bounds).await
}

/// Puts back what is protected, even if nobody waits any more.
struct Guarded(Option<Guard>);

impl Guarded {
    fn restore(mut self) -> Restored {
        self.0.take().map(|guard| guard.restore()).unwrap_or_default()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(guard) = self.0.take() {
            guard.restore();
        }
    }
}

/// Runs without a supervising process. A process that leaves the command's group is then not found.
async fn alone(mut command: Command, bounds: Bounds<'_>) -> Result<Ended, NotRun> {
    let guarded = Guarded(
        bounds
            .confined
            .guarded
            .as_deref()
            .map(|root| Guard::of(root, &bounds.confined.released, &bounds.confined.view.changeable)),
    );
    let stdin = if bounds.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    let Started { group, mut child } = spawn(command, bounds.confined).await?;
    let (stdout, stderr) = (Stream::new(bounds.cap), Stream::new(bounds.cap));
    let mut drains = JoinSet::new();
    if let (Some(mut sink), Some(bytes)) = (child.stdin.take(), bounds.stdin) {
        // A process need not read all of it.
        drains.spawn(async move { drop(sink.write_all(&bytes).await) });
    }
    if let Some(source) = child.stdout.take() {
        drains.spawn(stdout.clone().drain(source));
    }
    if let Some(source) = child.stderr.take() {
        drains.spawn(stderr.clone().drain(source));
    }
    let end = tokio::select! {
        biased;
        () = bounds.cancel.cancelled() => return Err(NotRun::Fault(ToolFault::Cancelled)),
        end = ended(&mut child) => end?,
        () = tokio::time::sleep(bounds.timeout) => {
            stop(&mut child, &group, bounds.cancel).await?;
            End::TimedOut
        }
    };
    finish(&mut drains, &group).await;
    let truncated = stdout.is_cut() || stderr.is_cut();
    let (stdout, stderr) = (stdout.text(), stderr.text());
    let (restored, refused, closed) = (guarded.restore(), Vec::new(), Vec::new());
    Ok(Ended { end, stdout, stderr, truncated, restored, refused, closed, lost: false })
}

/// A process that its thread is just starting. If nobody waits for it any more, dropping this kills the group;
/// `kill_on_drop` of the child would kill only the child.
struct Started {
    group: Group,
    child: Child,
}

/// Starts the command from a thread that is restricted first. The thread stays as long as somebody waits for the
/// command: the system kills the command when its thread ends, and therefore also when this process is killed.
async fn spawn(mut command: Command, confined: Confined) -> Result<Started, NotRun> {
    let (sender, receiver) = oneshot::channel();
    let runtime = Handle::current();
    end_with_parent(command.as_std_mut());
    std::thread::Builder::new()
        .name("sandbox".to_owned())
        .spawn(move || {
            let (keep, kept) = mpsc::channel();
            {
                let _entered = runtime.enter();
                let writable = confined.view.writable;
                let (files, calls) = sandbox::restrict(&Restriction { writable, connects: confined.connects });
                let started = match !confined.required || (files != Enforcement::None && calls) {
                    true => command.spawn().map(|child| Started { group: Group::of(&child, keep), child }),
                    false => Err(io::Error::other("the system cannot restrict it to reading")),
                };
                let _unclaimed = sender.send(started);
            }
            // Nothing is ever sent. This returns when the group is dropped.
            let _dropped = kept.recv();
        })
        .map_err(NotRun::Start)?;
    let spawned = receiver.await.map_err(|_| NotRun::Fault(ToolFault::Defect("the sandbox thread died".to_owned())))?;
    spawned.map_err(NotRun::Start)
}

/// Makes the system kill the command when the thread that starts it ends (spec 2.16, 2.18). After `kill -9`, nothing
/// else reaches the command.
pub(super) fn end_with_parent(command: &mut std::process::Command) {
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "between fork and exec there is no safe way to run anything")]
    // SAFETY: the closure makes one system call, `prctl`, through rustix, which neither allocates nor locks; it touches no
    // memory of the parent. That is all that may happen in a child of a process with threads.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(command, || {
            Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
        });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

async fn ended(child: &mut Child) -> Result<End, NotRun> {
    use std::os::unix::process::ExitStatusExt;
    let status = child.wait().await.map_err(|error| NotRun::Fault(ToolFault::Defect(error.to_string())))?;
    Ok(status.code().map_or_else(|| End::Signal(status.signal().unwrap_or(0)), End::Code))
}

/// Sends TERM to the group, and KILL after a while.
async fn stop(child: &mut Child, group: &Group, cancel: &CancellationToken) -> Result<(), NotRun> {
    group.signal(Signal::TERM);
    tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(NotRun::Fault(ToolFault::Cancelled)),
        end = ended(child) => { end?; }
        () = tokio::time::sleep(GRACE) => {
            group.signal(Signal::KILL);
            ended(child).await?;
        }
    }
    Ok(())
}

/// Reads the last output. Processes that remain in the group end with it. A process that left the group and still holds
/// a stream is not waited for.
async fn finish(drains: &mut JoinSet<()>, group: &Group) {
    let mut drained = async || while drains.join_next().await.is_some() {};
    let in_time = tokio::time::timeout(LAST_OUTPUT, drained()).await;
    group.signal(Signal::KILL);
    if in_time.is_err() {
        let _left_open = tokio::time::timeout(LAST_OUTPUT, drained()).await;
    }
}

/// The process group of a child. It is killed when this is dropped.
struct Group {
    id: Option<Pid>,
    /// The thread that started the child continues until this is dropped.
    _keep: mpsc::Sender<()>,
}

impl Group {
    fn of(child: &Child, keep: mpsc::Sender<()>) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        known().extend(id.map(Pid::as_raw_pid));
        Self { id, _keep: keep }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.id {
            // An empty group is no error: all its processes have ended.
            let _gone = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        if let Some(group) = self.id {
            known().remove(&group.as_raw_pid());
        }
    }
}

/// Groups that somebody waits for.
fn known() -> MutexGuard<'static, BTreeSet<i32>> {
    static KNOWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills every command that somebody waits for, with everything that it started. For a process that is about to exit.
pub fn kill_all() {
    for group in known().iter().filter_map(|group| Pid::from_raw(*group)) {
        let _gone = kill_process_group(group, Signal::KILL);
    }
}
