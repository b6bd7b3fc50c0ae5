//! What the system enforces for a command, tested on this machine.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::sandbox::{self, Enforcement};

/// What confines a command on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Whether a command gets its own file system, processes and network, and which program creates them if not this
    /// one. The error says why not.
    pub apart: Result<Option<PathBuf>, String>,
    /// How far the second barrier refuses to write outside of what was granted.
    pub writes: Enforcement,
    /// Whether the second barrier alone can keep a command from changing anything.
    pub reads_only: bool,
}

/// One line about what is enforced, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The subject.
    pub about: &'static str,
    /// Whether it is enforced.
    pub held: bool,
    /// The text.
    pub text: String,
}

/// Tests once and remembers the result, also for later processes ([`super::remember_in`]).
pub fn holding() -> &'static Holding {
    static HOLDING: OnceLock<Holding> = OnceLock::new();
    HOLDING.get_or_init(|| Holding { apart: apart(), writes: sandbox::writes(), reads_only: sandbox::can_only_read() })
}

#[cfg(target_os = "linux")]
fn apart() -> Result<Option<PathBuf>, String> {
    if let Some(through) = super::remembered::recall() {
        return Ok(through);
    }
    let tested = tested();
    if let Ok(through) = &tested {
        super::remembered::keep(through.as_deref());
    }
    tested
}

#[cfg(target_os = "linux")]
fn tested() -> Result<Option<PathBuf>, String> {
    let Err(why) = super::supervisor::probe(None) else { return Ok(None) };
    let Some(program) = super::bwrap::program() else { return Err(why) };
    match super::supervisor::probe(Some(&program)) {
        Ok(()) => Ok(Some(program)),
        Err(also) => Err(format!("{why}; {}: {also}", program.display())),
    }
}

#[cfg(not(target_os = "linux"))]
fn apart() -> Result<Option<PathBuf>, String> {
    Err("this system has no namespaces".to_owned())
}

impl Holding {
    /// Whether a command can do only what was approved.
    pub fn is_whole(&self) -> bool {
        self.apart.is_ok()
    }

    /// The program that creates the namespaces of commands, if it is not this one.
    pub fn through(&self) -> Option<&Path> {
        self.apart.as_ref().ok()?.as_deref()
    }

    /// Whether the system can enforce that a script only reads, so that it needs no approval.
    pub fn holds_readers(&self) -> bool {
        self.is_whole() || self.reads_only
    }

    /// What is enforced and what is not, line by line.
    pub fn lines(&self) -> Vec<Held> {
        let apart = self.is_whole();
        let line = |about, held: bool, if_held: &str, if_not: &str| Held {
            about,
            held,
            text: if held { if_held.to_owned() } else { if_not.to_owned() },
        };
        let writes = match (apart, self.writes) {
            (true, _) | (false, Enforcement::Full) => (true, ""),
            (false, Enforcement::Partial) => {
                (false, "the old Landlock of this kernel leaves some ways to change files elsewhere")
            }
            (false, Enforcement::None) => (false, "commands can write wherever you can"),
        };
        let border = match self.through() {
            None => "commands run in their own namespaces".to_owned(),
            Some(program) => format!("commands run in namespaces that {} creates", program.display()),
        };
        vec![
            line("border", apart, &border, "commands do not get their own namespaces"),
            line(
                "writing",
                writes.0,
                "commands write only to the project, temporary files and granted folders",
                writes.1,
            ),
            line(
                "reading",
                apart,
                "commands see only the system, the project and granted folders",
                "commands can read your files",
            ),
            line("network", apart, "commands reach only hosts that you granted", "commands can use the network"),
            line(
                "sockets",
                apart,
                "commands cannot connect to your programs, except through sockets in the project or a granted folder",
                "commands can connect to your programs, such as a key agent",
            ),
            line(
                "metadata",
                apart,
                "commands cannot change modes, owners and times outside of the project",
                "commands can change modes and times of your files",
            ),
            line(
                "scripts that only read",
                self.holds_readers(),
                "they change nothing, open no socket, and run without approval",
                "they need approval like scripts that change files",
            ),
            line(
                "processes",
                apart,
                "commands see only their own processes, which end with them",
                "commands see your other processes",
            ),
        ]
    }
}
