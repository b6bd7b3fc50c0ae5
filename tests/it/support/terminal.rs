//! The built binary at a pseudo-terminal.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use expectrl::process::unix::{UnixProcess, WaitStatus};
use expectrl::session::OsSession as Session;
use expectrl::{Eof, Expect};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

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

/// What stands on the screen of a command that takes the whole terminal.
pub struct OnScreen {
    session: Session,
    parser: vt100::Parser,
    /// All bytes so far.
    pub said: Vec<u8>,
}

impl OnScreen {
    /// Starts a command at a terminal of that size.
    pub fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        command.env("TERM", "xterm-256color");
        let mut session = at_terminal(command);
        session.get_process_mut().set_window_size(columns, rows).unwrap();
        Self { session, parser: vt100::Parser::new(rows, columns, 0), said: Vec::new() }
    }

    /// Waits until all of that stands on the screen, and gives the screen as text.
    pub fn until(&mut self, texts: &[&str]) -> String {
        let end = std::time::Instant::now() + Duration::from_secs(60);
        loop {
            let screen = self.parser.screen().contents();
            if texts.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(std::time::Instant::now() < end, "{texts:?} is not on the screen:\n{screen}");
            self.read();
        }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.session.send(keys).unwrap();
    }

    /// Another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(rows, columns);
        self.session.get_process_mut().set_window_size(columns, rows).unwrap();
    }

    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        match self.session.try_read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                let read = bytes.get(..count).unwrap_or_default();
                self.parser.process(read);
                self.said.extend_from_slice(read);
                true
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(10));
                true
            }
            // A pseudo-terminal whose process is gone.
            Err(_) => false,
        }
    }

    /// Waits for the end of the command. Gives what stands on the terminal then, and the exit code.
    pub fn end(mut self) -> (String, i32) {
        while self.read() {}
        assert!(!self.parser.screen().alternate_screen(), "the screen was not given back");
        (self.parser.screen().contents(), exit_code(self.session.get_process()))
    }

    /// Kills the command as a crash would.
    pub fn kill(mut self) {
        self.session.get_process_mut().kill(expectrl::process::unix::Signal::SIGKILL).unwrap();
        while self.read() {}
    }
}

/// A terminal that can be closed while the command goes on.
pub struct Window {
    master: Option<std::fs::File>,
    /// The command.
    pub child: Child,
    parser: vt100::Parser,
}

impl Window {
    /// Starts a command at a terminal. Nothing but the terminal itself tells it that its window was closed, unless a
    /// program before it makes the terminal the one of its session.
    pub fn open(command: &Command, before: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let (rows, columns) = (24, 80);
        tcsetwinsize(&master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let stream = || Stdio::from(std::fs::OpenOptions::new().read(true).write(true).open(&name).unwrap());
        let words: Vec<std::ffi::OsString> = before.iter().map(Into::into).collect();
        let mut words = words.into_iter().chain([command.get_program().to_owned()]);
        let mut fresh = Command::new(words.next().unwrap());
        fresh.args(words).args(command.get_args()).current_dir(command.get_current_dir().unwrap()).env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                fresh.env(name, value);
            }
        }
        fresh.env("TERM", "xterm-256color").stdin(stream()).stdout(stream()).stderr(stream());
        let child = fresh.spawn().unwrap();
        drop(fresh);
        rustix::io::ioctl_fionbio(&master, true).unwrap();
        Self { master: Some(master.into()), child, parser: vt100::Parser::new(rows, columns, 0) }
    }

    /// Waits until all of that stands on the screen.
    pub fn until(&mut self, texts: &[&str]) {
        wait_for(|| {
            let mut bytes = [0; 4096];
            if let Ok(count) = self.master.as_mut().unwrap().read(&mut bytes) {
                self.parser.process(bytes.get(..count).unwrap_or_default());
            }
            let screen = self.parser.screen().contents();
            texts.iter().all(|text| screen.contains(text))
        });
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.master.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Closes the window.
    pub fn close(&mut self) {
        drop(self.master.take());
    }

    /// Names of the threads of the command.
    pub fn threads(&self) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().flatten();
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok()).collect()
    }

    /// Waits for the end of the command, which is killed if it does not come.
    pub fn end(&mut self) -> ExitStatus {
        let mut ended = None;
        let end = Instant::now() + Duration::from_secs(30);
        while ended.is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
            ended = self.child.try_wait().unwrap();
        }
        let _over = self.child.kill();
        ended.expect("the command goes on after its window was closed")
    }
}

/// Waits until something is so.
pub fn wait_for(mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}
