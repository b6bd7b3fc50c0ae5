//! Limits what a process may send: the size of one message, and all bytes of a call.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use crate::limits::{FLOOD, MESSAGE};

/// How much was read, shared by the reader and whoever calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    since: AtomicUsize,
    over: AtomicBool,
}

impl Flow {
    /// A call begins.
    pub(crate) fn begin(&self) {
        self.0.since.store(0, Ordering::Relaxed);
    }

    /// Whether a limit was exceeded.
    pub(crate) fn is_over(&self) -> bool {
        self.0.over.load(Ordering::Relaxed)
    }
}

/// A reader that fails when too much comes.
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
        let since = self.flow.0.since.fetch_add(fresh.len(), Ordering::Relaxed).saturating_add(fresh.len());
        if self.line > MESSAGE || since > FLOOD {
            self.flow.0.over.store(true, Ordering::Relaxed);
            return Poll::Ready(Err(std::io::Error::other("too much data")));
        }
        Poll::Ready(Ok(()))
    }
}
