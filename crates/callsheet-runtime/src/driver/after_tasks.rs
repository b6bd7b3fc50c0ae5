//! Tells hooks about tasks that ended (spec 12.11). The hooks run in parallel with the run, which waits for them only
//! at its end.

use std::collections::BTreeSet;
use std::sync::Arc;

use callsheet_core::nouns::Slug;
use callsheet_core::run::Run;
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::effects::{HookRefusal, ask_hooks};
use crate::services::{HookPoint, Services};

/// The tasks that hooks were told about.
#[derive(Default)]
pub(super) struct AfterTasks {
    /// The change counter of the run at the last look.
    looks: u64,
    ended: BTreeSet<Slug>,
    asked: JoinSet<()>,
}

impl AfterTasks {
    /// Starts with the tasks that ended before this process drove the run. Hooks are not told about them.
    pub fn of(run: &Run) -> Self {
        let ended = run.all_tasks().filter(|task| run.standing(task).is_ended());
        Self { looks: run.looks(), ended: ended.map(|task| task.task.slug.clone()).collect(), asked: JoinSet::new() }
    }

    /// Tells hooks about the tasks that ended since the last look.
    pub fn look(&mut self, services: &Arc<Services>, run: &Run) {
        if !services.hooks.has(HookPoint::PostTask) {
            return;
        }
        for (_, task, _) in run.changed_since(self.looks) {
            let (slug, state) = (&task.task.slug, run.standing(task));
            if !state.is_ended() {
                self.ended.remove(slug);
            } else if self.ended.insert(slug.clone()) {
                let summary = task.result().map(|result| result.summary.clone());
                let input = json!({ "run": run.id(), "task": slug, "name": task.task.name, "state": state.as_str(), "summary": summary });
                self.asked.spawn(tell(Arc::clone(services), HookPoint::PostTask, input));
            }
        }
        self.looks = run.looks();
    }

    /// Tells hooks about something after those that are asked now have ended, and waits for nothing.
    pub fn then_tell(&mut self, services: &Arc<Services>, point: HookPoint, input: serde_json::Value) {
        let (mut before, services) = (std::mem::take(&mut self.asked), Arc::clone(services));
        tokio::spawn(async move {
            while before.join_next().await.is_some() {}
            tell(services, point, input).await;
        });
    }

    /// Waits until all hooks have ended. Each hook has a time limit.
    pub async fn finish(&mut self) {
        while self.asked.join_next().await.is_some() {}
    }
}

/// Asks hooks whose answer changes nothing. Tells the person about a refusal.
pub(super) async fn tell(services: Arc<Services>, point: HookPoint, input: serde_json::Value) {
    if let Err(HookRefusal { hook, why }) = ask_hooks(&services, point, &input, &CancellationToken::new()).await {
        services.notice(&format!("note: the hook {hook} ({}) says no: {why}", point.name()));
    }
}
