//! A model that is asked without grammars and schemas (`providers.NAME.constrain`), to see its unconstrained replies,
//! or without temperature and seed (`providers.NAME.sampling`), because its provider refuses them.

use std::sync::Arc;

use async_trait::async_trait;
use callsheet_runtime::ports::{DeltaSink, Model, ModelFault, ModelInfo, ModelReply, ModelRequest};
use tokio_util::sync::CancellationToken;

/// Hides capabilities of a model and changes nothing else.
pub(super) struct Free {
    model: Arc<dyn Model>,
    info: ModelInfo,
}

impl Free {
    /// The model without constraints.
    pub(super) fn unconstrained(model: Arc<dyn Model>) -> Arc<dyn Model> {
        let mut info = model.info().clone();
        info.capabilities.grammar = false;
        info.capabilities.json_schema = false;
        info.capabilities.twins = false;
        Arc::new(Self { model, info })
    }

    /// The model without temperature and seed.
    pub(super) fn unsampled(model: Arc<dyn Model>) -> Arc<dyn Model> {
        let mut info = model.info().clone();
        info.capabilities.temperature = false;
        info.capabilities.seed = false;
        Arc::new(Self { model, info })
    }
}

#[async_trait]
impl Model for Free {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        cancel: &CancellationToken,
    ) -> Result<ModelReply, ModelFault> {
        self.model.ask(request, deltas, cancel).await
    }

    fn count_tokens(&self, text: &str) -> Option<u32> {
        self.model.count_tokens(text)
    }
}
