//! All limits on what an editor may send and what it gets.

use std::time::Duration;

/// Largest message of an editor in bytes.
pub(crate) const MESSAGE: usize = 16 << 20;

/// Most sessions that are open at the same time.
pub(crate) const SESSIONS: usize = 256;

/// Most bytes of a request without what is attached to it.
pub(crate) const REQUEST: usize = 256 << 10;

/// Most bytes of all texts that are attached to a request.
pub(crate) const ATTACHED: usize = 512 << 10;

/// Most parts of a prompt.
pub(crate) const PARTS: usize = 256;

/// How long an editor may take to send the texts of all files that a prompt names.
pub(crate) const FILE_ANSWERS: Duration = Duration::from_secs(5);

/// Most tasks that a plan lists, and that are told as activities of a run.
pub(crate) const TASKS: usize = 300;

/// Most characters of a title.
pub(crate) const LINE: usize = 200;

/// Most characters of a sentence on one line.
pub(crate) const WORDS: usize = 600;

/// Most bytes of a result or a failure of one task.
pub(crate) const RESULT: usize = 4 << 10;

/// Most bytes of an answer.
pub(crate) const ANSWER: usize = 256 << 10;

/// Most problems and other lines that are told at the end of a run.
pub(crate) const LINES: usize = 40;

/// Most bytes of everything that one approval shows. What is larger cannot be approved in the editor.
pub(crate) const APPROVAL: usize = 1 << 20;

/// Most runs that a list of sessions has.
pub(crate) const LISTED: usize = 200;

/// Most templates that are offered as commands.
pub(crate) const COMMANDS: usize = 100;

/// How often the record of a run is read.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// How often to check whether another process still drives a run.
pub(crate) const OWNER: Duration = Duration::from_secs(1);

/// How long a run has to stop before its process is ended.
pub(crate) const STOP: Duration = Duration::from_secs(10);
