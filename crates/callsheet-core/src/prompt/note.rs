//! Small texts of the host that a model reads. Each is a file; none stands in code.

use crate::prompt::{Piece, Value, Values, parse_part, render_pieces};

macro_rules! notes {
    ($($(#[$doc:meta])* $variant:ident = $file:literal [$($slot:literal),*]),+ $(,)?) => {
        /// A text of the host that a model reads.
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

            /// Its text, placeholders unfilled, without a final line feed.
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
    /// Before the issues of a refused list.
    IssuesList = "issues_list" [],
    /// Before the issues of a refused refinement, result or merge.
    IssuesReply = "issues_reply" [],
    /// Before the issues of references that do not hold when a task is first refined, or any more (spec 2.8).
    IssuesReferences = "issues_references" [],
    /// The user message after a refused final reply of a loop task; `issues` are their text forms.
    LoopIssues = "loop_issues" ["issues"],
    /// The same for an atomic task of a template, whose reply has no form of a sheet.
    HandlerIssues = "handler_issues" ["issues"],
    /// The last turn of a loop task: no tools are offered (spec 10.7).
    LoopLastTurn = "loop_last_turn" [],
    /// In the prompt of an execution that reads one of several references, because all of them do not fit one prompt.
    OnePart = "one_part" ["number", "count"],
    /// Before such parts, if no call has put them together.
    PartsApart = "parts_apart" [],
    /// What the host expects of a task that it makes of a request (spec 2.3).
    ExpectedAnswer = "expected_answer" [],
    /// The same, if the task changes files.
    ExpectedChanges = "expected_changes" [],
    /// The result of a task whose reply was the text of a new file (spec 3.9); `link` leads to it.
    DocumentWritten = "document_written" ["link"],
    /// The same, if it writes one file; `path` is its path.
    ExpectedFile = "expected_file" ["path"],
    /// The choice that is no skill (spec 2.3): its name, a colon, and when it is right.
    RouteSeveral = "route_several" [],
    /// The user message behind the result of an execution that is reviewed (spec 10.9).
    Review = "review" [],
    /// Behind that, what the result says word for word and was not shown (spec 3.14); `marks` are list items.
    ReviewUnsupported = "review_unsupported" ["marks"],
    /// The reply is asked for as its JSON twin; `outline` is one with its members.
    JsonTwin = "json_twin" ["outline"],
    /// How tools are called where the provider has no tool calling (spec 10.7); `tools` are their instructions.
    LoopTextTools = "loop_text_tools" ["tools"],
    /// A handler of a template before this one replied with nothing (spec "Templates" 15).
    AttemptEmpty = "attempt_empty" [],
    /// The result of a handler before this one is of another type than is declared.
    AttemptType = "attempt_type" ["expected", "actual"],
    /// The result of a handler before this one is not what is declared; what is wrong stands below.
    AttemptFormat = "attempt_format" [],
    /// A handler before this one failed; `message` is one line of a provider or a tool.
    AttemptFailed = "attempt_failed" ["message"],
    /// Before the stored output of a call that was made before (spec 10.7); `id` is the earlier call.
    RepeatedCall = "repeated_call" ["id"],
    /// The output of a call that was started and never seen to finish (spec 2.18).
    InterruptedCall = "interrupted_call" [],
    /// Before the text of a tool that failed.
    ToolFailed = "tool_failed" [],
    /// The output of a write call whose changes are on disk; `diff` is fenced.
    ChangesApplied = "changes_applied" ["diff"],
    /// The same, if a person took them back since; `diff` is fenced.
    ChangesTakenBack = "changes_taken_back" ["diff"],
    /// The output of a write call of whose changes a person kept a part (spec 11.4); `diff`, `refused` and `words` are
    /// fenced.
    ChangesAppliedInPart = "changes_applied_in_part" ["diff", "refused", "words"],
    /// Of whose changes a person kept a part, for the result of the task (spec 11.4); `refused` lists the hunks, `words`
    /// are fenced.
    ChangesKeptInPart = "changes_kept_in_part" ["refused", "words"],
    /// A refused hunk, by the lines of the file as it was.
    RefusedLines = "refused_lines" ["first", "last", "path"],
    /// A refused hunk that only adds lines.
    RefusedInsertion = "refused_insertion" ["line", "path"],
    /// A refused new file.
    RefusedCreation = "refused_creation" ["path"],
    /// A refused deletion.
    RefusedDeletion = "refused_deletion" ["path"],
    /// A hunk that a person wrote in another way; `hunk` is one of the four above.
    RefusedEdited = "refused_edited" ["hunk"],
    /// A task that failed, for the iteration (spec 2.9).
    ProblemFailed = "problem_failed" ["name", "reason", "issues"],
    /// Below a failed task some of whose runs finished (spec 10.5); `parts` are their labels and summaries.
    ProblemKept = "problem_kept" ["parts"],
    /// Below a task that changed files before it failed or was denied; `files` are their paths.
    ProblemChanged = "problem_changed" ["files"],
    /// Of a done task, changes that a person took back since (spec 3.10).
    ChangesUndone = "changes_undone" ["files"],
    /// A task that a person denied; `words` are fenced (spec 11.7).
    ProblemDenied = "problem_denied" ["name", "words"],
    /// A task that waits for something that will not come.
    ProblemBlocked = "problem_blocked" ["name", "cause"],
    /// The output of a call of a tool that the skill may not use (spec 7.10).
    ToolRefused = "tool_refused" ["tool"],
    /// The declared form of a handler's output is JSON; `schema` says which.
    OutputJson = "output_json" ["schema"],
    /// The reply of a handler that does a writing skill holds its changes (spec 3.9).
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
    /// A tool of a request that is not known.
    SubtaskTool = "subtask_tool" ["tool"],
    /// Settings of a request that exclude each other.
    SubtaskContext = "subtask_context" [],
    /// Inputs of a request that the chosen template does not take.
    SubtaskInputs = "subtask_inputs" ["template", "fault"],
    /// A request of a task whose tools hold none that asks for subtasks.
    SubtaskForbidden = "subtask_forbidden" [],
    /// A request that names a template which is not there.
    SubtaskUnknown = "subtask_unknown" ["name", "near"],
    /// A request for an operator other than atomic that names no template.
    SubtaskUnnamed = "subtask_unnamed" ["type", "near"],
    /// Behind the description of the tool that asks for subtasks: the templates that a request may name.
    SubtaskTemplates = "subtask_templates" ["templates"],
    /// The message of a refused request; `faults` are all that is wrong, one a line.
    SubtaskRefused = "subtask_refused" ["faults"],
    /// The message of a subtask that failed.
    SubtaskFailed = "subtask_failed" ["message"],
    /// The message of a request below the last depth.
    SubtaskTooDeep = "subtask_too_deep" ["limit"],
    /// The message of a request that repeats a task above it.
    SubtaskCycle = "subtask_cycle" ["task"],
    /// The message that answers a reply with `CONTINUATION`.
    SubtaskResult = "subtask_result" ["result"],
    /// The answer to a split that holds no task tree (spec "Templates" 11).
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
    /// Behind the catalog: templates whose words are those of the request (spec "Templates" 10).
    TemplateSuggestions = "template_suggestions" ["names"],
    /// The output of a call that failed by a defect of a tool; what it was is for people and logs.
    ToolDefect = "tool_defect" ["tool"],
    /// In place of tool instructions for a skill without tools.
    NoTools = "no_tools" [],
    /// In place of reference contents for a task without references.
    NoReferences = "no_references" [],
    /// In place of an empty catalog.
    NoSkills = "no_skills" [],
    /// In place of lines that were cut.
    OmittedLines = "omitted_lines" ["first", "last", "total", "tokens"],
    /// In place of lines of a reference that were cut; says how to refer to them (spec 5.8).
    OmittedReferenceLines = "omitted_reference_lines" ["first", "last", "total", "tokens"],
    /// In place of text that was cut inside a line.
    OmittedMiddle = "omitted_middle" ["first", "last", "total", "tokens"],
    /// In place of an output that is no longer relevant (spec 5.10).
    RestrictedOutput = "restricted_output" ["reference"],
}

impl Note {
    /// The text with its placeholders filled. A value that is not given leaves the text as written.
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
