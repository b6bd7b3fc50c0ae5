//! Fences that their content cannot close, and the blocks made with them (spec 4.7, 5.9).

/// `content` in a fence with a language. Uses three backticks, unless a line of the content starts with three (after at
/// most 3 spaces). Then it uses tildes: at least four, and one more than the longest run of tildes at a line start. No
/// final newline.
pub fn fence(lang: &str, content: &str) -> String {
    let mut backticks = false;
    let mut longest = 0;
    for line in content.split(['\n', '\r']) {
        // Reading allows more indentation than CommonMark, so every leading blank is skipped.
        let start = line.trim_start();
        backticks |= start.starts_with("```");
        longest = longest.max(start.chars().take_while(|c| *c == '~').count());
    }
    let marks = if backticks { "~".repeat((longest + 1).max(4)) } else { "```".to_owned() };
    let newline = if content.is_empty() || content.ends_with('\n') { "" } else { "\n" };
    format!("{marks}{lang}\n{content}{newline}{marks}")
}

/// A titled block: `### <title> - <target>`, or `### <target>` if equal or untitled, blank line, fence, newline.
pub fn block(title: &str, target: &str, lang: &str, content: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let fenced = fence(lang, content);
    if title.is_empty() || title == target {
        format!("### {target}\n\n{fenced}\n")
    } else {
        format!("### {title} - {target}\n\n{fenced}\n")
    }
}
