//! `key`: makes and shows a key file, with which a person signs approvals and opens exported runs (spec 14.5).

use std::io::Write;
use std::path::Path;

use callsheet_app::Advice;
use callsheet_runtime::paths::private;
use callsheet_share::{ShareFault, SigningKey, new_identity, recipient_of};

use crate::cli::{Exit, Failure, KeyCommand};
use crate::setup::Setup;

/// The largest key file in bytes.
const LARGEST: u64 = 64 * 1024;

pub(super) fn key(setup: &Setup, command: &KeyCommand) -> Result<Exit, Failure> {
    let text = match command {
        KeyCommand::New(arguments) => make(setup, &arguments.file)?,
        KeyCommand::Show(arguments) => key_text(&arguments.file)?,
    };
    let signer = SigningKey::read(&text).map_err(|fault| share_failure(&fault))?.public();
    let recipient = recipient_of(&text).map_err(|fault| share_failure(&fault))?;
    if setup.json {
        super::print_json(&serde_json::json!({ "approver": signer, "to": recipient }))?;
        return Ok(Exit::Complete);
    }
    tell!("To accept what you sign, others run callsheet grants add approver KEY with this key:");
    super::print(&format!("{}\n", signer.as_str()))?;
    tell!("To export runs to you, others run callsheet export --to KEY with this key:");
    super::print(&format!("{recipient}\n"))?;
    Ok(Exit::Complete)
}

/// Makes a key file. Refuses a place in the project, where commands and models could read it.
fn make(setup: &Setup, file: &Path) -> Result<String, Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.canonicalize().is_ok_and(|folder| folder.starts_with(&setup.project)) {
        return Err(Failure::usage(
            format!("{} is in the project, where commands and models can read it", file.display()),
            "choose a file outside the project, such as ~/callsheet.key",
        ));
    }
    let signing = SigningKey::generate().map_err(|fault| share_failure(&fault))?;
    let text = format!(
        "# A Callsheet key file. Whoever has it can sign in your name.\n{}\n{}\n",
        signing.secret(),
        new_identity()
    );
    let written =
        private().write(true).create_new(true).open(file).and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Failure::usage(format!("{} exists", file.display()), "choose another name; nothing was written"))
        }
        Err(error) => Err(Failure::usage(format!("can't write {}: {error}", file.display()), "choose another file")),
    }
}

/// Reads the text of a key file.
pub(super) fn key_text(file: &Path) -> Result<String, Failure> {
    let shown = file.display().to_string();
    let wrong = |what: String| Failure::usage(what, Advice::command("make a key file", ["key", "new", &shown]));
    let size = std::fs::metadata(file).map_err(|error| wrong(format!("can't read {}: {error}", file.display())))?.len();
    if size > LARGEST {
        return Err(wrong(format!("{} is not a key file", file.display())));
    }
    std::fs::read_to_string(file).map_err(|error| wrong(format!("can't read {}: {error}", file.display())))
}

/// Reads the signing key of a key file.
pub(super) fn signing_key(file: &Path) -> Result<SigningKey, Failure> {
    SigningKey::read(&key_text(file)?).map_err(|fault| {
        Failure::usage(
            format!("{}: {fault}", file.display()),
            Advice::command("make a key file", ["key", "new", "FILE"]),
        )
    })
}

/// Turns a fault into a failure that says whose fault it is and what to do.
pub(super) fn share_failure(fault: &ShareFault) -> Failure {
    let what = fault.to_string();
    match fault {
        ShareFault::Masked => Failure::usage(
            what,
            "unpack it as a zip file and open views/report.html; to resume the run, ask for an export with --to",
        ),
        ShareFault::TooNew { .. } => Failure::usage(what, "use a newer Callsheet"),
        ShareFault::Differs { .. } => {
            Failure::usage(what, "nothing was changed; to compare the two, import the file into another project folder")
        }
        ShareFault::Damaged(_) | ShareFault::Signature | ShareFault::NoText(_) => {
            Failure::usage(what, "nothing was imported; ask for the file again")
        }
        ShareFault::Store(_) => Failure::internal(what, Advice::command("check the store", ["doctor"])),
        ShareFault::Foreign(_) | ShareFault::TooLarge(_) | ShareFault::Record(_) | ShareFault::Key(_) => {
            Failure::usage(what, "")
        }
    }
}
