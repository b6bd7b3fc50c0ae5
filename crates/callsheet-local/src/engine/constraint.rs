//! Constrained decoding: grammars and schemas compiled for one vocabulary.

use callsheet_runtime::ports::Constraint;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::SimpleVob;
use llguidance::{Matcher, ParserFactory};

use super::load::LoadFault;

/// What every grammar of a model shares: its token trie (0.1 to 0.4 s to build, once).
pub(super) struct Constraints {
    factory: ParserFactory,
}

/// A grammar while a reply is written. Its fault is an error text.
pub(super) struct Guide {
    matcher: Matcher,
}

impl Constraints {
    pub fn new(model: &LlamaModel) -> Result<Self, LoadFault> {
        let trie = LlamaSampler::llguidance_tok_env(model);
        let mut factory = ParserFactory::new_simple(&trie).map_err(|fault| LoadFault::Engine(fault.to_string()))?;
        factory.quiet();
        Ok(Self { factory })
    }

    /// The strongest form of `constraint`: its grammar, else its schema.
    pub fn guide(&self, constraint: &Constraint) -> Option<Result<Guide, String>> {
        let grammar = match (&constraint.grammar, &constraint.json_schema) {
            (Some(grammar), _) => TopLevelGrammar::from_lark(grammar.to_lark()),
            (None, Some(schema)) => TopLevelGrammar::from_json_schema(schema.clone()),
            (None, None) => return None,
        };
        let mut matcher = Matcher::new(self.factory.create_parser(grammar));
        let fault = matcher.get_error();
        for warning in matcher.grammar_warnings() {
            tracing::debug!(warning, "grammar");
        }
        Some(fault.map_or(Ok(Guide { matcher }), Err))
    }
}

impl Guide {
    /// Whether the reply is complete and nothing more may follow.
    pub fn is_done(&self) -> bool {
        self.matcher.is_stopped()
    }

    /// Why the grammar cannot continue, if it cannot.
    pub fn fault(&self) -> Option<String> {
        self.matcher.get_error()
    }

    /// The tokens that must follow; the grammar has already consumed them. The grammar allows no other text here. A
    /// space at the end is left to the model, because its tokens carry their space in front.
    pub fn forced(&mut self, tokenize: impl Fn(&[u8]) -> Vec<LlamaToken>) -> Vec<LlamaToken> {
        let bytes = self.matcher.compute_ff_bytes();
        let spaces = bytes.iter().rev().take_while(|byte| **byte == b' ').count();
        let bytes = bytes.get(..bytes.len() - spaces).unwrap_or_default();
        if bytes.is_empty() {
            return Vec::new();
        }
        let mut tokens = tokenize(bytes);
        let ids: Vec<u32> = tokens.iter().filter_map(|token| u32::try_from(token.0).ok()).collect();
        let taken = self.matcher.try_consume_tokens(&ids).unwrap_or(0);
        tokens.truncate(taken);
        tokens
    }

    /// The tokens that may follow.
    pub fn mask(&mut self) -> Result<SimpleVob, String> {
        self.matcher.compute_mask_or_eos().map_err(|fault| fault.to_string())
    }

    /// Whether the text so far is a complete reply.
    pub fn may_end(&mut self) -> bool {
        self.matcher.is_accepting().unwrap_or(false)
    }

    /// Consumes a token of the mask.
    pub fn take(&mut self, token: LlamaToken) -> Result<(), String> {
        let id = u32::try_from(token.0).map_err(|fault| fault.to_string())?;
        self.matcher.consume_token(id).map_err(|fault| fault.to_string())
    }
}
