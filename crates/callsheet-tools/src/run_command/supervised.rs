//! A command under a supervising process, from this side.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use callsheet_runtime::ports::ToolFault;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::border::Confined;
use super::note::set_aside_left;
use super::process::{Bounds, End, Ended, GRACE, LAST_OUTPUT, NotRun};
use super::remembered;
use super::stream::Stream;
use super::supervisor::{KILL, Order, Report, STOP};

/// Time for killing and putting back when nobody waits for the command any more.
const REST: Duration = Duration::from_secs(15);

/// Runs a command to its end. When this future is dropped, the socket closes, and everything that was started ends.
pub(super) async fn run(
    command: Command,
    mut supervisor: Command,
    control: std::os::unix::net::UnixStream,
    bounds: Bounds<'_>,
) -> Result<Ended, NotRun> {
    let order = Order::of(command.as_std(), &bounds.confined, bounds.stdin.as_ref().map(Vec::len));
    let mut order = serde_json::to_vec(&order).map_err(|error| defect(&error.to_string()))?;
    order.push(b'\n');
    order.extend(bounds.stdin.unwrap_or_default());
    control.set_nonblocking(true).map_err(NotRun::Start)?;
    let (incoming, mut control) = UnixStream::from_std(control).map_err(NotRun::Start)?.into_split();
    let mut child = supervisor.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(NotRun::Start)?;
    // The supervisor holds the other end of the socket. As long as it does, closing would not be noticed.
    drop(supervisor);
    let (stdout, stderr) = (Stream::new(bounds.cap), Stream::new(bounds.cap));
    let mut drains = JoinSet::new();
    if let Some(source) = child.stdout.take() {
        drains.spawn(stdout.clone().drain(source));
    }
    if let Some(source) = child.stderr.take() {
        drains.spawn(stderr.clone().drain(source));
    }
    // If the supervisor has already gone, the missing report shows it.
    let _gone = control.write_all(&order).await;
    let mut report = std::pin::pin!(report(incoming));
    let mut timed_out = false;
    let said = tokio::select! {
        biased;
        () = bounds.cancel.cancelled() => None,
        said = &mut report => Some(said),
        () = tokio::time::sleep(bounds.timeout) => {
            timed_out = true;
            let _gone = control.write_all(&[STOP]).await;
            tokio::select! {
                biased;
                () = bounds.cancel.cancelled() => None,
                said = &mut report => Some(said),
            }
        }
    };
    let Some(said) = said else {
        let _gone = control.write_all(&[KILL]).await;
        let _rest = tokio::time::timeout(REST, report).await;
        return Err(NotRun::Fault(ToolFault::Cancelled));
    };
    let (end, restored, refused, closed, lost) = match said {
        Some(Report::Ended { code, signal, restored, refused, over, closed, lost, .. }) => {
            let ended = code.map_or(End::Signal(signal), End::Code);
            let ended = if timed_out { End::TimedOut } else { ended };
            (over.map_or(ended, End::Over), restored, refused, closed, lost)
        }
        Some(Report::NotStarted { os, text }) => {
            remembered::forget();
            return Err(NotRun::Start(os.map_or_else(|| io::Error::other(text), io::Error::from_raw_os_error)));
        }
        None => {
            remembered::forget();
            return Err(killed(bounds.confined, &mut drains).await);
        }
    };
    let _reaped = child.wait().await;
    let drained = async { while drains.join_next().await.is_some() {} };
    let _left_open = tokio::time::timeout(LAST_OUTPUT, drained).await;
    let truncated = stdout.is_cut() || stderr.is_cut();
    let (stdout, stderr) = (stdout.text(), stderr.text());
    Ok(Ended { end, stdout, stderr, truncated, restored, refused, closed, lost })
}

/// Nobody put back what the command left, so it is moved aside.
async fn killed(confined: Confined, drains: &mut JoinSet<()>) -> NotRun {
    // The command ends too, and then nobody holds a stream.
    let _left_open = tokio::time::timeout(GRACE, async { while drains.join_next().await.is_some() {} }).await;
    let Confined { notes, guarded, .. } = confined;
    let left = tokio::task::spawn_blocking(move || Some(set_aside_left(&notes?, &guarded?)));
    let left = left.await.ok().flatten().unwrap_or_default();
    let what = std::iter::once("the process that supervises the command was killed".to_owned()).chain(left);
    NotRun::Fault(ToolFault::Lost(what.collect::<Vec<_>>().join("\n")))
}

async fn report(incoming: OwnedReadHalf) -> Option<Report> {
    let mut line = String::new();
    BufReader::new(incoming).read_line(&mut line).await.ok()?;
    serde_json::from_str(&line).ok()
}

fn defect(what: &str) -> NotRun {
    NotRun::Fault(ToolFault::Defect(what.to_owned()))
}
