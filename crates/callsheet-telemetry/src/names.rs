//! Names of the semantic conventions of OpenTelemetry for generative AI. The crate with these constants marks them as
//! deprecated, because the conventions are still in development.

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const CACHED_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(crate) const AGENT: &str = "gen_ai.agent.name";
pub(crate) const TOOL: &str = "gen_ai.tool.name";
pub(crate) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(crate) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(crate) const ERROR: &str = "error.type";

pub(crate) const TOKEN_USAGE: &str = "gen_ai.client.token.usage";
pub(crate) const DURATION: &str = "gen_ai.client.operation.duration";

/// What the conventions have no name for.
pub(crate) const TASK: &str = "callsheet.task";
pub(crate) const PHASE: &str = "callsheet.phase";
pub(crate) const OUTCOME: &str = "callsheet.outcome";
pub(crate) const COST: &str = "callsheet.cost";
pub(crate) const REPAIRS: &str = "callsheet.repairs";
pub(crate) const REPAIR: &str = "callsheet.repair";
pub(crate) const WAITS: &str = "callsheet.wait.duration";
pub(crate) const WAIT: &str = "callsheet.wait";
pub(crate) const SENDS: &str = "callsheet.sends";
pub(crate) const REUSED: &str = "callsheet.reused";
