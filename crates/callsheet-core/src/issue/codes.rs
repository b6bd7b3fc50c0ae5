//! Codes of repairs (spec 4.4) and issues (spec 3-8). The tables are complete. One test lists codes without fixtures.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "`")]
                #[serde(rename = $text)]
                $variant,
            )+
        }

        impl $name {
            /// Every code, in table order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The code as written in reports.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

codes! {
    /// A correction that reading made, recorded with its place (spec 4.4).
    RepairCode {
        ThinkingRemoved = "thinking-removed",
        ReplyUnfenced = "reply-unfenced",
        ProseTrimmed = "prose-trimmed",
        FenceClosed = "fence-closed",
        FenceNested = "fence-nested",
        QuotesStraightened = "quotes-straightened",
        HeadingLevel = "heading-level",
        HeadingName = "heading-name",
        HeadingMissing = "heading-missing",
        SummaryBare = "summary-bare",
        SectionImplied = "section-implied",
        SectionRenumbered = "section-renumbered",
        LabelForm = "label-form",
        LabelName = "label-name",
        ListMarker = "list-marker",
        ListShape = "list-shape",
        ListSplit = "list-split",
        ListsJoined = "lists-joined",
        KeyDropped = "key-dropped",
        ItemDone = "item-done",
        NameFilled = "name-filled",
        NameDeduplicated = "name-deduplicated",
        SkillNear = "skill-near",
        ToolNear = "tool-near",
        ReferenceBare = "reference-bare",
        LinkUnwrapped = "link-unwrapped",
        ReferenceAlias = "reference-alias",
        PathLeadingSlash = "path-leading-slash",
        PathSpelling = "path-spelling",
        PathNear = "path-near",
        LinesClamped = "lines-clamped",
        EchoDropped = "echo-dropped",
        ExampleDropped = "example-dropped",
        PromptEchoDropped = "prompt-echo-dropped",
        JsonSyntax = "json-syntax",
        JsonShape = "json-shape",
        JsonUnfenced = "json-unfenced",
        JsonCoerced = "json-coerced",
        CallDeduplicated = "call-deduplicated",
        CallIdSet = "call-id-set",
        ChangeDeduplicated = "change-deduplicated",
        ChangeKey = "change-key",
        WholeFileImplied = "whole-file-implied",
        ExcerptWhitespace = "excerpt-whitespace",
        FilenameFlattened = "filename-flattened",
    }
}

codes! {
    /// What is wrong with a reply, a sheet or a check of it.
    IssueCode {
        // 3.4 plan, 3.5 iteration
        TasksMissing = "tasks-missing",
        NoTasks = "no-tasks",
        GoalsMissing = "goals-missing",
        SectionEmpty = "section-empty",
        TaskBoundary = "task-boundary",
        NeedMissing = "need-missing",
        ExpectedMissing = "expected-missing",
        SkillMissing = "skill-missing",
        SkillUnknown = "skill-unknown",
        SkillUnlikely = "skill-unlikely",
        UnknownKey = "unknown-key",
        DuplicateSection = "duplicate-section",
        CallDropped = "call-dropped",
        ForEachInvalid = "for-each-invalid",
        OverBudget = "over-budget",
        DeniedAgain = "denied-again",
        RemovalIgnored = "removal-ignored",
        ReferenceRemoved = "reference-removed",
        DoneChanged = "done-changed",
        TaskRunning = "task-running",
        RefinementRequired = "refinement-required",
        TextUnread = "text-unread",
        // 3.7 refinement
        TaskMissing = "task-missing",
        JsonInvalid = "json-invalid",
        JsonTruncated = "json-truncated",
        ToolUnknown = "tool-unknown",
        ToolNotAllowed = "tool-not-allowed",
        ToolDisabled = "tool-disabled",
        ToolArguments = "tool-arguments",
        CallPathMissing = "call-path-missing",
        CallFailed = "call-failed",
        NoInput = "no-input",
        SkillChange = "skill-change",
        // 3.8 execution, 3.12 merge
        SummaryMissing = "summary-missing",
        DetailsIncomplete = "details-incomplete",
        FilenameInvalid = "filename-invalid",
        LinkBroken = "link-broken",
        SelfLink = "self-link",
        // 3.9 writer execution
        ChangeDetailsMissing = "change-details-missing",
        AddressMissing = "address-missing",
        AddressConflict = "address-conflict",
        ExcerptNotFound = "excerpt-not-found",
        ExcerptAmbiguous = "excerpt-ambiguous",
        LinesOutOfRange = "lines-out-of-range",
        StaleLines = "stale-lines",
        SymbolNotFound = "symbol-not-found",
        SymbolAmbiguous = "symbol-ambiguous",
        SymbolUnsupported = "symbol-unsupported",
        FileMissing = "file-missing",
        FileExists = "file-exists",
        WholeFileOnPartial = "whole-file-on-partial",
        ChangeOverlap = "change-overlap",
        ChangesAndNone = "changes-and-none",
        UnchangedUnquoted = "unchanged-unquoted",
        OutsideProject = "outside-project",
        ProtectedPath = "protected-path",
        ContentTruncated = "content-truncated",
        CheckFailed = "check-failed",
        // 4 reading
        ReviewMissing = "review-missing",
        RouteUnreadable = "route-unreadable",
        ReviewUnreadable = "review-unreadable",
        EmptyReply = "empty-reply",
        PromptRecited = "prompt-recited",
        ReplyTruncated = "reply-truncated",
        ReplyWithheld = "reply-withheld",
        CallUnread = "call-unread",
        ReplyTooLarge = "reply-too-large",
        LookupMissing = "lookup-missing",
        // 5 references
        ReferenceInvalid = "reference-invalid",
        ReferenceAmbiguous = "reference-ambiguous",
        ReferenceOrder = "reference-order",
        SelfReference = "self-reference",
        ReferenceRestricted = "reference-restricted",
        OutputUnread = "output-unread",
        NoCurrentFile = "no-current-file",
        GlobRefused = "glob-refused",
        AnchorMissing = "anchor-missing",
        AnchorAmbiguous = "anchor-ambiguous",
        HttpRefused = "http-refused",
        NotYet = "not-yet",
        Binary = "binary",
        FileUnreadable = "file-unreadable",
    }
}
