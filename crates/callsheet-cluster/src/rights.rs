//! What a client with a token of its own may ask of the cluster. Whoever has the cluster's token may everything.

use callsheet_app::{Client, ClientRight};
use callsheet_runtime::ports::{Asked, InboxMessage, Posted};

use crate::calls::{BLOBS, INDEX, Landing, RUN};
use crate::door::{
    BRING, DONE, FILE, FILES, GIVE, GRANT, GRANTS, LEAVE, LOG, LOOK, PAUSE, REVOKE, SLOT, SPEAK, STORE, TAKE, TEXT,
    TEXTS, WORKERS,
};

/// The right that a call needs. `None` if only the cluster's own parts may make it. What is given to a run is looked at
/// by [`stamped`].
pub(crate) fn needed(path: &str) -> Option<ClientRight> {
    let path = path.trim_start_matches('/');
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(RUN), Some(_), Some("head" | "pages"), None) => Some(ClientRight::Look),
        (Some(RUN), Some(_), Some("land"), None) => Some(ClientRight::Steer),
        (Some(INDEX), Some(_), Some("list"), None) => Some(ClientRight::Look),
        (Some(BLOBS), Some("get"), None, None) => Some(ClientRight::Look),
        (Some(BLOBS), Some("put"), None, None) => Some(ClientRight::Steer),
        _ if path == WORKERS || path == LOOK => Some(ClientRight::Look),
        _ if [GRANT, GRANTS, REVOKE].contains(&path) => Some(ClientRight::Approve),
        _ => None,
    }
}

/// Whether the token of workers lets somebody make a call. The record and the texts of a run are for those that have work
/// of it, which the call itself shows. With `commands`, the token lets them bring what commands wrote, too.
pub(crate) fn of_workers(path: &str, commands: bool) -> bool {
    let path = path.trim_start_matches('/');
    [TAKE, DONE, LEAVE, LOG, TEXT, TEXTS, FILE, FILES, STORE, SPEAK, SLOT, GIVE, PAUSE].contains(&path)
        || commands && path == BRING
}

/// What a client gives to a run, in its name.
///
/// # Errors
/// The client may not give that, in words.
pub(crate) fn stamped(client: &Client, mut landing: Landing) -> Result<Landing, String> {
    if !landing.returned.is_empty() {
        return Err("only a worker gives results of effects".to_owned());
    }
    let right = landing.messages.iter().map(|posted| of_message(&posted.message));
    // The first entries of a run say how it is approved.
    let begins = (!landing.first.is_empty()).then_some(ClientRight::Approve);
    let asked = landing.asked.as_ref().map(|asked| match asked {
        // With other settings it needs more, which the run knows.
        Asked::Reopen { .. } | Asked::Withdraw => ClientRight::Steer,
        Asked::Undo { .. } => ClientRight::Approve,
    });
    let right = right.chain(begins).chain(asked).max().unwrap_or(ClientRight::Look);
    if let Some(words) = client.lacks(right) {
        return Err(words);
    }
    for Posted { order, message } in &mut landing.messages {
        if let Some(order) = order {
            order.by = client.by();
        }
        if let InboxMessage::Answer { by, .. } | InboxMessage::Part { by, .. } = message {
            *by = Some(client.by());
        }
    }
    landing.client = Some(client.clone());
    Ok(landing)
}

fn of_message(message: &InboxMessage) -> ClientRight {
    match message {
        InboxMessage::Cancel | InboxMessage::Retry { .. } | InboxMessage::Drop { .. } => ClientRight::Steer,
        InboxMessage::Answer { .. }
        | InboxMessage::Part { .. }
        | InboxMessage::Reply { .. }
        | InboxMessage::Raise { .. }
        | InboxMessage::Edit { .. } => ClientRight::Approve,
    }
}

#[cfg(test)]
mod tests {
    use callsheet_core::record::{Answer, AnsweredBy};

    use super::*;

    fn client(may: ClientRight) -> Client {
        Client { name: "ana".to_owned(), may }
    }

    fn with(message: InboxMessage) -> Landing {
        Landing { messages: vec![message.into()], ..Landing::default() }
    }

    /// covers: 15.17
    #[test]
    fn calls_of_workers_and_of_the_engine_need_the_token_of_the_cluster() {
        assert_eq!(needed("/CallsheetRun/x/head"), Some(ClientRight::Look));
        assert_eq!(needed("/CallsheetRun/x/land"), Some(ClientRight::Steer));
        for path in ["/grants/add", "/grants/list", "/grants/revoke"] {
            assert_eq!(needed(path), Some(ClientRight::Approve), "{path}");
        }
        for path in [
            "/work/take",
            "/work/done",
            "/CallsheetRun/x/land/send",
            "/invoke/CallsheetRun/land",
            "/",
            "/slots/ask",
            "/texts/collect",
        ] {
            assert_eq!(needed(path), None, "{path}");
        }
        for path in
            ["/CallsheetRun/x/head", "/CallsheetRun/x/land", "/CallsheetBlobs/get", "/workers", "/", "/grants/add"]
        {
            assert!(!of_workers(path, true), "{path}");
        }
        assert!(of_workers("/work/take", false) && of_workers("/slots/ask", false));
        assert!(of_workers("/work/bring", true) && !of_workers("/work/bring", false));
    }

    /// covers: 15.17
    #[test]
    fn an_answer_needs_the_right_to_approve_and_names_who_gave_it() {
        let answer = || {
            let by = Some(AnsweredBy::Terminal);
            with(InboxMessage::Answer { gate: None, answer: Answer::All, named: false, by })
        };
        for may in [ClientRight::Look, ClientRight::Steer] {
            assert!(stamped(&client(may), answer()).unwrap_err().contains("needs the right to approve"));
        }
        let stamped_answer = stamped(&client(ClientRight::Approve), answer()).unwrap();
        let InboxMessage::Answer { by, .. } = &stamped_answer.messages[0].message else { panic!("another message") };
        assert_eq!(*by, Some(AnsweredBy::Api("ana".to_owned())));
        assert!(stamped(&client(ClientRight::Look), with(InboxMessage::Cancel)).is_err());
        assert!(stamped(&client(ClientRight::Steer), with(InboxMessage::Cancel)).is_ok());
        assert!(stamped(&client(ClientRight::Steer), with(InboxMessage::Edit { text: String::new() })).is_err());
    }
}
