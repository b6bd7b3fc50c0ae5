//! Opening a GGUF file.

use std::fs::File;
use std::io::Read;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use callsheet_runtime::ports::{Capabilities, ModelInfo, WindowFrom};
use llama_cpp_2::LogOptions;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;

/// Tokens of the window if the caller names none. A larger window costs memory for every call.
const DEFAULT_WINDOW: u32 = 8_192;
/// How many tokens of a prompt are decoded at once. Cancelling takes effect between two batches.
const BATCH: u32 = 256;

/// How to run a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedOptions {
    /// Context window in tokens. `None` means 8,192, or what the model was trained on if that is less.
    pub window: Option<u32>,
    /// Threads. `None` means all physical cores but one, and at least one, because threads that spin on busy cores
    /// stall each other.
    pub threads: Option<u32>,
    /// Feeds text that the grammar forces as one batch. Turn it off only to measure the gain.
    pub feed_forced: bool,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self { window: None, threads: None, feed_forced: true }
    }
}

/// How the thread that owns the model spent its CPU time on all replies so far, without prompts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Tokens that were written.
    pub tokens: u64,
    /// How many of them the grammar forced.
    pub forced: u64,
    /// Time for decoding.
    pub decode: Duration,
    /// Time for the constraint: forced text, masks and steps.
    pub constraint: Duration,
    /// Time for choosing tokens.
    pub sample: Duration,
}

/// Why a model could not be loaded. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum LoadFault {
    /// The file does not exist or may not be read.
    #[error(
        "{path} cannot be read: {reason}; give the path of a GGUF file, or download one with `callsheet model pull`"
    )]
    Unreadable {
        /// Path as given.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The file has another format.
    #[error("{path} is not a GGUF file; convert models in other formats first")]
    NotGguf {
        /// Path as given.
        path: PathBuf,
    },
    /// llama.cpp refused it.
    #[error("can't load {path}: {reason}; the file may be damaged, too new, or too large for this machine")]
    Refused {
        /// Path as given.
        path: PathBuf,
        /// What llama.cpp said.
        reason: String,
    },
    /// The engine itself did not start.
    #[error("the embedded engine could not start: {0}")]
    Engine(String),
}

/// A loaded model with everything that its owner thread needs.
pub(super) struct Loaded {
    pub model: Arc<LlamaModel>,
    pub info: ModelInfo,
    pub window: u32,
    pub threads: i32,
    pub feed_forced: bool,
    pub timing: Arc<Mutex<Timing>>,
}

impl Loaded {
    /// Parameters of the only context.
    pub fn context(&self) -> LlamaContextParams {
        LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(self.window))
            .with_n_batch(BATCH)
            .with_n_ubatch(BATCH)
            .with_n_threads(self.threads)
            .with_n_threads_batch(self.threads)
            .with_no_perf(true)
    }
}

/// The backend of this process. It starts once; its log goes to `tracing`, never to the terminal.
pub(super) fn backend() -> Result<&'static LlamaBackend, LoadFault> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let start = || {
        llama_cpp_2::send_logs_to_tracing(LogOptions::default());
        LlamaBackend::init().map_err(|fault| fault.to_string())
    };
    BACKEND.get_or_init(start).as_ref().map_err(|reason| LoadFault::Engine(reason.clone()))
}

pub(super) fn load(path: &Path, options: &EmbeddedOptions) -> Result<Loaded, LoadFault> {
    check_magic(path)?;
    let backend = backend()?;
    let refused = |reason: String| LoadFault::Refused { path: path.into(), reason };
    let params = LlamaModelParams::default();
    let model = LlamaModel::load_from_file(backend, path, &params).map_err(|fault| refused(fault.to_string()))?;
    let window = options.window.unwrap_or(DEFAULT_WINDOW).min(model.n_ctx_train()).max(BATCH);
    let capabilities = Capabilities {
        tools: false,
        json_schema: true,
        grammar: true,
        twins: false,
        counts_tokens: true,
        temperature: true,
        seed: true,
        vision: false,
    };
    let info = ModelInfo {
        id: format!("embedded:{}", path.display()),
        provider: "embedded".into(),
        window: Some(window),
        window_from: Some(WindowFrom::File),
        unpriced: false,
        price_input: None,
        price_output: None,
        capabilities,
    };
    let threads = options.threads.unwrap_or_else(free_cores).max(1);
    let threads = i32::try_from(threads).unwrap_or(1);
    let (feed_forced, timing) = (options.feed_forced, Arc::default());
    Ok(Loaded { model: Arc::new(model), info, window, threads, feed_forced, timing })
}

fn check_magic(path: &Path) -> Result<(), LoadFault> {
    let unreadable = |fault: std::io::Error| LoadFault::Unreadable { path: path.into(), reason: fault.to_string() };
    let mut magic = [0; 4];
    let read = File::open(path).map_err(unreadable)?.read(&mut magic).map_err(unreadable)?;
    if read == magic.len() && &magic == b"GGUF" { Ok(()) } else { Err(LoadFault::NotGguf { path: path.into() }) }
}

/// Physical cores this process may use, less one.
fn free_cores() -> u32 {
    let allowed = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(num_cpus::get_physical().min(allowed).saturating_sub(1)).unwrap_or(1)
}
