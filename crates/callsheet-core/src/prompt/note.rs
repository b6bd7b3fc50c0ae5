//! The host's small texts for models. Each is a file; none is in code.

use crate::prompt::{Piece, Value, Values, parse_part, render_pieces};

macro_rules! notes {
    ($($(#[$doc:meta])* $variant:ident = $file:literal [$($slot:literal),*]),+ $(,)?) => {
        /// A text of the host for models.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Note {
            $($(#[$doc])* $variant,)+
        }

        impl Note {
            /// Every note.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its file's name without `.md`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $file,)+ }
            }

            /// Its text with unfilled placeholders, without a final line feed.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => include_str!(concat!("../../prompts/notes/", $file, ".md")),)+
                }
                .trim_end()
            }

            /// The placeholders it holds.
            pub fn slots(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($slot),*],)+ }
            }
        }
    };
}

notes! {
    /// Precedes the issues of a rejected list.
    IssuesList = "issues_list" [],
    /// Precedes the issues of a rejected refinement, result or merge.
    IssuesReply = "issues_reply" [],
    /// Precedes the issues of references that do not hold when a task is first refined, or no longer hold (spec 2.8).
    IssuesReferences = "issues_references" [],
    /// The user message after a rejected final reply of a loop task. `issues` are their text forms.
    LoopIssues = "loop_issues" ["issues"],
    /// Like `LoopIssues`, for an atomic task of a template, whose reply does not have the form of a sheet.
    HandlerIssues = "handler_issues" ["issues"],
    /// The last turn of a loop task: no tools are offered (spec 10.7).
    LoopLastTurn = "loop_last_turn" [],
    /// In the prompt of an execution that reads one of several references, because they do not all fit into one prompt.
    OnePart = "one_part" ["number", "count"],
    /// Precedes such parts if no call has combined them.
    PartsApart = "parts_apart" [],
    /// Follows the words of a task that a person had repeated, and said why (spec 2.18). `words` are fenced.
    AskedAgain = "asked_again" ["words"],
    /// The expected output of a task that the host creates from a request (spec 2.3).
    ExpectedAnswer = "expected_answer" [],
    /// The expected output of such a task if it changes files.
    ExpectedChanges = "expected_changes" [],
    /// The result of a task whose reply was the text of a new file (spec 3.9); `link` leads to it.
    DocumentWritten = "document_written" ["link"],
    /// The expected output of such a task if it writes one file. `path` is its path.
    ExpectedFile = "expected_file" ["path"],
    /// The choice that is not a skill (spec 2.3): its name, a colon, and when it is right.
    RouteSeveral = "route_several" [],
    /// The user message after the result of an execution that is reviewed (spec 10.9).
    Review = "review" [],
    /// After that, what the result says word for word although it was not shown (spec 3.14). `marks` are list items.
    ReviewUnsupported = "review_unsupported" ["marks"],
    /// Asks for the reply in its JSON form. `outline` shows its members.
    JsonTwin = "json_twin" ["outline"],
    /// Where the files of a skill are (spec 7.1). `folder` is a path that tools and commands take.
    SkillFolder = "skill_folder" ["folder"],
    /// The user message after tool outputs with pictures (spec 5.14). `pictures` is one line a picture.
    ToolPictures = "tool_pictures" ["pictures"],
    /// After a tool output with pictures for a model that sees none.
    PicturesUnseen = "pictures_unseen" [],
    /// After a tool output whose pictures are not shown for lack of room.
    PicturesLeftOut = "pictures_left_out" [],
    /// How to call tools if the provider has no tool calling (spec 10.7). `tools` are their instructions.
    LoopTextTools = "loop_text_tools" ["tools"],
    /// The previous handler of a template replied with nothing (spec "Templates" 15).
    AttemptEmpty = "attempt_empty" [],
    /// The result of the previous handler has another type than declared.
    AttemptType = "attempt_type" ["expected", "actual"],
    /// The result of the previous handler violates its declaration; the details follow.
    AttemptFormat = "attempt_format" [],
    /// The previous handler failed. `message` is one line from a provider or a tool.
    AttemptFailed = "attempt_failed" ["message"],
    /// Precedes the stored output of a repeated call (spec 10.7). `id` is the earlier call.
    RepeatedCall = "repeated_call" ["id"],
    /// Precedes the text of a failed tool.
    ToolFailed = "tool_failed" [],
    /// The output of a write call whose changes are on disk; `diff` is fenced.
    ChangesApplied = "changes_applied" ["diff"],
    /// Like `ChangesApplied`, if a person has undone them since. `diff` is fenced.
    ChangesTakenBack = "changes_taken_back" ["diff"],
    /// The output of a write call of which a person kept only a part (spec 11.4). `diff`, `refused` and `words` are
    /// fenced.
    ChangesAppliedInPart = "changes_applied_in_part" ["diff", "refused", "words"],
    /// The note in the result of a task of whose changes a person kept only a part (spec 11.4). `refused` lists the
    /// hunks; `words` are fenced.
    ChangesKeptInPart = "changes_kept_in_part" ["refused", "words"],
    /// A skipped hunk, by the lines of the old file.
    RefusedLines = "refused_lines" ["first", "last", "path"],
    /// A skipped hunk that only adds lines.
    RefusedInsertion = "refused_insertion" ["line", "path"],
    /// A skipped new file.
    RefusedCreation = "refused_creation" ["path"],
    /// A refused deletion.
    RefusedDeletion = "refused_deletion" ["path"],
    /// A hunk that a person rewrote. `hunk` is one of the four above.
    RefusedEdited = "refused_edited" ["hunk"],
    /// A task that failed, for the iteration (spec 2.9).
    ProblemFailed = "problem_failed" ["name", "reason", "issues"],
    /// Follows a failed task of which some runs finished (spec 10.5). `parts` are their labels and summaries.
    ProblemKept = "problem_kept" ["parts"],
    /// Follows a task that changed files before it failed or was denied. `files` are their paths.
    ProblemChanged = "problem_changed" ["files"],
    /// Changes of a done task that a person has undone since (spec 3.10).
    ChangesUndone = "changes_undone" ["files"],
    /// A task that a person denied; `words` are fenced (spec 11.7).
    ProblemDenied = "problem_denied" ["name", "words"],
    /// A task that waits for something that will never exist.
    ProblemBlocked = "problem_blocked" ["name", "cause"],
    /// The output of a call of a tool that the skill may not use (spec 7.10).
    ToolRefused = "tool_refused" ["tool"],
    /// The output of a call that a hook of the person refused (spec 12.11).
    HookRefused = "hook_refused" ["hook", "why"],
    /// The declared form of a handler's output is JSON; `schema` says which.
    OutputJson = "output_json" ["schema"],
    /// The reply of a handler that runs a skill with changes contains these changes (spec 3.9).
    OutputChanges = "output_changes" [],
    /// A request for a subtask lacks a field (spec "Templates" 12).
    SubtaskMissing = "subtask_missing" ["field"],
    /// A field of a request for a subtask has a wrong type.
    SubtaskValue = "subtask_value" ["field", "found", "expected"],
    /// A request for a subtask names no operator.
    SubtaskType = "subtask_type" ["found", "types"],
    /// A request for a subtask wants to nest deeper than it may.
    SubtaskMaxDepth = "subtask_max_depth" ["found", "limit"],
    /// A hint of a request that leads nowhere.
    SubtaskHint = "subtask_hint" ["hint"],
    /// An unknown tool in a request.
    SubtaskTool = "subtask_tool" ["tool"],
    /// Settings of a request that exclude each other.
    SubtaskContext = "subtask_context" [],
    /// Inputs of a request that the chosen template does not take.
    SubtaskInputs = "subtask_inputs" ["template", "fault"],
    /// A request of a task that has no tool for requesting subtasks.
    SubtaskForbidden = "subtask_forbidden" [],
    /// A request that names a missing template.
    SubtaskUnknown = "subtask_unknown" ["name", "near"],
    /// A request for an operator other than atomic that names no template.
    SubtaskUnnamed = "subtask_unnamed" ["type", "near"],
    /// Follows the description of the tool that asks for subtasks: the templates that a request may name.
    SubtaskTemplates = "subtask_templates" ["templates"],
    /// The message of a refused request. `faults` lists everything that is wrong, one per line.
    SubtaskRefused = "subtask_refused" ["faults"],
    /// The message of a subtask that failed.
    SubtaskFailed = "subtask_failed" ["message"],
    /// The message of a request below the last depth.
    SubtaskTooDeep = "subtask_too_deep" ["limit"],
    /// The message of a request that repeats a task above it.
    SubtaskCycle = "subtask_cycle" ["task"],
    /// The message that answers a reply with `CONTINUATION`.
    SubtaskResult = "subtask_result" ["result"],
    /// The answer to a split contains no task tree (spec "Templates" 11).
    ReparseNoXml = "reparse_no_xml" [],
    /// A further element in the answer to a split.
    ReparseSecond = "reparse_second" ["name"],
    /// An operator that a split may not use.
    ReparseOperator = "reparse_operator" ["operator"],
    /// A part of a split with wider effects than the failed task.
    ReparseWrites = "reparse_writes" ["operator"],
    /// A part of a split with wider tools than the failed task.
    ReparseTool = "reparse_tool" ["tool"],
    /// A name that nothing binds in a split.
    ReparseUnknown = "reparse_unknown" ["name"],
    /// A request for an evaluation of another task (spec "Templates" 8).
    EvaluationOutside = "evaluation_outside" [],
    /// Follows the catalog: templates whose words match the request (spec "Templates" 10).
    TemplateSuggestions = "template_suggestions" ["names"],
    /// The output of a call that failed because of a defect of a tool. The details are for people and logs.
    ToolDefect = "tool_defect" ["tool"],
    /// The output of a call whose question was answered, but that ended before, with its process.
    ToolLost = "tool_lost" [],
    /// Follows the output of a command that ran in a copy of the project; `paths` were not brought back (spec 15.23).
    CommandLeft = "command_left" ["paths"],
    /// Precedes the output of such a command if nothing that it wrote was brought back.
    CommandNotKept = "command_not_kept" ["why"],
    /// Replaces the tool instructions for a skill without tools.
    NoTools = "no_tools" [],
    /// Replaces the reference contents for a task without references.
    NoReferences = "no_references" [],
    /// Replaces an empty catalog.
    NoSkills = "no_skills" [],
    /// Replaces lines that were cut.
    OmittedLines = "omitted_lines" ["first", "last", "total", "tokens"],
    /// Replaces lines of a reference that were cut, and says how to refer to them (spec 5.8).
    OmittedReferenceLines = "omitted_reference_lines" ["first", "last", "total", "tokens"],
    /// Replaces text that was cut inside a line.
    OmittedMiddle = "omitted_middle" ["first", "last", "total", "tokens"],
    /// Replaces an output that is no longer relevant (spec 5.10).
    RestrictedOutput = "restricted_output" ["reference"],
}

impl Note {
    /// The text with its placeholders filled in. A placeholder without a value stays as written.
    pub fn fill(self, values: &[(&'static str, &str)]) -> String {
        let values: Values = values.iter().map(|(name, text)| (*name, Value::Text((*text).to_owned()))).collect();
        self.pieces()
            .and_then(|pieces| render_pieces(self.name(), &self.slots().join(", "), &pieces, &values).ok())
            .unwrap_or_else(|| self.text().to_owned())
    }

    fn pieces(self) -> Option<Vec<Piece>> {
        parse_part(self.name(), self.slots(), self.text(), 1).ok()
    }
}
