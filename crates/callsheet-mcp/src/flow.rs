//! Limits what a server may send: the size of one message, and the bytes of one call.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;

use crate::limits::{FLOOD, MESSAGE, REOPENED};

/// Counts what was read. The reader and the caller share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    since: AtomicUsize,
    /// How many streams were reopened since the call began.
    reopened: AtomicUsize,
    over: AtomicBool,
    exceeded: Notify,
}

impl Flow {
    /// Resets the counts, because a call begins.
    pub(crate) fn begin(&self) {
        self.0.since.store(0, Ordering::Relaxed);
        self.0.reopened.store(0, Ordering::Relaxed);
    }

    /// Counts received bytes. Returns false if they are too many.
    pub(crate) fn took(&self, bytes: usize) -> bool {
        let since = self.0.since.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        since <= FLOOD || self.exceed()
    }

    /// Counts a reopened stream. Returns false if there are too many.
    pub(crate) fn reopens(&self) -> bool {
        let reopened = self.0.reopened.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        reopened <= REOPENED || self.exceed()
    }

    /// Records that a limit is exceeded. Returns false.
    fn exceed(&self) -> bool {
        self.0.over.store(true, Ordering::Relaxed);
        self.0.exceeded.notify_waiters();
        false
    }

    /// Returns once a limit is exceeded.
    pub(crate) async fn exceeded(&self) {
        let exceeded = self.0.exceeded.notified();
        tokio::pin!(exceeded);
        exceeded.as_mut().enable();
        if !self.is_over() {
            exceeded.await;
        }
    }

    /// Whether a limit was exceeded.
    pub(crate) fn is_over(&self) -> bool {
        self.0.over.load(Ordering::Relaxed)
    }
}

/// A reader that fails when it reads too much.
pub(crate) struct Metered<R> {
    inner: R,
    line: usize,
    flow: Flow,
}

impl<R> Metered<R> {
    pub(crate) fn new(inner: R, flow: Flow) -> Self {
        Self { inner, line: 0, flow }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Metered<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.inner).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {}
            other => return other,
        }
        let fresh = buffer.filled().get(before..).unwrap_or_default();
        let last = fresh.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().len();
        self.line = if last == fresh.len() { self.line.saturating_add(last) } else { last };
        if !self.flow.took(fresh.len()) || (self.line > MESSAGE && !self.flow.exceed()) {
            return Poll::Ready(Err(std::io::Error::other("too much data")));
        }
        Poll::Ready(Ok(()))
    }
}
