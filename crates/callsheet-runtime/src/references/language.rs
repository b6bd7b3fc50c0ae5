//! The language tag of a fence by file extension (spec 5.9).

use crate::ports::DocumentKind;

/// Extensions by tag.
const TAGS: &[(&str, &[&str])] = &[
    ("bash", &["sh", "bash", "zsh"]),
    ("c", &["c", "h"]),
    ("clojure", &["clj", "cljs"]),
    ("cpp", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"]),
    ("csharp", &["cs"]),
    ("css", &["css"]),
    ("csv", &["csv"]),
    ("dart", &["dart"]),
    ("diff", &["diff", "patch"]),
    ("dockerfile", &["dockerfile"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl"]),
    ("go", &["go"]),
    ("graphql", &["graphql"]),
    ("haskell", &["hs"]),
    ("html", &["html", "htm"]),
    ("ini", &["ini", "cfg"]),
    ("java", &["java"]),
    ("javascript", &["js", "mjs", "cjs"]),
    ("json", &["json"]),
    ("jsonl", &["jsonl"]),
    ("jsx", &["jsx"]),
    ("julia", &["jl"]),
    ("kotlin", &["kt", "kts"]),
    ("lua", &["lua"]),
    ("makefile", &["mk", "makefile"]),
    ("markdown", &["md", "markdown"]),
    ("mdx", &["mdx"]),
    ("ocaml", &["ml", "mli"]),
    ("perl", &["pl", "pm"]),
    ("php", &["php"]),
    ("proto", &["proto"]),
    ("python", &["py", "pyi"]),
    ("r", &["r"]),
    ("ruby", &["rb"]),
    ("rust", &["rs"]),
    ("scala", &["scala"]),
    ("scss", &["scss"]),
    ("sql", &["sql"]),
    ("swift", &["swift"]),
    ("toml", &["toml"]),
    ("tsx", &["tsx"]),
    ("typescript", &["ts", "mts", "cts"]),
    ("vue", &["vue"]),
    ("xml", &["xml", "svg", "xsd"]),
    ("yaml", &["yaml", "yml"]),
    ("zig", &["zig"]),
];

/// The tag for a path: by its extension, or by its name if it has none. `text` if unknown. Documents are shown as
/// Markdown.
pub fn language(path: &str) -> &'static str {
    if DocumentKind::of(path).is_some() {
        return "markdown";
    }
    let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let extension = name.rsplit('.').next().unwrap_or_default();
    TAGS.iter().find(|(_, extensions)| extensions.contains(&extension)).map_or("text", |(tag, _)| tag)
}

/// Whether anchors of the file are headings (spec 5.3).
pub fn is_markdown(path: &str) -> bool {
    matches!(language(path), "markdown" | "mdx")
}

#[cfg(test)]
mod tests {
    use super::language;

    #[test]
    fn tags_by_extension_or_name() {
        assert_eq!(language("src/main.RS"), "rust");
        assert_eq!(language("a/Makefile"), "makefile");
        assert_eq!(language("a.rs/notes"), "text");
        assert_eq!(language("x.tar.gz"), "text");
        assert_eq!(language("docs/Plan.PDF"), "markdown");
        assert_eq!(language(""), "text");
    }
}
