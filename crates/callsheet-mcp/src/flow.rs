//! Limits what a server may send: the size and the nesting of one message, and the bytes of one call.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::Notify;

use crate::limits::{FLOOD, MESSAGE, NESTING, REOPENED};

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
    pub(crate) fn exceed(&self) -> bool {
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

/// How deeply a message is nested so far. The library drops one that is too deep, and the call would wait for ever.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nesting {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl Nesting {
    /// Reads more of the messages, one a line. Returns false if one is nested too deeply.
    pub(crate) fn holds(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            match (byte, self.in_text) {
                (b'\n', _) => *self = Self::default(),
                _ if self.is_escaped => self.is_escaped = false,
                (b'\\', true) => self.is_escaped = true,
                (b'"', in_text) => self.in_text = !in_text,
                (b'[' | b'{', false) => self.depth = self.depth.saturating_add(1),
                (b']' | b'}', false) => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth > NESTING {
                return false;
            }
        }
        true
    }
}

/// A reader that fails when it reads too much.
pub(crate) struct Metered<R> {
    inner: R,
    line: usize,
    nesting: Nesting,
    flow: Flow,
}

impl<R> Metered<R> {
    pub(crate) fn new(inner: R, flow: Flow) -> Self {
        Self { inner, line: 0, nesting: Nesting::default(), flow }
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
        let is_deep = !self.nesting.holds(fresh);
        if !self.flow.took(fresh.len()) || ((self.line > MESSAGE || is_deep) && !self.flow.exceed()) {
            // An error means that nothing was read.
            buffer.set_filled(before);
            return Poll::Ready(Err(std::io::Error::other("too much data")));
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn is_read(text: String) -> bool {
        let flow = Flow::default();
        let mut all = Vec::new();
        let read = Metered::new(text.as_bytes(), flow.clone()).read_to_end(&mut all).await;
        assert_eq!(read.is_err(), flow.is_over());
        read.is_ok()
    }

    /// covers: 13.2
    #[tokio::test]
    async fn a_message_that_is_nested_too_deeply_ends_the_server() {
        let deep = |levels: usize| format!("{}{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        assert!(serde_json::from_str::<serde_json::Value>(&deep(NESTING + 1).replace(":}", ":1}")).is_err());
        assert!(is_read(deep(NESTING)).await);
        assert!(!is_read(deep(NESTING + 1)).await);
        assert!(is_read(format!("{}\n{}", deep(NESTING), deep(NESTING))).await, "each line counts by itself");
        assert!(
            is_read(format!("\"{}\\\"{}\"", "[".repeat(500), "{".repeat(500))).await,
            "what is in a text is no nesting"
        );
    }
}
