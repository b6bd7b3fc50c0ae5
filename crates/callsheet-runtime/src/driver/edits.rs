//! Applies a person's edit of `sheet.md` to a run (spec 2.18), before anything else starts.

use std::collections::BTreeSet;

use callsheet_core::events::{self, Event, LogEntry};
use callsheet_core::nouns::{BlobId, Slug};
use callsheet_core::record::OrderId;

use crate::fault::{DriveFault, InputFault};
use crate::services::Services;
use crate::sheetfile::{Edit, Look, Refused};

use super::session::Session;

/// The result of looking for an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditCheck {
    /// There is nothing to apply.
    Nothing,
    /// There is an edit that somebody may still be writing. Nothing starts before it is read.
    Unsettled,
    /// An edit has changed the run.
    Applied,
}

impl Session {
    /// Looks at the sheet, once per tick.
    pub(super) fn look_at_sheet(&mut self, services: &Services) {
        let (run, views) = self.run_and_views();
        views.sheet.tick(services, run);
    }

    /// Applies a finished edit of the sheet, if there is one.
    pub(super) fn apply_settled_edit(&mut self, services: &Services) -> Result<EditCheck, DriveFault> {
        let (run, views) = self.run_and_views();
        let found = match views.sheet.settled(services, run) {
            Look::Nothing => return self.release_held(services),
            Look::Unsettled => return Ok(EditCheck::Unsettled),
            Look::Edit(found) => found,
        };
        Ok(if self.apply(services, found.bytes, &[])? { EditCheck::Applied } else { EditCheck::Nothing })
    }

    /// Applies a sheet that came with a message. A run that has ended for good takes none.
    pub(super) fn take_edit(
        &mut self,
        services: &Services,
        text: String,
        orders: &[OrderId],
    ) -> Result<(), DriveFault> {
        if !self.run().may_edit() {
            services.notice("ignored an edited sheet, because this run can no longer be edited");
            return Ok(());
        }
        let hash = BlobId::of(text.as_bytes());
        self.apply(services, text.into_bytes(), orders)?;
        if self.run().held_by_edit().is_some() && !self.views.sheet.has_rejected(&hash) {
            self.hold(services, None)?;
        }
        Ok(())
    }

    /// Returns whether it changed the run.
    fn apply(&mut self, services: &Services, bytes: Vec<u8>, orders: &[OrderId]) -> Result<bool, DriveFault> {
        let hash = BlobId::of(&bytes);
        let (run, views) = self.run_and_views();
        match views.sheet.read(services, run, bytes)? {
            Ok(Some(edit)) => self.record_edit(services, None, &edit, orders),
            Ok(None) => {
                self.views.stale.note_sheet();
                Ok(false)
            }
            Err(Refused { lines, touched }) => {
                self.views.sheet.reject(services, hash, &lines);
                Ok(self.run().held_by_edit() != Some(&touched) && self.hold(services, Some(touched))?)
            }
        }
    }

    /// Holds these tasks until the sheet is correct; `None` means that it is. Returns whether that was recorded.
    fn hold(&mut self, services: &Services, tasks: Option<BTreeSet<Slug>>) -> Result<bool, DriveFault> {
        Ok(self.record(services, vec![events::EditHeld { tasks }.into()])? > 0)
    }

    /// Releases the held tasks after an edit with errors was fixed or undone.
    fn release_held(&mut self, services: &Services) -> Result<EditCheck, DriveFault> {
        if self.run().held_by_edit().is_none() || self.views.sheet.stands_rejected(services) {
            return Ok(EditCheck::Nothing);
        }
        Ok(if self.hold(services, None)? { EditCheck::Applied } else { EditCheck::Nothing })
    }

    /// The edit to record right after `event`, or now.
    ///
    /// # Errors
    /// The edited sheet has errors, or `event` does not fit.
    pub(super) fn edit_after(
        &mut self,
        services: &Services,
        event: Option<&Event>,
    ) -> Result<Option<Edit>, DriveFault> {
        let mut run = self.run().clone();
        if let Some(event) = event {
            let entry = LogEntry::new(run.last_fact() + 1, run.now_ms(), event.clone());
            run.apply(&entry).map_err(InputFault::NotResumable)?;
        }
        let Some(found) = self.views.sheet.unread_at_rest(services, &run) else { return Ok(None) };
        let read = self.views.sheet.read(services, &run, found.bytes)?;
        let edit = read.map_err(|refused| InputFault::EditedSheet(refused.lines))?;
        if edit.is_none() {
            self.views.stale.note_sheet();
        }
        Ok(edit)
    }

    /// Records an edit, after `first` if given, and reports its effect. Returns whether it was recorded.
    pub(super) fn record_edit(
        &mut self,
        services: &Services,
        first: Option<Event>,
        edit: &Edit,
        orders: &[OrderId],
    ) -> Result<bool, DriveFault> {
        let before = self.run().clone();
        let events: Vec<Event> = first.into_iter().chain([edit.event.clone()]).collect();
        let wanted = events.len();
        if self.record_for(services, events, orders)? < wanted {
            self.views.sheet.does_not_fit(services, edit.hash.clone());
            return Ok(false);
        }
        self.views.sheet.applied();
        edit.report(services, &before, self.run());
        Ok(true)
    }
}
