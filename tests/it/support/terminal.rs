//! The built binary at a pseudo-terminal.
#![allow(dead_code, reason = "each test file uses its part")]

use std::process::Command;
use std::time::Duration;

use expectrl::process::unix::{UnixProcess, WaitStatus};
use expectrl::session::OsSession as Session;
use expectrl::{Eof, Expect};

/// The command at a terminal of its own.
pub fn at_terminal(mut command: Command) -> Session {
    // The pseudo-terminal becomes all three streams, so nothing else may be set.
    let mut fresh = Command::new(command.get_program());
    fresh.args(command.get_args()).current_dir(command.get_current_dir().unwrap()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            fresh.env(name, value);
        }
    }
    command.env_clear();
    let mut session = Session::spawn(fresh).unwrap();
    // How long a broken program is waited for; a good one answers at once.
    session.set_expect_timeout(Some(Duration::from_secs(60)));
    session
}

/// All that is still said.
pub fn rest(session: &mut Session) -> String {
    String::from_utf8_lossy(session.expect(Eof).unwrap().as_bytes()).into_owned()
}

/// The exit code of an ended process.
pub fn exit_code(process: &UnixProcess) -> i32 {
    match process.wait().unwrap() {
        WaitStatus::Exited(_, code) => code,
        other => panic!("{other:?}"),
    }
}
