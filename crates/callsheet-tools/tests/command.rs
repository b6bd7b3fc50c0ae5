//! Tests what only real processes show: groups, signals, cancellation, the environment, the sandbox.
//!
//! covers: templates 8
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read fixtures and say what they skip")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callsheet_runtime::paths::Workspace;
use callsheet_runtime::ports::{NoDocuments, Tool, ToolContext, ToolFault, ToolOutcome};
use callsheet_tools::run_command::RunCommand;
use callsheet_tools::script::Script;
use callsheet_tools::{Enforcement, holding};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

fn context(project: &TempDir) -> ToolContext {
    ToolContext {
        workspace: Arc::new(Workspace::new(project.path(), &[] as &[PathBuf]).unwrap()),
        skill_dir: None,
        fetch: None,
        documents: Arc::new(NoDocuments),
        max_output_bytes: 10_000,
        timeout: Duration::from_secs(60),
        cancel: CancellationToken::new(),
    }
}

async fn shell(line: &str, context: &ToolContext) -> Result<ToolOutcome, ToolFault> {
    RunCommand::new().run(&json!({"command": line}), context).await
}

async fn output(line: &str, context: &ToolContext) -> String {
    match shell(line, context).await {
        Ok(ToolOutcome::Output(text) | ToolOutcome::Failed(text)) => text,
        Err(ToolFault::Told { model, .. }) => model,
        other => panic!("{other:?}"),
    }
}

/// Waits for a file that a command writes, not for a fixed time.
async fn written(path: PathBuf) -> String {
    loop {
        if let Ok(text) = std::fs::read_to_string(&path)
            && text.ends_with('\n')
        {
            return text.trim().to_owned();
        }
        tokio::task::yield_now().await;
    }
}

/// Waits until a process has gone or is a zombie.
async fn gone(pid: &str) {
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    let zombie = || {
        std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).is_ok_and(|stat| stat.contains(") Z "))
    };
    while test_kill_process(pid).is_ok() && !zombie() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn cancelling_kills_the_whole_group() {
    let project = TempDir::new().unwrap();
    let context = context(&project);
    let cancel = context.cancel.clone();
    let line = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > child; exec sleep 600' & sleep 600";
    let child = written(project.path().join("child"));
    let (ended, child) = tokio::join!(shell(line, &context), async {
        let child = child.await;
        cancel.cancel();
        child
    });
    assert!(matches!(ended, Err(ToolFault::Cancelled)));
    gone(&child).await;
}

#[tokio::test]
async fn dropping_the_call_kills_the_whole_group() {
    let project = TempDir::new().unwrap();
    let context = context(&project);
    let line = "sh -c 'echo $$ > child; exec sleep 600' & sleep 600";
    let child = tokio::select! {
        _ = shell(line, &context) => panic!("it ended by itself"),
        child = written(project.path().join("child")) => child,
    };
    gone(&child).await;
}

/// A process that exits at once, after a second signal, leaves nothing behind.
#[tokio::test]
async fn killing_all_kills_what_commands_started() {
    let project = TempDir::new().unwrap();
    let context = context(&project);
    let line = "sh -c 'echo $$ > child; exec sleep 600' & sleep 600";
    let child = written(project.path().join("child"));
    let (ended, child) = tokio::join!(shell(line, &context), async {
        let child = child.await;
        callsheet_tools::run_command::kill_all();
        child
    });
    assert!(ended.is_ok(), "the call tells how it ended");
    gone(&child).await;
}

#[tokio::test]
async fn a_group_that_ignores_term_is_killed() {
    let project = TempDir::new().unwrap();
    let context = ToolContext { timeout: Duration::from_millis(200), ..context(&project) };
    let line = "trap '' TERM; echo $$ > child; while :; do sleep 1; done";
    let text = output(line, &context).await;
    assert!(text.contains("out of time (exit code 124)"), "{text}");
    gone(&written(project.path().join("child")).await).await;
}

#[tokio::test]
async fn a_program_may_tidy_up_when_its_time_is_over() {
    let project = TempDir::new().unwrap();
    let context = ToolContext { timeout: Duration::from_millis(500), ..context(&project) };
    let text = output("trap 'echo tidied; exit 0' TERM; while :; do sleep 0.1; done", &context).await;
    assert!(text.contains("tidied"), "{text}");
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_call() {
    let project = TempDir::new().unwrap();
    let text = output("sleep 600 > /dev/null 2>&1 & echo $! > child", &context(&project)).await;
    assert!(text.starts_with("exit code 0"), "{text}");
    gone(&written(project.path().join("child")).await).await;
}

#[tokio::test]
async fn secrets_of_the_environment_are_not_passed_on() {
    // The variables that cargo and the test runner set are enough to show whether others arrive.
    let project = TempDir::new().unwrap();
    let text = output("env", &context(&project)).await;
    assert!(text.contains("\nPATH="), "{text}");
    assert!(text.contains("\nNO_COLOR=1"), "{text}");
    for line in text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.to_uppercase()) {
        assert!(!["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|word| line.contains(word)), "{line}");
    }
}

#[tokio::test]
async fn a_flood_is_drained_counted_and_bounded() {
    let project = TempDir::new().unwrap();
    let text = output("head -c 30000000 /dev/zero | tr '\\0' x; echo the end >&2", &context(&project)).await;
    assert!(text.len() < 11_000, "{} bytes", text.len());
    assert!(text.contains("[29990000 bytes left out]"));
    assert!(text.ends_with("--- stderr\nthe end"), "both streams are read at once");
}

/// A script with `effects="read"` changes nothing but its own temporary folder and connects to nothing.
/// covers: templates 2.2
#[tokio::test]
async fn a_script_that_only_reads_is_held_to_it() {
    let Some(script) = Script::reading() else {
        assert_ne!(holding().writes, Enforcement::Full, "this system can hold it");
        println!("skipped: this system cannot hold a script to reading");
        return;
    };
    let project = TempDir::new().unwrap();
    std::fs::write(project.path().join("kept.txt"), "as it was").unwrap();
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")), "there is something to hand on");
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let line = format!(
        "cat kept.txt; echo in > in.txt; echo more >> kept.txt; rm kept.txt; mv kept.txt moved.txt; truncate -s 0 kept.txt; \
         mkdir made; ln -s kept.txt link; echo tmp > /tmp/callsheet-test-$$; \
         t=\"$(mktemp)\" && echo own > \"$t\" && cat \"$t\"; echo null > /dev/null && echo nothing; \
         bash -c 'echo > /dev/tcp/127.0.0.1/{}' && echo connected; bash -c 'echo > /dev/udp/127.0.0.1/9' && echo sent; \
         python3 -c 'import socket; socket.socket(socket.AF_UNIX)' && echo unix; echo \"${{HOME-no home}}\"; env | grep CARGO",
        server.local_addr().unwrap().port()
    );
    let request = json!({"argv": ["sh", "-c", line], "inherit": "all"});
    let ToolOutcome::Output(report) = script.run(&request, &context(&project)).await.unwrap() else {
        panic!("it was not started")
    };
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["stdout"], "as it wasown\nnothing\nno home\n", "{report}");
    let left: Vec<_> = std::fs::read_dir(project.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["kept.txt"]);
    assert_eq!(std::fs::read_to_string(project.path().join("kept.txt")).unwrap(), "as it was");
}

/// What Landlock does not prevent is refused too: changes to modes, times and attributes of any file of the user.
/// covers: templates 2.2
#[tokio::test]
async fn a_script_that_only_reads_changes_no_mode_and_no_time() {
    use std::os::unix::fs::MetadataExt;
    let Some(script) = Script::reading() else { return };
    let project = TempDir::new().unwrap();
    let kept = project.path().join("kept.txt");
    std::fs::write(&kept, "as it was").unwrap();
    let before = kept.metadata().unwrap();
    let line = "chmod 777 kept.txt; chmod 000 .; touch -d @1 kept.txt; chown $(id -u) kept.txt; mkfifo pipe; \
                python3 -c 'import os; os.setxattr(\"kept.txt\", \"user.a\", b\"b\")'; echo over";
    let request = json!({"argv": ["sh", "-c", line], "inherit": "safe"});
    let report = match script.run(&request, &context(&project)).await.unwrap() {
        ToolOutcome::Output(report) => report,
        other => panic!("it was not started: {other:?}"),
    };
    assert!(report.contains("over"), "{report}");
    let after = kept.metadata().unwrap();
    let seen = |of: &std::fs::Metadata| (of.mode(), of.uid(), of.mtime(), of.ctime(), of.ctime_nsec());
    assert_eq!(seen(&after), seen(&before), "{report}");
}

/// No command takes away from this program what it needs to put things back.
/// covers: 11.10
#[tokio::test]
async fn no_command_sets_the_limits_of_another_process() {
    let project = TempDir::new().unwrap();
    let line = "prlimit --pid $PPID --nofile=3:3 && echo lowered; prlimit --pid $PPID --fsize=0:0 && echo lowered; \
                ulimit -n 64 && ulimit -n; true";
    let text = output(line, &context(&project)).await;
    if cfg!(all(target_os = "linux", target_pointer_width = "64")) {
        assert!(!text.contains("lowered") && text.contains("64"), "{text}");
    }
}

/// Runs each line of Python separately, and returns those that did not fail.
async fn worked(lines: &[&str], context: &ToolContext) -> String {
    let each = "import ctypes, os, socket, struct, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n\
                def call(*of):\n    if libc.syscall(*of) < 0:\n        raise OSError(ctypes.get_errno(), 'refused')\n\
                for line in sys.argv[1:]:\n    try:\n        exec(line)\n        print('worked:', line)\n    except OSError:\n        pass\n";
    let argv: Vec<&str> = ["python3", "-c", each].iter().chain(lines).copied().collect();
    match RunCommand::new().run(&json!({ "command": argv }), context).await {
        Ok(ToolOutcome::Output(text)) if text.contains("exit code 0") => text,
        other => panic!("{other:?}"),
    }
}

/// No call that sets a mode creates a set-user-ID or set-group-ID program.
/// covers: 11.10
#[tokio::test]
async fn no_call_that_takes_a_mode_sets_the_user_or_the_group() {
    if !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
        return;
    }
    use std::os::unix::fs::MetadataExt;
    let project = TempDir::new().unwrap();
    let lines = [
        "os.mknod('a', 0o102644)",
        "os.mknod('b', 0o104755)",
        "call(133, b'c', 0o102644, 0)",
        "os.open('.', os.O_TMPFILE | os.O_RDWR, 0o2644)",
        "call(2, b'e', os.O_CREAT | os.O_WRONLY, 0o4755)",
        "call(2, b'.', os.O_TMPFILE | os.O_RDWR, 0o4755)",
        "call(85, b'g', 0o4755)",
        "open('h', 'w'); os.chmod('h', 0o2755)",
        "os.mknod('plain', 0o100644); os.open('.', os.O_TMPFILE | os.O_RDWR, 0o644)",
    ];
    let text = worked(&lines, &context(&project)).await;
    let refused = &lines[..lines.len() - 1];
    assert!(text.contains("plain") && !refused.iter().any(|line| text.contains(line)), "{text}");
    for entry in std::fs::read_dir(project.path()).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().mode() & 0o6000, 0, "{:?}: {text}", entry.file_name());
    }
}

/// No command slows down the process that measures how much it uses.
/// covers: 11.10
#[tokio::test]
async fn no_command_schedules_another_process() {
    if !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
        return;
    }
    let project = TempDir::new().unwrap();
    let others = [
        "os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))",
        "os.sched_setparam(os.getppid(), os.sched_param(0))",
        "os.sched_setaffinity(os.getppid(), {0})",
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 5)",
        "os.setpriority(os.PRIO_USER, 0, 5)",
        "call(314, os.getppid(), struct.pack('IIQiIQQQ', 48, 5, 0, 0, 0, 0, 0, 0), 0)",
        "call(251, 1, os.getppid(), 3 << 13)",
        "call(251, 3, 0, 3 << 13)",
    ];
    let own = [
        "os.sched_setaffinity(0, {0})",
        "os.nice(1)",
        "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))",
        "call(251, 1, 0, 3 << 13)",
    ];
    let text = worked(&[&others[..], &own].concat(), &context(&project)).await;
    assert!(!others.iter().any(|line| text.contains(line)), "{text}");
    let numbered = |line: &&&str| cfg!(target_arch = "x86_64") || !line.starts_with("call(");
    assert!(own.iter().filter(numbered).all(|line| text.contains(line)), "{text}");
}

/// A script that only reads sends nothing to the user's other programs, even without namespaces.
/// covers: templates 2.2
#[tokio::test]
async fn a_script_that_only_reads_reaches_no_memory_and_no_messages_of_others() {
    let Some(script) = Script::reading() else { return };
    let project = TempDir::new().unwrap();
    let code = "import ctypes, socket\nlibc = ctypes.CDLL(None)\nfor name, made in {\n\
                'shared memory': lambda: libc.shmget(0, 4096, 0o1600), 'queue': lambda: libc.msgget(0, 0o1600),\n\
                'semaphore': lambda: libc.semget(0, 1, 0o1600), 'mq': lambda: libc.mq_open(b'/callsheet-test', 0o102, 0o600, None),\n\
                'datagrams': lambda: socket.socketpair(type=socket.SOCK_DGRAM) and 0,\n\
                'stream': lambda: socket.socketpair() and 0}.items():\n\
                \x20   try:\n        made() < 0 or print('made', name)\n    except OSError:\n        pass\n";
    let request = json!({"argv": ["python3", "-c", code], "inherit": "safe"});
    let ToolOutcome::Output(report) = script.run(&request, &context(&project)).await.unwrap() else {
        panic!("it was not started")
    };
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["stdout"], "made stream\n", "{report}");
}

/// A folder outside the temporary one, which commands may write to; a checkout can be in there.
fn folder_of_no_command() -> PathBuf {
    let temporary = std::env::temp_dir().canonicalize().unwrap();
    let mut folders = [Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))), std::env::home_dir()].into_iter().flatten();
    let apart = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| !folder.starts_with(&temporary));
    folders.find(apart).expect("the target folder or the home stands outside of the temporary folder")
}

#[tokio::test]
async fn the_sandbox_refuses_writes_outside_and_the_status_says_so() {
    let outside = TempDir::new_in(folder_of_no_command()).unwrap();
    let project = TempDir::new_in(outside.path()).unwrap();
    let other = outside.path().join("other.txt");
    std::fs::write(&other, "before").unwrap();
    let line = format!(
        "echo in > in.txt && echo null > /dev/null && echo tmp > \"$(mktemp)\" && echo allowed; echo out > '{0}'; \
         mv in.txt '{1}'; rm '{0}'; kill -0 {2} && echo signalled",
        other.display(),
        outside.path().join("moved.txt").display(),
        std::process::id()
    );
    let text = output(&line, &context(&project)).await;
    assert!(text.contains("allowed"), "{text}");
    let lines = holding().lines();
    println!("{lines:?}");
    let network = lines.iter().find(|line| line.about == "network").unwrap();
    assert!(!network.held && network.text.contains("can use the network"), "what is open is said too: {lines:?}");
    match holding().writes {
        Enforcement::Full => {
            assert_eq!(std::fs::read_to_string(&other).unwrap(), "before", "{text}");
            assert!(project.path().join("in.txt").exists(), "it was moved out: {text}");
            assert!(!text.contains("signalled"), "{text}");
        }
        Enforcement::Partial => assert_eq!(std::fs::read_to_string(&other).unwrap(), "before", "{text}"),
        Enforcement::None => assert!(!other.exists(), "the status must not understate either: {text}"),
    }
    std::fs::write(outside.path().join("ours.txt"), "this process is not restricted").unwrap();
}

/// covers: 11.10
#[tokio::test]
async fn a_command_that_changes_what_is_protected_has_failed() {
    let project = TempDir::new().unwrap();
    std::fs::create_dir_all(project.path().join(".git/hooks")).unwrap();
    let outcome = shell("echo evil > .git/hooks/pre-push; echo said; echo x > free", &context(&project)).await;
    let Err(ToolFault::Told { person, model: text }) = outcome else { panic!("{outcome:?}") };
    assert!(person.contains("changed .git/hooks/pre-push") && !person.contains("said"), "{person}");
    assert!(
        text.contains("changed .git/hooks/pre-push, which no command may write") && text.contains("said"),
        "{text}"
    );
    assert!(!project.path().join(".git/hooks/pre-push").exists() && project.path().join("free").exists());
}

/// covers: 11.10
#[tokio::test]
async fn a_project_with_the_folders_of_the_user_gets_no_commands() {
    let project = TempDir::new().unwrap();
    let workspace = Workspace::new(project.path(), &[]).unwrap();
    let inside = Arc::new(workspace.clone().keeping(&project.path().join("state/not/there/yet")));
    let context = ToolContext { workspace: inside, ..context(&project) };
    let text = output("touch made", &context).await;
    assert!(text.contains("no command runs here"), "{text}");
    // The same applies to a project inside one of them.
    let around = Arc::new(workspace.clone().keeping(project.path().parent().unwrap()));
    let context = ToolContext { workspace: around, ..context };
    assert!(output("touch made", &context).await.contains("no command runs here"));
    // Elsewhere they get their own temporary folder.
    let beside = TempDir::new().unwrap();
    let context = ToolContext { workspace: Arc::new(workspace.keeping(beside.path())), ..context };
    let text = output("echo $TMPDIR; echo x > $TMPDIR/own && echo written", &context).await;
    assert!(text.contains("callsheet-") && text.contains("written"), "{text}");
    if holding().writes == Enforcement::Full {
        output(&format!("echo evil > '{}/evil'", beside.path().display()), &context).await;
        assert!(!beside.path().join("evil").exists());
    }
}
