//! Callsheet as an agent in an editor, driven by the client of the protocol's own library.
#![cfg(feature = "acp")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ClientCapabilities, ContentBlock, CreateElicitationRequest, CreateElicitationResponse,
    ElicitationAction, ElicitationCapabilities, ElicitationFormCapabilities, FileSystemCapabilities, InitializeRequest,
    ListSessionsRequest, LoadSessionRequest, NewSessionRequest, PlanEntryStatus, PromptRequest, ReadTextFileRequest,
    ReadTextFileResponse, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, ResourceLink,
    SelectedPermissionOutcome, SessionId, SessionNotification, SessionUpdate, StopReason, TextContent, ToolCallContent,
    ToolCallStatus, ToolKind, WriteTextFileRequest, WriteTextFileResponse,
};
use agent_client_protocol::{Agent, Client, Error, Lines, Responder, V1, on_receive_notification, on_receive_request};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};

use super::e2e_acp_live::asking;
use crate::support::garden::TestProject;

/// What the person chooses when they are asked. `None` is no choice, and `wait` is no answer at all.
pub(super) type Choice = Option<&'static str>;

/// What an editor saw.
#[derive(Clone, Default)]
pub(super) struct Seen {
    updates: Arc<Mutex<Vec<SessionUpdate>>>,
    asked: Arc<Mutex<Vec<RequestPermissionRequest>>>,
    /// The texts of open files.
    pub(super) buffers: Arc<Mutex<BTreeMap<PathBuf, String>>>,
    /// The files that the agent has written.
    pub(super) written: Arc<Mutex<Vec<PathBuf>>>,
    /// The forms that were shown.
    pub(super) forms: Arc<Mutex<Vec<CreateElicitationRequest>>>,
    /// Questions that are not answered.
    open: Arc<Mutex<Vec<Responder<RequestPermissionResponse, V1>>>>,
}

impl Seen {
    fn text(&self, part: impl Fn(&SessionUpdate) -> Option<&ContentBlock>) -> String {
        let updates = self.updates.lock().unwrap();
        let text = |block: &ContentBlock| match block {
            ContentBlock::Text(text) => Some(text.text.clone()),
            _ => None,
        };
        updates.iter().filter_map(&part).filter_map(text).collect()
    }

    pub(super) fn answers(&self) -> String {
        self.text(|update| match update {
            SessionUpdate::AgentMessageChunk(chunk) => Some(&chunk.content),
            _ => None,
        })
    }

    pub(super) fn progress(&self) -> String {
        self.text(|update| match update {
            SessionUpdate::AgentThoughtChunk(chunk) => Some(&chunk.content),
            _ => None,
        })
    }

    fn said(&self) -> String {
        self.text(|update| match update {
            SessionUpdate::UserMessageChunk(chunk) => Some(&chunk.content),
            _ => None,
        })
    }

    /// The states of the only task in the plans, each once.
    fn states(&self) -> Vec<(String, PlanEntryStatus)> {
        let updates = self.updates.lock().unwrap();
        let plans = updates.iter().filter_map(|update| match update {
            SessionUpdate::Plan(plan) => Some(&plan.entries),
            _ => None,
        });
        let mut states: Vec<_> = plans.flatten().map(|entry| (entry.content.clone(), entry.status.clone())).collect();
        states.dedup();
        states
    }

    /// The states of an activity.
    fn activity(&self, ending: &str) -> Vec<ToolCallStatus> {
        let updates = self.updates.lock().unwrap();
        let states = updates.iter().filter_map(|update| match update {
            SessionUpdate::ToolCall(call) if call.tool_call_id.0.ends_with(ending) => Some(call.status),
            SessionUpdate::ToolCallUpdate(call) if call.tool_call_id.0.ends_with(ending) => call.fields.status,
            _ => None,
        });
        states.collect()
    }

    /// Answers a question as the person would.
    fn choose(
        &self,
        choice: Choice,
        request: RequestPermissionRequest,
        responder: Responder<RequestPermissionResponse, V1>,
    ) -> Result<(), Error> {
        self.asked.lock().unwrap().push(request);
        let outcome = match choice {
            Some("wait") => {
                self.open.lock().unwrap().push(responder);
                return Ok(());
            }
            Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option)),
            None => RequestPermissionOutcome::Cancelled,
        };
        responder.respond(RequestPermissionResponse::new(outcome))
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(super) fn clear(&self) {
        self.updates.lock().unwrap().clear();
    }

    pub(super) async fn until(&self, is_seen: impl Fn(&Self) -> bool) {
        while !is_seen(self) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// An editor with a session.
pub(super) struct Editor {
    agent: ConnectionTo<Agent>,
    pub(super) seen: Seen,
}

impl Editor {
    pub(super) async fn new_session(&self, garden: &TestProject) -> SessionId {
        self.agent.send_request(NewSessionRequest::new(garden.project())).block_task().await.unwrap().session_id
    }

    async fn load(&self, session: &SessionId, garden: &TestProject) -> Result<(), Error> {
        let request = LoadSessionRequest::new(session.clone(), garden.project());
        self.agent.send_request(request).block_task().await.map(drop)
    }

    async fn send(&self, session: &SessionId, parts: Vec<ContentBlock>) -> Result<StopReason, Error> {
        let request = PromptRequest::new(session.clone(), parts);
        self.agent.send_request(request).block_task().await.map(|response| response.stop_reason)
    }

    pub(super) async fn say(&self, session: &SessionId, text: &str) -> Result<StopReason, Error> {
        self.send(session, vec![words(text)]).await
    }

    /// The same, for prompts that end by themselves.
    pub(super) async fn done(&self, session: &SessionId, text: &str) {
        assert_eq!(self.say(session, text).await.unwrap(), StopReason::EndTurn, "{text}: {}", self.seen.answers());
    }
}

pub(super) fn words(text: &str) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

/// What an editor has and can do.
#[derive(Clone, Copy, Default)]
pub(super) struct Has<'a> {
    /// Open files with their texts.
    pub open: &'a [(&'a str, &'a str)],
    /// It writes files.
    pub writes: bool,
    /// It shows forms. Filling one in gives this; `null` declines.
    pub fills: Option<&'a Value>,
}

/// Starts `callsheet acp` and works with it as an editor that has a file open with changes that are not saved. Ends when
/// the work ends: then the editor leaves.
fn edit<T>(garden: &TestProject, choice: Choice, work: impl AsyncFnOnce(Editor) -> T) -> T {
    let open = &[("water.md", "Nobody looks after the barrels any more.")];
    edit_open(garden, choice, Has { open, ..Has::default() }, work)
}

fn agent_of(garden: &TestProject) -> tokio::process::Child {
    let mut command = garden.command(&["acp"]);
    command.current_dir("/").env("CALLSHEET_MODEL", garden.model());
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    tokio::process::Command::from(command).spawn().unwrap()
}

/// How a person fills a form in.
fn filled(fills: Option<&Value>) -> CreateElicitationResponse {
    match fills.filter(|fills| !fills.is_null()) {
        Some(fills) => serde_json::from_value(json!({ "action": "accept", "content": fills })).unwrap(),
        None => CreateElicitationResponse::new(ElicitationAction::Decline),
    }
}

fn hello(writes: bool, forms: bool) -> InitializeRequest {
    let files = FileSystemCapabilities::new().read_text_file(true).write_text_file(writes);
    let form = ElicitationCapabilities::new().form(ElicitationFormCapabilities::new());
    let can = ClientCapabilities::new().fs(files).elicitation(forms.then_some(form));
    InitializeRequest::new(ProtocolVersion::V1).client_capabilities(can)
}

/// The same as such an editor.
pub(super) fn edit_open<T>(
    garden: &TestProject,
    choice: Choice,
    Has { open, writes, fills }: Has<'_>,
    work: impl AsyncFnOnce(Editor) -> T,
) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut child = agent_of(garden);
        let incoming = FramedRead::new(child.stdout.take().unwrap(), LinesCodec::new());
        let outgoing = FramedWrite::new(child.stdin.take().unwrap(), LinesCodec::new());
        let outgoing = SinkExt::<String>::sink_map_err(outgoing, std::io::Error::other);
        let transport = Lines::new(outgoing, incoming.map(|line| line.map_err(std::io::Error::other)));
        let seen = Seen::default();
        let folder = garden.project().canonicalize().unwrap();
        let buffers = open.iter().map(|(path, text)| (folder.join(path), (*text).to_owned()));
        seen.buffers.lock().unwrap().extend(buffers);
        let [told, asked, read, written, shown] = std::array::from_fn(|_| seen.clone());
        let filled = filled(fills);
        let connected = Client
            .v1()
            .on_receive_notification(
                async move |note: SessionNotification, _: ConnectionTo<Agent>| {
                    told.updates.lock().unwrap().push(note.update);
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _: ConnectionTo<Agent>| {
                    asked.choose(choice, request, responder)
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ReadTextFileRequest, responder, _: ConnectionTo<Agent>| {
                    let text = read.buffers.lock().unwrap().get(&request.path).cloned();
                    responder.respond_with_result(text.map(ReadTextFileResponse::new).ok_or_else(Error::invalid_params))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: WriteTextFileRequest, responder, _: ConnectionTo<Agent>| {
                    written.written.lock().unwrap().push(request.path.clone());
                    written.buffers.lock().unwrap().insert(request.path, request.content);
                    responder.respond(WriteTextFileResponse::new())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: CreateElicitationRequest, responder, _: ConnectionTo<Agent>| {
                    shown.forms.lock().unwrap().push(request);
                    responder.respond(filled.clone())
                },
                on_receive_request!(),
            )
            .connect_with(transport, async |agent: ConnectionTo<Agent>| {
                let info = agent.send_request(hello(writes, fills.is_some())).block_task().await?;
                assert!(info.agent_capabilities.load_session);
                Ok(work(Editor { agent, seen }).await)
            })
            .await;
        let worked = connected.unwrap();
        let ended = child.wait().await.unwrap();
        assert!(ended.success(), "the agent ends with its editor: {ended}");
        worked
    })
}

const READ: &str = "Who looks after the water?";
const WRITE: &str = "Bring the notes on water up to date.";

/// covers: 13.8
#[test]
fn a_prompt_is_planned_and_answered_and_the_next_one_follows_up() {
    let garden = TestProject::with("follow_up");
    edit(&garden, None, async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, READ).await;
        assert_eq!(editor.seen.answers().trim(), "Ana looks after the barrels.");
        let states = editor.seen.states();
        assert_eq!(states.last(), Some(&("Read Water 1".to_owned(), PlanEntryStatus::Completed)), "{states:?}");
        let activity = editor.seen.activity("/read-water-1");
        assert_eq!(activity.last(), Some(&ToolCallStatus::Completed), "{activity:?}");
        assert!(editor.seen.progress().contains("scripted"), "the model is told: {}", editor.seen.progress());
        editor.seen.clear();
        editor.done(&session, "# The pump\nWhat does it need?").await;
        assert_eq!(editor.seen.answers().trim(), "The pump needs a seal.");
        let listed = editor.agent.send_request(ListSessionsRequest::new().cwd(garden.project())).block_task().await;
        let listed: Vec<_> = listed.unwrap().sessions.into_iter().map(|one| (one.session_id, one.title)).collect();
        assert_eq!(listed, [(session, Some(READ.to_owned()))], "one run");
    });
    assert_eq!(garden.count("run_continued"), 1);
}

/// covers: 13.8, 11.3, 11.4
#[test]
fn a_change_is_shown_as_a_diff_and_made_once_it_is_approved() {
    let garden = TestProject::with("writer");
    let before = garden.read("water.md");
    edit(&garden, Some("approve"), async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, WRITE).await;
        let asked = editor.seen.asked.lock().unwrap();
        let diffs = asked.iter().flat_map(|request| request.tool_call.fields.content.iter().flatten());
        let diffs: Vec<_> = diffs
            .filter_map(|content| match content {
                ToolCallContent::Diff(diff) => Some(diff.clone()),
                _ => None,
            })
            .collect();
        let of = |name: &str| diffs.iter().find(|diff| diff.path.ends_with(name)).unwrap();
        assert_eq!(of("water.md").old_text.as_deref(), Some(before.as_str()));
        assert_eq!(of("water.md").new_text, garden.read("water.md"));
        assert!(of("water.md").path.is_absolute());
        assert_eq!((of("notes/rota.md").old_text.as_deref(), of("minutes.md").new_text.as_str()), (None, ""));
        assert!(asked.last().unwrap().tool_call.fields.title.as_deref().unwrap().contains("delete minutes.md"));
        let gate = editor.seen.activity("/gate-1");
        assert_eq!(gate, [ToolCallStatus::Pending, ToolCallStatus::Completed]);
        let states: Vec<_> = editor.seen.states().into_iter().map(|(_, status)| status).collect();
        let expected = [PlanEntryStatus::Pending, PlanEntryStatus::InProgress, PlanEntryStatus::Completed];
        assert_eq!(states, expected, "while the person is asked about the plan and about the changes, and at the end");
    });
    assert!(garden.read("water.md").contains("is mended") && !garden.path("minutes.md").exists());
    let by: Vec<Value> =
        garden.facts().iter().filter(|fact| fact["event"] == "gate_answered").map(|fact| fact["by"].clone()).collect();
    assert!(!by.is_empty() && by.iter().all(|by| by == "editor"), "{by:?}");
}

/// covers: 13.8
#[test]
fn a_denied_change_is_not_made_and_the_plan_says_so() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    edit(&garden, Some("deny"), async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, WRITE).await;
        let states = editor.seen.states();
        assert_eq!(states.last(), Some(&("Write Water 1 (denied)".to_owned(), PlanEntryStatus::Pending)));
        assert!(editor.seen.answers().contains("denied"), "{}", editor.seen.answers());
        let gate = editor.seen.activity("/gate-1");
        assert_eq!(gate.last(), Some(&ToolCallStatus::Failed), "{gate:?}");
    });
    assert_eq!(garden.files(), before);
}

/// covers: 13.8, 11.4
#[test]
fn a_command_is_shown_whole_and_made_once_it_is_approved() {
    let plan = "[[rule]]\nphase = 'plan'\ntext = '''\n## Goals / summary\nMake a file.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Make\n- **What is needed** A file.\n- **Skill** run_checks\n- **Expected output** A file.\n'''\n";
    let script = std::fs::read_to_string(crate::support::root().join("tests/fixtures/e2e/command.toml")).unwrap();
    let garden = TestProject::scripted(&format!("{plan}{script}"));
    edit(&garden, Some("approve"), async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, "Make a file.").await;
        let asked = editor.seen.asked.lock().unwrap();
        let call = asked.iter().find(|request| request.tool_call.fields.kind == Some(ToolKind::Execute)).unwrap();
        assert!(
            format!("{:?}", call.tool_call.fields.content).contains(r#"[\"touch\",\"made-by-command\"]"#),
            "{call:?}"
        );
        assert_eq!(call.options.len(), 2, "approve and deny, and nothing that lasts: {call:?}");
    });
    assert!(garden.path("made-by-command").exists());
}

/// The plan is edited while the person is asked about it. The question is withdrawn, and an answer to it is not read.
/// covers: 13.8, 2.18
#[test]
fn an_answer_counts_only_for_what_was_shown() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    edit(&garden, Some("wait"), async |editor| {
        let session = editor.new_session(&garden).await;
        let change = async {
            editor.seen.until(|seen| seen.asked() == 1).await;
            let sheet = garden.run_folder().join("sheet.md");
            let text = std::fs::read_to_string(&sheet).unwrap();
            std::fs::write(&sheet, text.replace("add rota.md", "add another.md")).unwrap();
            editor.seen.until(|seen| seen.asked() == 2).await;
            let mut open = std::mem::take(&mut *editor.seen.open.lock().unwrap());
            let [approve, deny] = ["approve", "deny"].map(|option| {
                let selected = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option));
                RequestPermissionResponse::new(selected)
            });
            // The library may have answered the withdrawn one.
            let _late = open.remove(0).respond(approve);
            open.remove(0).respond(deny).unwrap();
        };
        let (ended, ()) = tokio::join!(editor.say(&session, WRITE), change);
        assert_eq!(ended.unwrap(), StopReason::EndTurn);
        let asked = format!("{:?}", editor.seen.asked.lock().unwrap()[1].tool_call.fields.content);
        assert!(asked.contains("add another.md"), "{asked}");
    });
    assert_eq!(garden.files(), before);
    assert_eq!(garden.count("gate_answered"), 1, "the denial");
}

/// No answer, and an answer that was not offered, approve nothing. The run waits, also without the editor.
/// covers: 13.8, 11.17
#[test]
fn a_question_without_an_answer_changes_nothing() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    for choice in [None, Some("allow_always")] {
        edit(&garden, choice, async |editor| {
            let session = editor.new_session(&garden).await;
            editor.done(&session, WRITE).await;
            assert!(editor.seen.answers().contains("still waits for your approval"), "{}", editor.seen.answers());
            assert_eq!(editor.seen.asked(), 1);
            editor.done(&session, "/resume").await;
            assert_eq!(editor.seen.asked(), 2, "the next turn asks again");
        });
        assert_eq!(garden.files(), before);
    }
    assert_eq!(garden.count("gate_answered"), 0);
}

/// The editor is killed while the person is asked. Nothing is approved, and a new process shows the session and goes on.
/// covers: 13.8, 11.17
#[test]
fn a_lost_session_is_loaded_and_goes_on() {
    let garden = TestProject::with("writer");
    let before = garden.files();
    let session = edit(&garden, Some("wait"), async |editor| {
        let session = editor.new_session(&garden).await;
        let turn = editor.say(&session, WRITE);
        tokio::select! {
            ended = turn => panic!("{ended:?}"),
            () = editor.seen.until(|seen| seen.asked() == 1) => {}
        }
        session
    });
    let run = || garden.expect(0, &["--json", "runs"]).out;
    while !run().contains("approval_required") {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(garden.files(), before);
    edit(&garden, Some("approve"), async |editor| {
        editor.load(&session, &garden).await.unwrap();
        assert_eq!(editor.seen.said(), WRITE);
        assert!(editor.seen.answers().contains("waits for your approval"), "{}", editor.seen.answers());
        assert_eq!(editor.seen.states().first().unwrap().0, "Write Water 1");
        editor.done(&session, "Go on.").await;
        assert!(editor.seen.answers().contains("your message was not used"), "{}", editor.seen.answers());
        assert!(editor.seen.answers().contains("up to date"), "{}", editor.seen.answers());
    });
    assert!(garden.read("water.md").contains("is mended"));
    edit(&garden, None, async |editor| {
        editor.load(&session, &garden).await.unwrap();
        assert!(editor.seen.answers().contains("up to date"), "the history has the answer");
        assert_eq!(editor.seen.states(), [("Write Water 1".to_owned(), PlanEntryStatus::Completed)]);
    });
}

/// covers: 13.8, 2.16
#[test]
fn a_stopped_turn_ends_the_run_which_can_be_resumed() {
    let folder = crate::support::root().join("tests/fixtures/e2e");
    let script = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut garden = TestProject::scripted(&script("slow.toml"));
    edit(&garden, None, async |editor| {
        let session = editor.new_session(&garden).await;
        for begins in ["", "-editor-"] {
            let stop = async {
                editor.seen.until(|seen| seen.progress().contains(begins)).await;
                editor.agent.send_notification(CancelNotification::new(session.clone())).unwrap();
            };
            let (ended, ()) = tokio::join!(editor.say(&session, READ), stop);
            assert_eq!(ended.unwrap(), StopReason::Cancelled, "at once, and while the run is planned");
        }
    });
    let listed = garden.expect(0, &["--json", "runs"]).out;
    let runs = crate::support::garden::json_lines(&listed);
    assert!(runs[0]["outcome"] == "cancelled" && runs[0]["owner"].is_null(), "{listed}");
    garden.follow_text(&script("answer.toml"));
    edit(&garden, None, async |editor| {
        let session = SessionId::new(runs[0]["run"].as_str().unwrap());
        editor.load(&session, &garden).await.unwrap();
        assert!(editor.seen.answers().contains("ended: cancelled"), "{}", editor.seen.answers());
        editor.seen.clear();
        editor.done(&session, "/resume").await;
        assert_eq!(editor.seen.answers().trim(), "Ana looks after the barrels.");
    });
}

/// covers: 13.8, 10.8
#[test]
fn the_next_prompt_answers_a_question() {
    let garden = asking();
    edit(&garden, None, async |editor| {
        let session = editor.new_session(&garden).await;
        editor.done(&session, "Water the bed.").await;
        let answers = editor.seen.answers();
        assert!(answers.contains("Which") && answers.contains("Your next message is the answer"), "{answers}");
        assert!(!answers.contains("<b>"), "a model's words are no HTML: {answers}");
        assert_eq!(editor.seen.states().last(), Some(&("Ask".to_owned(), PlanEntryStatus::InProgress)));
        editor.done(&session, "the fourth").await;
        assert!(editor.seen.answers().ends_with("Bed 4 it is.\n\n"), "{}", editor.seen.answers());
    });
    let answered = garden.facts().into_iter().find(|fact| fact["event"] == "question_answered").unwrap();
    assert!(answered.to_string().contains("the fourth") || garden.count("question_answered") == 1);
}

/// covers: 13.8
#[test]
fn unsaved_text_of_a_named_file_is_part_of_the_request() {
    let garden = TestProject::with("answer");
    edit(&garden, None, async |editor| {
        let session = editor.new_session(&garden).await;
        let link = |name: &str| {
            let path = garden.path(name).display().to_string();
            ContentBlock::ResourceLink(ResourceLink::new(name, format!("file://{path}")))
        };
        let parts = vec![words("Who waters? See "), link("water.md"), words(" and "), link("minutes.md")];
        assert_eq!(editor.send(&session, parts).await.unwrap(), StopReason::EndTurn);
    });
    let request = garden.facts()[0]["entry"].to_string();
    assert!(request.contains("See water.md and minutes.md"), "{request}");
    assert!(request.contains("water.md, as it is in the person's editor"), "{request}");
    assert!(request.contains("Nobody looks after the barrels any more."), "{request}");
    assert_eq!(request.matches("as it is in the person's editor").count(), 1, "{request}");
}

/// covers: 13.8
#[test]
fn a_template_is_a_command() {
    let garden = TestProject::bare();
    garden.write(
        ".callsheet/templates/greet.xml",
        "<task name=\"greet\"><description>Greet</description><inputs><input name=\"who\" type=\"string\"/></inputs><instructions>Greet {{who}}.</instructions></task>",
    );
    let mut garden = garden;
    garden.follow_text(
        "[[rule]]\nphase = 'plan'\ntext = '''\n## Goals / summary\nSay it.\n\n**plan complete**\n## Tasks\n### Task section 1\n- **Name** Say\n- **What is needed** Who was greeted.\n- **Expected output** A name.\n'''\n[[rule]]\nprompt = 'Who was greeted.'\ntext = '''\n## Result summary\nIt was Ana.\n'''\n[[rule]]\ntext = '''\nHello Ana\n'''\n",
    );
    edit(&garden, None, async |editor| {
        let session = editor.new_session(&garden).await;
        editor.seen.until(|seen| !seen.updates.lock().unwrap().is_empty()).await;
        let offered = format!("{:?}", editor.seen.updates.lock().unwrap());
        assert!(offered.contains("\"greet\"") && offered.contains("\"resume\""), "{offered}");
        editor.done(&session, "/greet who=Ana").await;
        assert!(editor.seen.answers().contains("Hello Ana"), "{}", editor.seen.answers());
        editor.seen.clear();
        let refused = editor.say(&session, "/greet who=@/etc/hostname").await.unwrap_err();
        assert!(refused.message.contains("attach the file"), "{refused:?}");
        editor.done(&session, "/greet who=Cem").await;
        assert!(editor.seen.answers().contains("Hello Ana"), "{}", editor.seen.answers());
        editor.done(&session, "Who was it?").await;
        assert!(editor.seen.answers().contains("It was Ana."), "{}", editor.seen.answers());
    });
    let runs = crate::support::garden::json_lines(&garden.expect(0, &["--json", "runs"]).out);
    let names: Vec<_> = runs.iter().map(|run| run["run"].as_str().unwrap()).collect();
    let first = names[2];
    assert_eq!(names, [format!("{first}-3"), format!("{first}-2"), first.to_owned()], "runs of the session");
}

/// covers: 13.8
#[test]
fn what_cannot_be_done_is_refused_with_words() {
    let mut garden = TestProject::bare();
    garden.expect(2, &["run", "--name", "../x", READ]);
    edit(&garden, None, async |editor| {
        let at = |path: &str| editor.agent.send_request(NewSessionRequest::new(PathBuf::from(path))).block_task();
        assert!(at("garden").await.unwrap_err().message.contains("not an absolute path"));
        assert!(at("/no/such/folder").await.unwrap_err().message.contains("/no/such/folder"));
        let unknown = SessionId::new("../../etc");
        assert!(editor.load(&unknown, &garden).await.unwrap_err().message.contains("there is no session"));
        assert!(editor.say(&unknown, READ).await.unwrap_err().message.contains("there is no open session"));
        let session = editor.new_session(&garden).await;
        assert!(editor.say(&session, " ").await.unwrap_err().message.contains("empty"));
        assert!(editor.say(&session, "/resume").await.unwrap_err().message.contains("there is no run yet"));
        let error = editor.say(&session, READ).await.unwrap_err();
        assert!(error.message.contains("model"), "without a model: {error:?}");
        editor.agent.send_notification(CancelNotification::new(unknown)).unwrap();
    });
    garden.follow("slow");
    edit(&garden, None, async |editor| {
        let session = editor.new_session(&garden).await;
        let both = async {
            let second = editor.say(&session, READ).await.unwrap_err();
            editor.agent.send_notification(CancelNotification::new(session.clone())).unwrap();
            second
        };
        let (first, second) = tokio::join!(editor.say(&session, READ), both);
        assert!(second.message.contains("busy"), "{second:?}");
        assert_eq!(first.unwrap(), StopReason::Cancelled);
    });
}
