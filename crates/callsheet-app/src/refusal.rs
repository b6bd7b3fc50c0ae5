//! Why a command was not carried out, and what to do instead.

use std::fmt::Display;

use callsheet_core::nouns::RunId;
use callsheet_runtime::fault::{DriveFault, InputFault};
use callsheet_runtime::ports::StoreFault;
use serde::{Deserialize, Serialize};

use crate::advice::Advice;
use crate::answer::run_folder;
use crate::control::RunControl;
use crate::view::RunView;

/// Who caused a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The person asked for something that cannot be done, and should ask for something else.
    Usage,
    /// The machine or this program failed.
    Internal,
    /// A part of the command was carried out. The message says which.
    Incomplete,
}

/// A command that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Who caused it.
    pub kind: Kind,
    /// What went wrong, and where.
    pub what: String,
    /// What to do. May be empty.
    pub advice: Advice,
}

/// The advice if the store cannot be written.
const READ_ONLY_ADVICE: &str =
    "`show`, `runs` and `report -o FILE` still work; for the rest, give yourself write access to the folder";

/// What a person whose run stopped must know first.
const SAFE: &str = "everything recorded so far is safe";

impl Refusal {
    /// A refusal because the person asked for something that cannot be done.
    pub fn usage(what: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Self { kind: Kind::Usage, what: what.into(), advice: advice.into() }
    }

    /// A refusal because the machine or this program failed.
    pub fn internal(what: impl Into<String>, advice: impl Into<Advice>) -> Self {
        Self { kind: Kind::Internal, what: what.into(), advice: advice.into() }
    }

    /// The refusal for a drive that ended with a fault. An edited sheet is read again by `resume`.
    pub fn of_drive(fault: &DriveFault, run: &RunId) -> Self {
        Self::of_drive_again(fault, run, &["resume", run.as_str()])
    }

    /// The refusal for a drive that ended with a fault. `again` is the command that reads an edited sheet again.
    pub fn of_drive_again(fault: &DriveFault, run: &RunId, again: &[&str]) -> Self {
        match fault {
            DriveFault::Input(InputFault::EditedSheet(lines)) => Self::usage(
                format!("the edited sheet has errors; nothing was changed\n{}", lines.join("\n")),
                Advice::command(
                    format!("fix {}sheet.md, or delete it to keep the previous task list; then", run_folder(run)),
                    again,
                ),
            ),
            DriveFault::Input(InputFault::FilesDiffer(_)) => Self::usage(
                fault.to_string(),
                Advice::from("bring these files from where the run changed them, for example with git")
                    .or("or continue with them as they are", ["resume", run.as_str(), "--files-as-they-are"]),
            ),
            DriveFault::Input(fault @ InputFault::Folder(_)) => Self::internal(
                fault.to_string(),
                "give yourself write access to the project's folder and to .callsheet in it, or copy the project",
            ),
            DriveFault::Input(fault) => Self::usage(fault.to_string(), ""),
            DriveFault::Store(StoreFault::Full(_)) => Self::internal(
                fault.to_string(),
                Advice::from(SAFE).or("free some disk space, then", ["resume", run.as_str()]),
            ),
            DriveFault::Store(StoreFault::ReadOnly(_)) => Self::internal(fault.to_string(), READ_ONLY_ADVICE),
            DriveFault::Store(store) => {
                let (kind, advice) = store_advice(store);
                Self { kind, what: fault.to_string(), advice }
            }
            _ => Self::internal(
                fault.to_string(),
                Advice::command("the record is intact; print it", ["show", run.as_str(), "--events"]),
            ),
        }
    }
}

/// Refuses to write a file for others about a run, because a key could be in it that is not known here and thus not
/// masked. `known` are the variables whose absence the person accepts.
///
/// # Errors
/// A key variable of a provider that the run asked is not set.
pub fn refuse_unmasked(runs: &dyn RunControl, run: &RunView, known: &[String]) -> Result<(), Refusal> {
    let unset = runs.unset_keys(run).into_iter().find(|(_, variable)| !known.contains(variable));
    let Some((provider, variable)) = unset else { return Ok(()) };
    Err(Refusal::usage(
        format!(
            "the run asked {provider}, whose key is in {variable}; this variable is not set here, so the key can't be \
             masked, and nothing was written"
        ),
        format!(
            "set {variable} to the key that the run used; or, to write the file without that, add --without-key {variable}"
        ),
    ))
}

/// What went wrong, and in a second line what to do.
impl Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        if self.advice.is_empty() { Ok(()) } else { write!(f, "\n{}", self.advice) }
    }
}

impl std::error::Error for Refusal {}

impl From<StoreFault> for Refusal {
    fn from(fault: StoreFault) -> Self {
        let (kind, advice) = store_advice(&fault);
        Self { kind, what: fault.to_string(), advice }
    }
}

fn store_advice(fault: &StoreFault) -> (Kind, Advice) {
    let advice = match fault {
        StoreFault::Locked { .. } => Advice::command("wait for it, or stop it", ["cancel"]),
        StoreFault::Refused(_) => return (Kind::Usage, Advice::default()),
        StoreFault::NoRun(_) => return (Kind::Usage, list_runs()),
        StoreFault::Full(_) => Advice::from(SAFE).or("free some disk space, then", ["resume"]),
        StoreFault::TooNew { .. } => "use a newer Callsheet".into(),
        StoreFault::Broken(_) => {
            Advice::command("see where Callsheet stores runs", ["doctor"]).and("CALLSHEET_HOME sets another folder")
        }
        StoreFault::Remote(_) => {
            Advice::command("check the address, or start a cluster on this machine", ["cluster", "up"])
        }
        StoreFault::ReadOnly(_) => {
            "`show`, `runs` and `report` still work; for more, give yourself write access to its folder".into()
        }
        StoreFault::NoBlob(_) | StoreFault::LockLost { .. } => Advice::default(),
    };
    (Kind::Internal, advice)
}

/// Advice to list all runs.
pub(crate) fn list_runs() -> Advice {
    Advice::command("list all runs", ["runs"])
}

/// Advice to look at a run.
pub(crate) fn inspect(run: &RunId) -> Advice {
    Advice::command("inspect it", ["show", run.as_str()])
}
