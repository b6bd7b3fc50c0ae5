//! Asks for a passphrase at the terminal, without showing it.

use callsheet_app::Advice;
use console::Term;

use crate::cli::Failure;

/// The shortest passphrase that is accepted for a new file.
const SHORTEST: usize = 12;

/// Asks for a passphrase. `new` asks twice, because nobody could open a file with a mistyped one.
///
/// # Errors
/// There is no terminal, or the two differ.
pub fn ask_secret(what: &str, new: bool) -> Result<String, Failure> {
    let terminal = Term::stderr();
    let nobody = || {
        Failure::usage(
            "a passphrase is asked for at a terminal",
            Advice::command("use keys instead", ["key", "new", "FILE"]),
        )
    };
    if !terminal.is_term() {
        return Err(nobody());
    }
    let ask = |what: &str| {
        crate::tell_part!("{what}: ");
        terminal.read_secure_line().map_err(|_| nobody())
    };
    let given = ask(what)?;
    if !new {
        return Ok(given);
    }
    if given.chars().count() < SHORTEST {
        return Err(Failure::usage(format!("a passphrase has at least {SHORTEST} characters"), "use several words"));
    }
    if ask("The same again")? != given {
        return Err(Failure::usage("the two passphrases differ", ""));
    }
    Ok(given)
}
