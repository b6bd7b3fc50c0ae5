//! The cost of model calls. Every call is charged to the account of its task and to all accounts above it: those of
//! the tree tasks around it, that of the sheet task whose call the tree is, and that of the run. A call in flight
//! reserves its possible further cost in the same accounts. Limits are limits of accounts. Only `limits` checks them.

use std::collections::BTreeMap;

use crate::nouns::Slug;
use crate::record::{CallKey, Usage};

/// What was spent in an account, including the accounts below it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Model calls started.
    pub calls: u32,
    /// Of these, calls that gave no reply.
    pub failed_calls: u32,
    /// Of these, calls that were interrupted by the end of the process or by a person. No limit counts them.
    pub cut_calls: u32,
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read that the provider had cached.
    pub cached: u64,
    /// US dollars, as far as known.
    pub cost_usd: f64,
    /// Calls with a reply whose cost is unknown.
    pub unpriced_calls: u32,
    /// The cost in US dollars of the most expensive call that gave a reply.
    pub dearest_usd: f64,
    /// Tokens reserved by calls in flight.
    pub reserved: u64,
    /// Calls in flight.
    pub in_flight: u32,
}

/// The holder of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The run.
    Run,
    /// A task since it was listed.
    Task(Slug),
    /// A task of a template, by its number.
    Part(usize),
}

/// One account.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Account {
    /// The holder.
    pub holder: Holder,
    /// What was spent.
    pub spent: Spent,
    /// How many tokens were left when a call did not fit its limit of tokens.
    pub no_room: Option<u64>,
    /// How much was left when the prompt of a call would have exceeded its limit of cost.
    pub too_dear_usd: Option<f64>,
    above: Option<usize>,
}

/// The accounts of a run. The first one is the account of the run itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ledger {
    accounts: Vec<Account>,
    /// The accounts by the names of tasks. The handlers of a task of a template use its account.
    names: BTreeMap<Slug, usize>,
    /// The calls in flight, each with its account and the tokens that it reserved.
    open: BTreeMap<CallKey, (usize, u64)>,
}

/// Calls that are listed and not started yet, and the tokens that they will reserve, by account.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed(BTreeMap<usize, (u32, u64)>);

impl Spent {
    /// The sum of tokens read and written.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The model calls that count for a limit.
    pub fn counted_calls(&self) -> u32 {
        self.calls.saturating_sub(self.cut_calls)
    }
}

impl Default for Ledger {
    fn default() -> Self {
        let of_run =
            Account { holder: Holder::Run, spent: Spent::default(), no_room: None, too_dear_usd: None, above: None };
        Self { accounts: vec![of_run], names: BTreeMap::new(), open: BTreeMap::new() }
    }
}

impl Listed {
    /// The calls and tokens of an account.
    pub fn of(&self, account: usize) -> (u32, u64) {
        self.0.get(&account).copied().unwrap_or_default()
    }

    /// Adds a listed call of a task.
    pub fn add(&mut self, ledger: &Ledger, task: Option<&Slug>, tokens: u64) {
        for (account, _) in ledger.chain(task) {
            let (calls, reserved) = self.0.entry(account).or_default();
            (*calls, *reserved) = (calls.saturating_add(1), reserved.saturating_add(tokens));
        }
    }
}

impl Ledger {
    /// Opens an account for a task. `above` is the task that opened it, or whose call its tree is.
    pub fn open(&mut self, task: &Slug, holder: Holder, above: Option<&Slug>) {
        let above = Some(self.number_of(above));
        let number = self.accounts.len();
        self.accounts.push(Account { holder, spent: Spent::default(), no_room: None, too_dear_usd: None, above });
        self.names.insert(task.clone(), number);
    }

    /// Lets a handler use the account of the task whose work it does.
    pub fn share(&mut self, handler: &Slug, task: &Slug) {
        self.names.insert(handler.clone(), self.number_of(Some(task)));
    }

    /// The number of the account that calls of a task are charged to. Calls without a task are charged to the run.
    fn number_of(&self, task: Option<&Slug>) -> usize {
        task.and_then(|task| self.names.get(task)).copied().unwrap_or(0)
    }

    /// The account that calls of a task are charged to, with its number, and all accounts above it, from the inside
    /// out.
    pub fn chain(&self, task: Option<&Slug>) -> impl Iterator<Item = (usize, &Account)> {
        let account = self.number_of(task);
        let numbers = std::iter::successors(Some(account), |at| self.accounts.get(*at)?.above);
        numbers.filter_map(|number| Some((number, self.accounts.get(number)?)))
    }

    /// Notes that a call did not fit what is left of the token limit of an account.
    pub fn note_no_room(&mut self, account: usize, left: u64) {
        if let Some(account) = self.accounts.get_mut(account) {
            account.no_room = Some(left);
        }
    }

    /// Notes that the prompt of a call would have cost more than what is left of the cost limit of an account.
    pub fn note_too_dear(&mut self, account: usize, left_usd: f64) {
        if let Some(account) = self.accounts.get_mut(account) {
            account.too_dear_usd = Some(left_usd);
        }
    }

    /// Whether this is the number of the run's account.
    pub fn is_of_run(&self, account: usize) -> bool {
        self.accounts.get(account).is_some_and(|account| account.holder == Holder::Run)
    }

    /// What the run spent.
    pub fn of_run(&self) -> Spent {
        self.accounts.first().map(|account| account.spent).unwrap_or_default()
    }

    /// What a task and all tasks below it spent since it was listed or opened.
    pub fn of_task(&self, task: &Slug) -> Spent {
        let account = self.names.get(task).and_then(|account| self.accounts.get(*account));
        account.map(|account| account.spent).unwrap_or_default()
    }

    /// Notes that a call started, and reserves tokens for it.
    pub fn started(&mut self, call: &CallKey, tokens: u64) {
        let account = self.number_of(call.task.as_ref());
        self.open.insert(call.clone(), (account, tokens));
        self.each_above(account, |spent| {
            spent.calls = spent.calls.saturating_add(1);
            spent.reserved = spent.reserved.saturating_add(tokens);
            spent.in_flight = spent.in_flight.saturating_add(1);
        });
    }

    /// Releases what a call reserved, because it is no longer in flight.
    pub fn released(&mut self, call: &CallKey) {
        let Some((account, tokens)) = self.open.remove(call) else { return };
        self.each_above(account, |spent| {
            spent.reserved = spent.reserved.saturating_sub(tokens);
            spent.in_flight = spent.in_flight.saturating_sub(1);
        });
    }

    /// Notes that a call was interrupted before it gave a reply. It no longer counts for limits.
    pub fn cut_off(&mut self, call: &CallKey) {
        let Some((account, _)) = self.open.get(call).copied() else { return };
        self.released(call);
        self.each_above(account, |spent| spent.cut_calls = spent.cut_calls.saturating_add(1));
    }

    /// Notes that the process ended and interrupted all calls in flight. Returns their number.
    pub fn cut_off_all(&mut self) -> u32 {
        let open: Vec<CallKey> = self.open.keys().cloned().collect();
        open.iter().for_each(|call| self.cut_off(call));
        u32::try_from(open.len()).unwrap_or(u32::MAX)
    }

    /// Charges a call that gave a reply.
    pub fn charged(&mut self, task: Option<&Slug>, usage: &Usage) {
        self.each_of(task, |spent| {
            spent.input = spent.input.saturating_add(usage.input);
            spent.output = spent.output.saturating_add(usage.output);
            spent.cached = spent.cached.saturating_add(usage.cached);
            let cost = usage.cost_usd.unwrap_or(0.0);
            spent.cost_usd += cost;
            spent.dearest_usd = spent.dearest_usd.max(cost);
            spent.unpriced_calls = spent.unpriced_calls.saturating_add(u32::from(usage.cost_usd.is_none()));
        });
    }

    /// Notes that a call gave no reply.
    pub fn failed(&mut self, task: Option<&Slug>) {
        self.each_of(task, |spent| spent.failed_calls = spent.failed_calls.saturating_add(1));
    }

    /// Takes back the count of a failed call that was never sent (spec "Templates" 9).
    pub fn taken_back(&mut self, task: Option<&Slug>) {
        self.not_sent(task);
        self.each_of(task, |spent| spent.failed_calls = spent.failed_calls.saturating_sub(1));
    }

    /// Takes back the count of a call that was never sent, so that it counts for no limit.
    pub fn not_sent(&mut self, task: Option<&Slug>) {
        self.each_of(task, |spent| spent.calls = spent.calls.saturating_sub(1));
    }

    fn each_of(&mut self, task: Option<&Slug>, change: impl FnMut(&mut Spent)) {
        self.each_above(self.number_of(task), change);
    }

    fn each_above(&mut self, account: usize, mut change: impl FnMut(&mut Spent)) {
        let mut at = Some(account);
        while let Some(account) = at.and_then(|number| self.accounts.get_mut(number)) {
            change(&mut account.spent);
            at = account.above;
        }
    }
}
