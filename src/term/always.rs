//! "Always allow" at the gate before a command (spec 11.14).

use callsheet_app::WordCount;
use callsheet_runtime::grants::{CommandCall, CommandLine, command_text};
use tokio_util::sync::CancellationToken;

use super::Words;
use super::person::{TerminalPerson, show};

impl TerminalPerson {
    /// Asks which similar commands to allow from now on. The inner `None` means none, and the gate stays open.
    pub(super) async fn always(&self, call: &CommandCall, cancel: &CancellationToken) -> Option<Option<WordCount>> {
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
        let count = answer.parse::<u32>().ok();
        let fits = |count: &u32| usize::try_from(*count).is_ok_and(|count| (1..=call.words().len()).contains(&count));
        let words = count.filter(fits).map(WordCount::First);
        if words.is_none() {
            show(&Words::of("Nothing is granted.\n"));
        }
        Some(words)
    }
}
