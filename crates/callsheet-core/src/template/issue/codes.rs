//! All diagnostics of spec 3, with their rules and severities. Reports, documents and tests use this one table.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The effect of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The template cannot be used.
    Error,
    /// The template can be used, unless warnings count as errors.
    Warning,
    /// The issue is only a note.
    Info,
}

impl Severity {
    /// The word for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

macro_rules! codes {
    ($($code:ident $rule:literal $severity:ident;)+) => {
        /// A diagnostic of spec 3.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code {
            $(
                #[doc = concat!("`", $rule, "`")]
                $code,
            )+
        }

        impl Code {
            /// All codes, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$code),+];

            /// The code as `T` and three digits.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => stringify!($code),)+
                }
            }

            /// The rule in words.
            pub fn rule(self) -> &'static str {
                match self {
                    $(Self::$code => $rule,)+
                }
            }

            /// Its severity if warnings do not count as errors.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$code => Severity::$severity,)+
                }
            }
        }
    };
}

codes! {
    T001 "text.malformed" Error;
    T002 "text.forbidden" Error;
    T003 "text.too_large" Error;
    T004 "text.encoding" Error;
    T010 "root.unknown" Error;
    T011 "required.missing" Error;
    T012 "element.misplaced" Error;
    T013 "element.repeated" Error;
    T014 "enum.value" Error;
    T015 "bool.value" Error;
    T016 "number.value" Error;
    T017 "ident.malformed" Error;
    T018 "content.empty" Error;
    T019 "name.mistyped" Error;
    T020 "template.duplicate" Error;
    T021 "name.duplicate" Error;
    T022 "template.body" Error;
    T023 "value.conflict" Error;
    T030 "call.unknown" Error;
    T031 "call.arity" Error;
    T032 "call.cycle" Error;
    T033 "model.unknown" Error;
    T034 "schema.unknown" Error;
    T035 "tool.unknown" Error;
    T040 "context.exclusive" Error;
    T050 "placeholder.malformed" Error;
    T051 "placeholder.forbidden" Error;
    T052 "name.undeclared" Error;
    T053 "command.untrusted" Error;
    T054 "expression.syntax" Error;
    T055 "command.shell" Error;
    T056 "path.escape" Error;
    T057 "type.unknown" Error;
    T058 "default.type" Error;
    T059 "value.path" Error;
    T060 "value.kind" Error;
    T061 "condition.constant" Error;
    T062 "loop.endless" Error;
    T063 "test.missing" Error;
    T501 "element.unknown" Warning;
    T502 "attribute.unknown" Warning;
    T503 "alias.used" Warning;
    T504 "type.assumed" Warning;
    T505 "name.generated" Warning;
    T506 "subtype.unknown" Warning;
    T507 "instructions.missing" Warning;
    T508 "inputs.undeclared" Warning;
    T509 "arg.literal" Warning;
    T510 "context.all_off" Warning;
    T511 "context.yielded" Info;
    T512 "accumulation.assumed" Info;
    T513 "text.markup" Warning;
    T514 "name.unused" Warning;
    T515 "expression.unknown_name" Warning;
    T516 "path.missing" Warning;
    T517 "compat.ignored" Warning;
    T518 "model.unverified" Warning;
    T519 "template.shadowed" Info;
    T521 "xml.ignored" Warning;
    T522 "limit.above_parent" Warning;
    T523 "schema.unused" Warning;
    T524 "recovery.unused" Warning;
    T526 "command.unexpanded" Warning;
    T527 "value.absent" Warning;
    T528 "fold.start" Warning;
    T529 "value.undeclared" Warning;
    T530 "exit.zero" Warning;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
