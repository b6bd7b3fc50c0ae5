//! What to do about a refusal, as steps that each face draws in its own words.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// What to do, in steps. Empty if there is nothing to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice(Vec<AdviceStep>);

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdviceStep {
    /// What it is.
    pub text: String,
    /// The arguments of the command line program that do it. Empty if no command does.
    pub command: Vec<String>,
}

impl Advice {
    /// Advice to do something with a command, such as `show` and the name of a run.
    pub fn command(text: impl Into<String>, words: impl IntoIterator<Item: AsRef<str>>) -> Self {
        Self::default().or(text, words)
    }

    /// This advice and another step, which a command does.
    #[must_use]
    pub fn or(mut self, text: impl Into<String>, words: impl IntoIterator<Item: AsRef<str>>) -> Self {
        let command = words.into_iter().map(|word| word.as_ref().to_owned()).collect();
        self.0.push(AdviceStep { text: text.into(), command });
        self
    }

    /// This advice and further steps.
    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.add(more);
        self
    }

    /// Adds further steps.
    pub fn add(&mut self, more: impl Into<Self>) {
        self.0.extend(more.into().0);
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The steps in their order.
    pub fn steps(&self) -> &[AdviceStep] {
        &self.0
    }

    /// The advice for a person with a command line. Each command begins with `call`, such as `callsheet -C FOLDER`.
    pub fn for_shell(&self, call: &str) -> String {
        self.drawn(|step| step.for_shell(call))
    }

    /// The steps in one line, each as a face draws it.
    pub fn drawn(&self, draw: impl Fn(&AdviceStep) -> String) -> String {
        self.0.iter().map(draw).fold(String::new(), |line, step| match line.as_str() {
            "" => step,
            question if question.ends_with('?') => format!("{line} {step}"),
            _ => format!("{line}; {step}"),
        })
    }
}

impl AdviceStep {
    /// The command as a line for a shell, which begins with `call`.
    pub fn command_line(&self, call: &str) -> String {
        let words = self.command.iter().map(|word| shell_word(word));
        std::iter::once(call.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    }

    /// The step for a person with a command line. Its command begins with `call`.
    pub fn for_shell(&self, call: &str) -> String {
        if self.command.is_empty() { self.text.clone() } else { format!("{}: {}", self.text, self.command_line(call)) }
    }
}

impl Display for Advice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.for_shell("callsheet"))
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Advice {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::default() } else { Self(vec![AdviceStep { text, command: Vec::new() }]) }
    }
}

/// A word as a shell can read it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=@,:…".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_begin_as_the_face_says_and_are_quoted_for_a_shell() {
        let advice = Advice::command("look", ["show", "r1"]).or("then", ["trust", "my notes"]).and("or wait");
        let told = "look: callsheet -C 'my garden' show r1; then: callsheet -C 'my garden' trust 'my notes'; or wait";
        assert_eq!(advice.for_shell("callsheet -C 'my garden'"), told);
        assert!(Advice::from("").is_empty());
        assert_eq!(
            Advice::from("Did you mean b?").and("wait").and("or not").to_string(),
            "Did you mean b? wait; or not"
        );
        assert_eq!(shell_word("../my-garden"), "../my-garden");
        assert_eq!(shell_word("my garden's"), r"'my garden'\''s'");
    }
}
