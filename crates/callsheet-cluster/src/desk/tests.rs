use std::sync::Arc;

use callsheet_core::nouns::{RunId, Slug};
use callsheet_core::record::EffectKey;
use tokio::task::JoinHandle;

use super::*;
use crate::calls::Versions;
use crate::limits::OwnSlots;

fn job(attempt: u64, needs: Needs) -> Job {
    let effect = EffectKey::Check { task: Slug::new("water"), n: 1 };
    Job { run: RunId::new("run"), effect, attempt, once: false, needs }
}

fn desk() -> Arc<Desk> {
    Arc::new(Desk::new(Slots::new(BTreeMap::new(), 8)))
}

fn offer(provider: &str, at_once: usize) -> Offer {
    Offer { providers: vec![provider.to_owned()], tools: None, changes: true, here: true, commands: false, at_once }
}

/// A worker whose process has its name, so that another process takes the name over with `of`.
fn asks(process: &str, offer: &Offer, has: &[(Job, u32)]) -> Take {
    let has = has.iter().map(|(job, number)| (job.key(), *number)).collect();
    Take {
        name: process.to_owned(),
        process: process.to_owned(),
        offer: offer.clone(),
        has,
        slots: OwnSlots::default(),
        versions: Versions::OWN,
    }
}

fn numbers(taken: &Taken) -> Vec<u64> {
    taken.begin.iter().map(|(job, _)| job.attempt).collect()
}

/// What the engine does with a job: it claims, records, and waits for the end.
fn engine(desk: &Arc<Desk>, job: Job, number: u32) -> JoinHandle<Option<End>> {
    let desk = Arc::clone(desk);
    tokio::spawn(async move {
        let lease = desk.claim(&job, number).await?;
        Some(desk.hold(&job, &lease, std::future::ready(true)).await)
    })
}

/// A worker that takes what it gets and never ends it.
async fn works(desk: Arc<Desk>, name: &'static str, offer: Offer) {
    let mut has = Vec::new();
    loop {
        has.extend(desk.take(&asks(name, &offer, &has)).await.unwrap().begin);
    }
}

async fn until_waiting(desk: &Desk, count: usize) {
    while desk.state().waiting.len() < count {
        tokio::task::yield_now().await;
    }
}

/// covers: 15.8
#[tokio::test(start_paused = true)]
async fn work_goes_to_whoever_can_do_it_and_does_the_least() {
    let desk = desk();
    for (name, provider) in [("first", "acme"), ("second", "acme"), ("third", "other")] {
        tokio::spawn(works(Arc::clone(&desk), name, offer(provider, 4)));
    }
    while desk.workers().len() < 3 {
        tokio::task::yield_now().await;
    }
    for n in 1..=4 {
        engine(&desk, job(n, Needs::Provider("acme".to_owned())), 1);
    }
    while desk.workers().iter().map(|worker| worker.doing).sum::<usize>() < 4 {
        tokio::task::yield_now().await;
    }
    let doing: Vec<usize> = desk.workers().iter().map(|worker| worker.doing).collect();
    assert_eq!(doing, [2, 2, 0]);
}

/// covers: 15.9
#[tokio::test(start_paused = true)]
async fn the_work_of_a_silent_worker_goes_to_another_and_its_result_comes_too_late() {
    let (desk, acme) = (desk(), offer("acme", 4));
    let given = engine(&desk, job(7, Needs::Nothing), 1);
    let taken = desk.take(&asks("silent", &acme, &[])).await.unwrap();
    assert_eq!(numbers(&taken), [7]);
    let lease = Lease { process: "silent".to_owned(), number: 1 };
    let key = job(7, Needs::Nothing).key();
    for _ in 0..SILENCE {
        desk.tick();
    }
    assert_eq!(desk.standing(&key, &lease), Standing::Good, "it may be silent for so long");
    desk.tick();
    assert_eq!(given.await.unwrap(), Some(End::Lost));
    let again = engine(&desk, job(7, Needs::Nothing), 2);
    assert_eq!(numbers(&desk.take(&asks("next", &acme, &[])).await.unwrap()), [7]);
    assert_eq!(desk.standing(&key, &lease), Standing::Late);
    let back = desk.take(&asks("silent", &acme, &[(job(7, Needs::Nothing), 1)])).await.unwrap();
    assert_eq!(back.drop, std::slice::from_ref(&key), "it hears that it has lost the work");
    desk.finish(&key, &Lease { process: "next".to_owned(), number: 2 }, End::Over);
    assert_eq!(again.await.unwrap(), Some(End::Over));
}

/// covers: 15.9
#[tokio::test(start_paused = true)]
async fn a_lease_that_the_engine_did_not_record_is_never_told() {
    let (desk, acme) = (desk(), offer("acme", 4));
    let (claimed, asked) = (job(7, Needs::Nothing), asks("first", &acme, &[]));
    let (lease, taken) = tokio::join!(desk.claim(&claimed, 1), desk.take(&asked));
    assert!(lease.is_some());
    assert_eq!(taken.unwrap(), Taken::default());
    // The engine calls again, and the work may go to anybody.
    let again = engine(&desk, job(7, Needs::Nothing), 1);
    assert_eq!(numbers(&desk.take(&asks("second", &acme, &[])).await.unwrap()), [7]);
    again.abort();
}

/// covers: 15.10
#[tokio::test(start_paused = true)]
async fn a_new_dispatcher_lets_work_go_on_where_it_is() {
    let acme = offer("acme", 4);
    let lease = Lease { process: "worker".to_owned(), number: 1 };
    for (has, begins) in [(true, Vec::new()), (false, vec![7])] {
        let (desk, held) = (desk(), job(7, Needs::Nothing));
        let key = held.key();
        assert_eq!(desk.standing(&key, &lease), Standing::Unknown);
        let (waiting, of) = (Arc::clone(&desk), lease.clone());
        let end = tokio::spawn(async move { waiting.hold(&held, &of, std::future::ready(true)).await });
        while desk.standing(&key, &lease) != Standing::Good {
            tokio::task::yield_now().await;
        }
        let has: Vec<(Job, u32)> = has.then(|| (job(7, Needs::Nothing), 1)).into_iter().collect();
        assert_eq!(numbers(&desk.take(&asks("worker", &acme, &has)).await.unwrap()), begins);
        desk.finish(&key, &lease, End::Over);
        assert_eq!(end.await.unwrap(), End::Over);
    }
    let desk = desk();
    let over = desk.hold(&job(7, Needs::Nothing), &lease, std::future::ready(false)).await;
    assert_eq!(over, End::Over, "the run has had its result");
}

/// covers: 15.9
#[tokio::test(start_paused = true)]
async fn a_process_takes_over_the_name_of_an_earlier_one() {
    let (desk, acme) = (desk(), offer("acme", 4));
    let given = engine(&desk, job(7, Needs::Nothing), 1);
    let earlier = Take { name: "worker".to_owned(), ..asks("earlier", &acme, &[]) };
    assert_eq!(numbers(&desk.take(&earlier).await.unwrap()), [7]);
    let later = Take { name: "worker".to_owned(), ..asks("later", &acme, &[]) };
    desk.take(&later).await.unwrap();
    assert_eq!(given.await.unwrap(), Some(End::Lost), "at once, without waiting");
    assert_eq!(desk.take(&earlier).await, Err(Replaced));
}

/// covers: 15.4
#[tokio::test(start_paused = true)]
async fn what_a_run_no_longer_waits_for_is_dropped_everywhere() {
    let (desk, acme) = (desk(), offer("acme", 1));
    let held = engine(&desk, job(1, Needs::Nothing), 1);
    assert_eq!(numbers(&desk.take(&asks("worker", &acme, &[])).await.unwrap()), [1]);
    let waiting = engine(&desk, job(2, Needs::Nothing), 1);
    until_waiting(&desk, 1).await;
    assert_eq!(desk.attempts()[&RunId::new("run")], [1, 2]);
    desk.drop_work(&RunId::new("run"), &[1, 2]);
    assert_eq!((held.await.unwrap(), waiting.await.unwrap()), (Some(End::Over), None));
    let taken = desk.take(&asks("worker", &acme, &[(job(1, Needs::Nothing), 1)])).await.unwrap();
    assert_eq!(taken.drop, [job(1, Needs::Nothing).key()]);
}

#[tokio::test(start_paused = true)]
async fn work_that_failed_at_one_worker_goes_to_another() {
    let (desk, acme) = (desk(), offer("acme", 4));
    let given = engine(&desk, job(7, Needs::Nothing), 1);
    desk.take(&asks("first", &acme, &[])).await.unwrap();
    let lease = Lease { process: "first".to_owned(), number: 1 };
    desk.finish(&job(7, Needs::Nothing).key(), &lease, End::Failed);
    assert_eq!(given.await.unwrap(), Some(End::Failed));
    engine(&desk, job(7, Needs::Nothing), 2);
    until_waiting(&desk, 1).await;
    let alone = desk.take(&asks("first", &acme, &[])).await.unwrap();
    assert_eq!(numbers(&alone), [7], "nobody else is there");
    desk.finish(&job(7, Needs::Nothing).key(), &Lease { number: 2, ..lease }, End::Failed);
    desk.take(&asks("second", &acme, &[])).await.unwrap();
    engine(&desk, job(7, Needs::Nothing), 3);
    until_waiting(&desk, 1).await;
    let (first, second) = (asks("first", &acme, &[]), asks("second", &acme, &[]));
    let (first, second) = tokio::join!(desk.take(&first), desk.take(&second));
    assert_eq!((numbers(&first.unwrap()), numbers(&second.unwrap())), (Vec::new(), vec![7]));
}

/// covers: 15.8
#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_a_slot_do_not_keep_other_work_waiting() {
    let desk = Arc::new(Desk::new(Slots::new(BTreeMap::from([("acme".to_owned(), 1)]), 8)));
    for n in 1..=4 {
        engine(&desk, job(n, Needs::Provider("acme".to_owned())), 1);
    }
    engine(&desk, job(5, Needs::Tool("count".to_owned())), 1);
    until_waiting(&desk, 5).await;
    tokio::spawn(works(Arc::clone(&desk), "worker", offer("acme", 4)));
    tokio::time::sleep(POLL * 3).await;
    assert_eq!(desk.workers()[0].doing, 3, "a call, the next one, and the tool");
    assert_eq!(desk.state().waiting.len(), 2);
}

/// covers: 15.21
#[tokio::test(start_paused = true)]
async fn what_may_have_effects_goes_to_whoever_is_where_the_project_is() {
    let desk = desk();
    let far = Offer { here: false, ..offer("acme", 4) };
    engine(&desk, Job { once: true, ..job(1, Needs::Tool("build".to_owned())) }, 1);
    engine(&desk, job(2, Needs::Tool("count".to_owned())), 1);
    until_waiting(&desk, 2).await;
    assert_eq!(numbers(&desk.take(&asks("far", &far, &[])).await.unwrap()), [2]);
    let near = desk.take(&asks("near", &offer("acme", 4), &[])).await.unwrap();
    assert_eq!(numbers(&near), [1]);
}

/// covers: 15.23
#[tokio::test(start_paused = true)]
async fn only_commands_go_elsewhere_of_what_may_have_effects() {
    let desk = desk();
    let far = Offer { here: false, commands: true, ..offer("acme", 4) };
    engine(&desk, Job { once: true, ..job(1, Needs::Tool("wiki__write".to_owned())) }, 1);
    engine(&desk, Job { once: true, ..job(2, Needs::Changes) }, 1);
    engine(&desk, Job { once: true, ..job(3, Needs::Command("build".to_owned())) }, 1);
    until_waiting(&desk, 3).await;
    let few = Offer { tools: Some(vec!["count".to_owned()]), ..far.clone() };
    assert_eq!(desk.take(&asks("few", &few, &[])).await.unwrap(), Taken::default());
    assert_eq!(numbers(&desk.take(&asks("far", &far, &[])).await.unwrap()), [3]);
}
