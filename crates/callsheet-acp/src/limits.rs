//! All limits on what an editor may send and what it receives.

use std::time::Duration;

/// Largest message from an editor, in bytes.
pub(crate) const MESSAGE: usize = 16 << 20;

/// Most sessions open at the same time.
pub(crate) const SESSIONS: usize = 256;

/// Most bytes of a request, without its attachments.
pub(crate) const REQUEST: usize = 256 << 10;

/// Most bytes of all texts attached to a request.
pub(crate) const ATTACHED: usize = 512 << 10;

/// Most parts of a prompt.
pub(crate) const PARTS: usize = 256;

/// How long an editor may take to send the texts of all files that a prompt mentions.
pub(crate) const FILE_ANSWERS: Duration = Duration::from_secs(5);

/// Most tasks that the plan of a run lists, and that appear as tool calls.
pub(crate) const TASKS: usize = 300;

/// Most characters of a title.
pub(crate) const LINE: usize = 200;

/// Most characters of a message that is put on one line.
pub(crate) const WORDS: usize = 600;

/// Most bytes shown of one task's result or failure.
pub(crate) const RESULT: usize = 4 << 10;

/// Most bytes shown of a run's answer.
pub(crate) const ANSWER: usize = 256 << 10;

/// Most lines, such as problems, in the report at the end of a run.
pub(crate) const LINES: usize = 40;

/// Most bytes of one approval with its diffs. A larger one cannot be approved in the editor.
pub(crate) const APPROVAL: usize = 1 << 20;

/// Most runs in a list of sessions.
pub(crate) const LISTED: usize = 200;

/// Most templates offered as commands.
pub(crate) const COMMANDS: usize = 100;

/// How often the record of a run is read.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// How often to check whether another process still drives a run.
pub(crate) const OWNER: Duration = Duration::from_secs(1);

/// How often to look for new text of a reply.
pub(crate) const STREAM: Duration = Duration::from_millis(250);

/// How long a run may take to stop before its process is killed.
pub(crate) const STOP: Duration = Duration::from_secs(10);
