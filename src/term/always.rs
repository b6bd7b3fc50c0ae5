//! "Always allow" at the gate before a command (spec 11.14).

use callsheet_core::record::Answer;
use callsheet_runtime::grants::{CommandCall, CommandLine, GrantedThing, command_text};
use callsheet_runtime::ports::GateAnswer;
use tokio_util::sync::CancellationToken;

use super::Words;
use super::person::{TerminalPerson, show};

impl TerminalPerson {
    /// Asks which commands like this one are allowed from now on. The inner `None`: none; the gate is still open.
    pub(super) async fn always(&self, call: &CommandCall, cancel: &CancellationToken) -> Option<Option<GateAnswer>> {
        let question = match &call.command {
            CommandLine::Words(words) => {
                let numbered = words.iter().enumerate();
                let numbered =
                    numbered.map(|(at, word)| format!("  {} {}", at + 1, command_text(std::slice::from_ref(word))));
                format!(
                    "{}\nWith how many of these words must a command begin to be always allowed in this project? [Enter] none\n> ",
                    numbered.collect::<Vec<_>>().join("\n")
                )
            }
            CommandLine::Shell(_) => {
                "Always allow exactly this line in this project? [1] yes  [Enter] no\n> ".to_owned()
            }
        };
        let answer = self.ask(&question, cancel).await?;
        let count = answer.parse().ok().filter(|count| (1..=call.words().len()).contains(count));
        let Some(count) = count else {
            show(&Words::of("Nothing is granted.\n"));
            return Some(None);
        };
        match self.grants.add(GrantedThing::Command(call.grant(count)), self.grants.here(), None) {
            Ok(grant) => {
                show(&Words::of(&format!("{}\n", grant.told())));
                Some(Some(GateAnswer::Answered(Answer::Listed)))
            }
            Err(error) => {
                let file = self.grants.file().display();
                show(&Words::of(&format!("can't write {file}: {error}\n")));
                Some(None)
            }
        }
    }
}
