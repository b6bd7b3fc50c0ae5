//! What a command can do on this machine, with the built program as its supervisor and real namespaces: it is attacked from
//! within, and what it left outside is looked at.
//!
//! covers: 11.10

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use callsheet_runtime::paths::{Granted, Workspace};
use callsheet_runtime::ports::{NoDocuments, Tool, ToolContext, ToolFault, ToolOutcome};
use callsheet_tools::run_command::RunCommand;
use callsheet_tools::{holding, supervise_with};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The program that makes namespaces for the attacks.
const THROUGH: &str = "CALLSHEET_TEST_THROUGH";

/// A folder of the user with a project in it, and secrets beside the project.
struct Place {
    folder: TempDir,
    granted: Granted,
}

/// Whether this machine can hold a command. Where it cannot, a person has to say that they know.
pub fn holds() -> bool {
    supervise_with(Path::new(env!("CARGO_BIN_EXE_callsheet")));
    let held = &holding().apart;
    let wanted = std::env::var_os(THROUGH).map(PathBuf::from);
    assert!(wanted.is_none() || holding().through() == wanted.as_deref(), "{held:?}");
    if let Err(why) = held {
        let known = std::env::var_os("CALLSHEET_TEST_WITHOUT_NAMESPACES").is_some();
        assert!(known, "this machine has no namespaces ({why}); to skip, set CALLSHEET_TEST_WITHOUT_NAMESPACES");
        println!("skipped: {why}");
    }
    held.is_ok()
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let project = folder.path().join("project");
        for name in [".git/hooks", ".git/objects", ".git/refs", ".callsheet/runs", ".vscode", "src", ".cargo"] {
            std::fs::create_dir_all(project.join(name)).unwrap();
        }
        for (name, text) in [
            ("project/.git/config", "[core]\n\thooksPath = tools/hooks\n"),
            ("project/.git/HEAD", "ref: refs/heads/main\n"),
            ("project/.git/hooks/pre-commit", "#!/bin/sh\n"),
            ("project/.cargo/config.toml", "[build]\n"),
            ("project/AGENTS.md", "Be brief.\n"),
            ("project/.mcp.json", "{}\n"),
            ("project/src/a.txt", "a\n"),
            ("secret.txt", "the secret\n"),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        Self { folder, granted: Granted::default() }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    async fn run(&self, line: &str) -> String {
        match self.try_run(line).await {
            Ok(ToolOutcome::Output(text) | ToolOutcome::Failed(text)) => text,
            Err(ToolFault::Told { model, .. }) => model,
            other => panic!("{other:?}"),
        }
    }

    async fn try_run(&self, line: &str) -> Result<ToolOutcome, ToolFault> {
        let workspace = Workspace::new(&self.project(), &[]).unwrap();
        let workspace = workspace.noting(self.folder.path().join("notes")).granting(self.granted.clone());
        let context = ToolContext {
            workspace: Arc::new(workspace),
            skill_dir: None,
            fetch: None,
            documents: Arc::new(NoDocuments),
            max_output_bytes: 20_000,
            timeout: Duration::from_secs(60),
            cancel: CancellationToken::new(),
        };
        RunCommand::new().run(&json!({ "command": line }), &context).await
    }

    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(name)).ok()
    }
}

#[tokio::test]
async fn a_command_works_on_the_project_and_in_temporary_folders() {
    if !holds() {
        return;
    }
    let place = Place::new();
    let line = "set -e; echo b > src/b.txt; mv src/b.txt src/c.txt; echo t > /tmp/t; echo h > ~/h; cat /tmp/t ~/h; \
                python3 - <<'E'\nimport os, pty, socket, threading\nserver = socket.socket()\n\
                server.bind((\"127.0.0.1\", 0))\nserver.listen()\nsocket.create_connection(server.getsockname())\n\
                local = socket.socket(socket.AF_UNIX)\nlocal.bind(\"/tmp/s\")\npty.openpty()\n\
                threading.Thread(target=print, args=(\"a thread\",)).start()\nE\necho worked";
    let text = place.run(line).await;
    assert!(text.contains("worked") && text.contains("a thread"), "{text}");
    assert_eq!(place.text("project/src/c.txt").as_deref(), Some("b\n"));
    assert!(!Path::new("/tmp/t").exists(), "its temporary folder is its own");
}

/// A link that one command leaves in the place of a granted folder shows the next one nothing.
#[tokio::test]
async fn a_link_in_the_place_of_a_granted_folder_leads_nowhere() {
    if !holds() {
        return;
    }
    let mut place = Place::new();
    std::fs::create_dir(place.project().join("build")).unwrap();
    place.granted.writable.push(place.project().join("build"));
    place.run("echo b > build/b").await;
    std::fs::remove_dir_all(place.project().join("build")).unwrap();
    std::os::unix::fs::symlink("..", place.project().join("build")).unwrap();
    let text = place.run("cat build/secret.txt; echo evil > build/evil").await;
    assert!(!text.contains("the secret") && place.text("evil").is_none(), "{text}");
}

/// What decides what runs later, or what a model is told, cannot be written, moved away, or made.
#[tokio::test]
async fn a_command_cannot_change_what_runs_later() {
    if !holds() {
        return;
    }
    let place = Place::new();
    for line in [
        "echo evil >> .git/config",
        "echo evil > .git/hooks/pre-commit",
        "echo evil > .git/hooks/pre-push",
        "mv .git .gone; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
        "mv .git/hooks .git/gone",
        "rm -rf .git/hooks .vscode .callsheet",
        "ln -sf /tmp/evil .git/config",
        "echo evil > AGENTS.md",
        "echo evil > .new; mv .new .mcp.json || rm .new",
        "echo evil > .cargo/config.toml; mv .cargo .gone",
        "echo evil > .vscode/tasks.json",
        "echo evil > .callsheet/runs/evil",
        "mkdir -p tools/hooks && echo evil > tools/hooks/pre-commit && git status",
        "python3 -c 'import os; os.rename(\".git\", \"moved\")'",
        "python3 -c 'import os; os.link(\"src/a.txt\", \".git/hooks/pre-rebase\")'",
    ] {
        let before = listing(&place.project());
        let text = place.run(line).await;
        let after = listing(&place.project());
        assert_eq!(after, before, "{line}: {text}");
    }
    // What is not there yet is taken away again, and the call has failed.
    for line in ["echo evil > .envrc", "mkdir .husky && echo evil > .husky/pre-commit", "echo evil > src/AGENTS.md"] {
        let text = place.run(line).await;
        assert!(text.contains("which no command may write"), "{line}: {text}");
        assert_eq!(listing(&place.project()).iter().filter(|(_, text)| text.contains("evil")).count(), 0, "{line}");
    }
}

/// What a person granted can be changed as any other file, and nothing else can.
///
/// covers: 11.14
#[tokio::test]
async fn a_command_changes_what_is_protected_once_a_person_granted_it() {
    if !holds() {
        return;
    }
    let mut place = Place::new();
    std::fs::remove_dir_all(place.project().join(".git")).unwrap();
    let git = "set -e; export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1; ";
    for (line, granted, made) in [
        ("git init -q .", &[".git"][..], ".git/config"),
        ("git init -q sub", &["sub/.git"], "sub/.git/config"),
        ("git clone -q . copy", &["copy/.git"], "copy/.git/config"),
        ("echo new >> AGENTS.md", &["AGENTS.md"], "AGENTS.md"),
        ("echo new > .vscode/tasks.json", &[".vscode"], ".vscode/tasks.json"),
        (
            "mv .cargo/config.toml .cargo/x; echo new > .cargo/config.toml",
            &[".cargo/config.toml"],
            ".cargo/config.toml",
        ),
        ("mkdir .husky; echo new > .husky/pre-push", &[".husky"], ".husky/pre-push"),
    ] {
        let line = format!("{git}{line}");
        place.granted.protected = Vec::new();
        let before = place.text(&format!("project/{made}"));
        let text = place.run(&line).await;
        let hint = format!("callsheet grants add protected {}", granted.join(" "));
        assert!(text.contains(&hint), "{line}: {hint} is missing: {text}");
        assert_eq!(place.text(&format!("project/{made}")), before, "{line}");
        // What git itself left of a new repository is in its way.
        if let Some((top, _)) = made.split_once("/.git/") {
            let _not_there = std::fs::remove_dir_all(place.project().join(top));
        }
        place.granted.protected = granted.iter().map(PathBuf::from).collect();
        let text = place.run(&line).await;
        assert!(text.contains("exit code 0"), "{line}: {text}");
        assert_ne!(place.text(&format!("project/{made}")), before, "{line}: {text}");
    }
    // Commits have a grant of their own, with which hooks and configuration stay closed.
    let commit = format!("{git}git -c user.name=Otter -c user.email=o@example.org commit -q --allow-empty -m one");
    place.granted.protected = Vec::new();
    let text = place.run(&commit).await;
    assert!(text.contains("callsheet grants add write .git]"), "{text}");
    place.granted.writable = vec![place.project().canonicalize().unwrap().join(".git")];
    let text = place.run(&commit).await;
    assert!(text.contains("exit code 0"), "{text}");
    let text = place.run("echo evil > .git/hooks/pre-push; git config user.name Evil").await;
    assert!(text.contains("callsheet grants add protected .git/config"), "{text}");
    assert!(
        !listing(&place.project()).iter().any(|(_, text)| text.contains("evil") || text.contains("Evil")),
        "{text}"
    );
    let kept =
        ["echo evil > .vscode/tasks.json", "echo evil > .callsheet/runs/evil", "echo evil > .callsheet/config.toml"];
    place.granted.protected =
        [".", ".callsheet", ".callsheet/runs", ".CALLSHEET", "../project/.callsheet"].map(PathBuf::from).into();
    for line in kept {
        let text = place.run(line).await;
        assert!(!listing(&place.project()).iter().any(|(_, text)| text.contains("evil")), "{line}: {text}");
        assert!(line.contains("vscode") || !text.contains("grants add protected"), "{line}: {text}");
    }
}

/// What is put back after a command leads nowhere else, whatever the command left.
#[tokio::test]
async fn what_is_put_back_leads_out_of_no_project() {
    if !holds() {
        return;
    }
    let mut place = Place::new();
    let victim = place.folder.path().join("victim");
    std::fs::create_dir_all(victim.join("hooks")).unwrap();
    std::fs::write(victim.join("hooks/kept.txt"), "kept").unwrap();
    // The folder of hooks that git's settings name is not there yet.
    let text = place.run(&format!("ln -s {} tools", victim.display())).await;
    assert_eq!(place.text("victim/hooks/kept.txt").as_deref(), Some("kept"), "{text}");
    assert!(!place.project().join("tools").is_symlink(), "a link on the way to them is what names them: {text}");
    for (line, never) in [
        ("mkdir -p tools/hooks; echo evil > tools/hooks/pre-commit", "tools/hooks/pre-commit"),
        ("mv .git/HEAD .git/h; mkdir -p tools/hooks; echo evil > tools/hooks/x; mv .git/h .git/HEAD", "tools/hooks/x"),
        ("mkdir -p s/objects s/refs; echo x > s/HEAD; echo evil > s/config", "s/HEAD"),
        (
            "mkdir -p .git/modules/logs/hooks; echo evil > .git/modules/logs/hooks/post-checkout",
            ".git/modules/logs/hooks",
        ),
        ("ln -s ~/.bashrc .git/COMMIT_EDITMSG", ".git/COMMIT_EDITMSG"),
        ("mkdir -p .git/logs; ln -s ~/.bashrc .git/logs/HEAD", ".git/logs/HEAD"),
    ] {
        let text = place.run(line).await;
        assert!(place.project().join(never).symlink_metadata().is_err(), "{line}: {text}");
    }
    // A protected name that is a link is protected with the links on its way, and with what it leads to.
    for (link, to) in [("a", "src"), ("CLAUDE.md", "a/claude.txt")] {
        std::os::unix::fs::symlink(to, place.project().join(link)).unwrap();
    }
    let text = place.run("rm a; mkdir a; echo evil > a/claude.txt; echo evil > src/claude.txt").await;
    assert!(place.project().join("a").is_symlink(), "{text}");
    assert!(place.text("project/CLAUDE.md").is_none(), "{text}");
    let text = place
        .run(
            "cp /bin/true s1; chmod 4755 s1; cp /bin/true s2; chmod g+s s2; \
             python3 -c 'import os; os.open(\"s3\", os.O_CREAT | os.O_WRONLY, 0o4755)'; chmod 600 /dev/full",
        )
        .await;
    use std::os::unix::fs::MetadataExt;
    for name in ["s1", "s2", "s3"] {
        let mode = place.project().join(name).metadata().map_or(0, |found| found.mode());
        assert_eq!(mode & 0o6000, 0, "{name}: {text}");
    }
    assert_ne!(std::fs::metadata("/dev/full").unwrap().mode() & 0o777, 0o600, "{text}");
    place.granted.hosts = vec!["localhost:80".to_owned()];
    let text = place.run("echo fine").await;
    // Who has no rights in a network has no low ports in it.
    let low =
        if holding().through().is_some() { "a port of this machine that was granted can't be had" } else { "fine" };
    assert!(text.contains(low), "a low port is the command's own: {text}");
}

/// Everything in a project that is closed to commands, with its text.
fn listing(project: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![project.to_path_buf()];
    while let Some(path) = open.pop() {
        let at = path.strip_prefix(project).unwrap_or(&path).to_path_buf();
        if path.is_dir() && !path.is_symlink() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            found.push((at, std::fs::read_to_string(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_command_sees_nothing_of_the_user_and_reaches_no_program_of_theirs() {
    if !holds() {
        return;
    }
    let place = Place::new();
    let path = place.folder.path().join("agent.sock");
    let _agent = UnixListener::bind(&path).unwrap();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let ours = std::process::id();
    for (line, never) in [
        (format!("cat ../secret.txt; cat {}", place.folder.path().join("secret.txt").display()), "the secret"),
        ("cat /etc/shadow; cat /etc/gshadow".to_owned(), "root:"),
        (format!("cat /proc/{ours}/environ; ls /proc/{ours} && echo reached"), "reached"),
        (format!("kill -0 {ours} && echo reached"), "reached"),
        (
            format!("python3 -c 'import socket; socket.socket(1).connect(\"{}\")' && echo reached", path.display()),
            "reached",
        ),
        (format!("bash -c 'echo > /dev/tcp/127.0.0.1/{port}' && echo reached"), "reached"),
        ("bash -c 'echo > /dev/tcp/1.1.1.1/53' && echo reached".to_owned(), "reached"),
        ("python3 -c 'import socket; socket.socket(40, 1)' && echo reached".to_owned(), "reached"),
        ("python3 -c 'import socket; socket.socket(2, 3)' && echo reached".to_owned(), "reached"),
        ("unshare -Ur true && echo reached".to_owned(), "reached"),
        ("mknod /tmp/disk b 8 0 && echo reached".to_owned(), "reached"),
        ("mount -t tmpfs none /tmp && echo reached".to_owned(), "reached"),
        ("ls /run/docker.sock /var/run/docker.sock /run/user && echo reached".to_owned(), "reached"),
        ("echo x > /proc/sys/kernel/hostname && echo reached".to_owned(), "reached"),
        ("chmod 777 /etc/hostname && echo reached".to_owned(), "reached"),
        ("touch /usr/evil /etc/evil /evil && echo reached".to_owned(), "reached"),
        ("cat /proc/1/environ && echo reached".to_owned(), "reached"),
        ("tail -c 10 /proc/1/mem && echo reached".to_owned(), "reached"),
        ("bash -c 'echo > /dev/tty' && echo reached".to_owned(), "reached"),
        ("env | grep -E '^(CARGO_PKG|NEXTEST|SSH_|TMUX|DISPLAY|DBUS)' && echo reached".to_owned(), "reached"),
        ("grep -E '^Cap(Eff|Prm|Bnd):.*[1-9a-f]' /proc/self/status && echo reached".to_owned(), "reached"),
    ] {
        let text = place.run(&line).await;
        assert!(!text.contains(never), "{line}: {text}");
    }
    let mut abstracts = format!("@callsheet-{ours}").into_bytes();
    abstracts[0] = 0;
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&abstracts[1..]).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let text = place
        .run(&format!("python3 -c 'import socket; socket.socket(1).connect(b\"\\0callsheet-{ours}\")' && echo reached"))
        .await;
    assert!(!text.contains("reached"), "{text}");
}

#[tokio::test]
async fn a_command_reaches_hosts_that_were_granted_and_says_which_it_wanted() {
    if !holds() {
        return;
    }
    let mut place = Place::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in server.incoming().flatten() {
            use std::io::{Read, Write};
            let mut client = client;
            let _request = client.read(&mut [0; 1024]);
            let _closed = client.write_all(b"HTTP/1.0 200 OK\r\n\r\nfrom the host\n");
        }
    });
    let ask = format!(
        "python3 -c 'import urllib.request; print(urllib.request.urlopen(\"http://127.0.0.1:{port}/\").read())'"
    );
    let text = place.run(&ask).await;
    assert!(!text.contains("from the host"), "{text}");
    place.granted.hosts = vec![format!("localhost:{port}")];
    let text = place.run(&ask).await;
    assert!(text.contains("from the host"), "{text}");
    // A name that leads to this machine is refused, also when it is granted.
    let line = "python3 -c 'import urllib.request; urllib.request.urlopen(\"http://example.invalid/\")'";
    let text = place.run(line).await;
    assert!(
        text.contains("Commands may not connect to example.invalid:80")
            && text.contains("grants add host example.invalid:80"),
        "{text}"
    );
    place.granted.hosts = vec!["10.0.0.1".to_owned()];
    let text = place.run("python3 -c 'import urllib.request; urllib.request.urlopen(\"http://10.0.0.1/\")'").await;
    assert!(text.contains("502"), "{text}");
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    if !holds() {
        return;
    }
    let place = Place::new();
    let mark = format!("6{}.2525", std::process::id());
    let line = format!("setsid sh -c 'trap \"\" TERM HUP; sleep {mark}' & (nohup sleep {mark} &) ; echo over");
    let text = place.run(&line).await;
    assert!(text.contains("over"), "{text}");
    let left = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|process| {
        std::fs::read_to_string(process.path().join("cmdline")).ok().filter(|line| line.contains(&mark))
    });
    assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
}

/// If the process that supervises a command is killed, the command ends, and what it left is moved aside.
#[tokio::test]
async fn what_a_command_left_is_moved_aside_when_its_supervisor_was_killed() {
    if !holds() {
        return;
    }
    let place = Place::new();
    let project = place.project();
    let kill = async {
        while !project.join("started").exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let children = std::fs::read_to_string("/proc/thread-self/children").unwrap();
        let killed = Command::new("kill").arg("-9").args(children.split_whitespace()).status().unwrap();
        assert!(killed.success(), "{children}");
    };
    let line =
        "mkdir -p .husky deep; echo evil > .husky/pre-push; echo evil > deep/AGENTS.md; echo > started; sleep 60";
    let (ended, ()) = tokio::join!(place.try_run(line), kill);
    let Err(ToolFault::Lost(what)) = ended else { panic!("{ended:?}") };
    assert!(what.contains("supervises the command was killed"), "{what}");
    // Through `bwrap`, the first process inside can put things back before it is ended, too.
    for (words, moved) in [
        ("moved .husky to callsheet-set-aside/", "callsheet-set-aside/1-.husky"),
        ("moved deep/AGENTS.md to ", "callsheet-set-aside/1-AGENTS.md"),
    ] {
        let put_back = holding().through().is_some() && !project.join(moved).exists();
        assert!(put_back || what.contains(words), "{words} is missing: {what}");
    }
    assert!(!project.join(".husky").exists() && !project.join("deep/AGENTS.md").exists());
    assert!(place.run("echo fine").await.contains("fine"));
    let notes = std::fs::read_dir(place.folder.path().join("notes")).unwrap().flatten();
    assert_eq!(notes.filter(|note| note.path().extension().is_some()).count(), 0, "no note is left");
}

/// Where memory runs out, the system ends the command first, and what it changed is put back. If what holds the command is
/// killed all the same, what it changed is put back too, and the model and the person are told.
#[tokio::test]
async fn a_killed_first_process_leaves_nothing_changed_and_is_told() {
    if !holds() {
        return;
    }
    let place = Place::new();
    let project = place.project();
    std::fs::write(project.join("src/AGENTS.md"), "good\n").unwrap();
    let rank = "cat /proc/self/oom_score_adj /proc/1/oom_score_adj";
    let text = place.run(rank).await;
    assert!(text.contains("--- stdout\n1000\n0"), "{text}");
    let mark = format!("6{}.7171", std::process::id());
    let kill = async {
        while !project.join("started").exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let killed = Command::new("kill").arg("-9").arg(parent_of(&mark).unwrap()).status().unwrap();
        assert!(killed.success());
    };
    let line =
        format!("mkdir .husky; echo evil > .husky/pre-push; echo evil > src/AGENTS.md; echo > started; sleep {mark}");
    let (ended, ()) = tokio::join!(place.try_run(&line), kill);
    let Err(ToolFault::Told { person, model }) = ended else { panic!("{ended:?}") };
    for words in ["The system killed what holds this command", "src/AGENTS.md", ".husky"] {
        assert!(person.contains(words) && model.contains(words), "{words} is missing: {person} {model}");
    }
    assert_eq!(place.text("project/src/AGENTS.md").as_deref(), Some("good\n"));
    assert!(!project.join(".husky").exists());
}

/// The process that started the one whose command line holds this.
fn parent_of(mark: &str) -> Option<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    let read = |path: &Path, name: &str| std::fs::read_to_string(path.join(name)).unwrap_or_default();
    let is_it = |line: String| line.starts_with("sh\0") && line.ends_with(&format!("{mark}\0"));
    let found = processes.into_iter().find(|path| is_it(read(path, "cmdline")))?;
    read(&found, "status").lines().find_map(|line| Some(line.strip_prefix("PPid:")?.trim().to_owned()))
}

/// All processes of a command together use no more than they may, wherever they keep it; what they share counts once.
#[tokio::test]
async fn a_command_that_uses_too_much_is_ended() {
    if !holds() {
        return;
    }
    let mut place = Place::new();
    place.granted.memory_mb = Some(300);
    let hold = "import time, os, ctypes, mmap\nthere = b'x' * (200 << 20)\n";
    for (code, ended) in [
        ("os.fork()\nmore = b'x' * (120 << 20)\ntime.sleep(60)", true),
        ("ctypes.CDLL(None).prctl(4, 0)\nmore = b'x' * (120 << 20)\ntime.sleep(60)", true),
        ("open('/dev/shm/x', 'wb').write(there)\ntime.sleep(60)", true),
        (
            "os.setsid()\nif os.fork() == 0:\n    more = b'x' * (120 << 20)\n    time.sleep(60)\nelse:\n    time.sleep(60)",
            true,
        ),
        // Page tables, and memory that belongs to no process any more.
        (
            "room = mmap.mmap(-1, 2 << 40, mmap.MAP_PRIVATE | 0x4000, mmap.PROT_READ)\nroom.madvise(15)\n\
             [room[at] for at in range(0, 80000 << 21, 2 << 20)]\ntime.sleep(60)",
            true,
        ),
        (
            "libc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\nid = libc.shmget(0, 150 << 20, 0o1600)\n\
             at = libc.shmat(id, None, 0)\nctypes.memset(ctypes.c_void_p(at), 1, 150 << 20)\n\
             libc.shmdt(ctypes.c_void_p(at))\ntime.sleep(60)",
            true,
        ),
        // Five processes share what there is, and nobody uses what they may use.
        (
            "room = mmap.mmap(-1, 64 << 30, mmap.MAP_PRIVATE | 0x4000)\n[os.fork() for _ in range(2)]\ntime.sleep(2)",
            false,
        ),
    ] {
        let text = place.run(&format!("python3 -c \"{hold}{code}\"")).await;
        assert_eq!(text.contains("more than 300 MiB of memory together"), ended, "{code}: {text}");
        assert_eq!(text.contains("exit code 0"), !ended, "{code}: {text}");
    }
    place.granted.cpu_seconds = Some(1);
    let text = place.run("for i in 1 2; do sh -c 'while :; do :; done' & done; sleep 60").await;
    assert!(text.contains("more than 1 s of processor time together"), "{text}");
}

/// The same attacks where this program may make no namespaces and `bwrap` may, as an ordinary user.
#[test]
fn all_this_holds_through_bwrap() {
    let bwrap = Path::new("/usr/bin/bwrap");
    if !bwrap.exists() || !holds() {
        let known = std::env::var_os("CALLSHEET_TEST_WITHOUT_BWRAP").is_some();
        assert!(known, "this machine has no {}; to skip, set CALLSHEET_TEST_WITHOUT_BWRAP", bwrap.display());
        return;
    }
    let home = TempDir::new().unwrap();
    let own = std::env::current_exe().unwrap();
    let mut command = if rustix::process::getuid().is_root() {
        std::os::unix::fs::chown(home.path(), Some(1000), Some(1000)).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "1000", "--regid", "1000", "--clear-groups"]).arg(own);
        command
    } else {
        Command::new(own)
    };
    command.args(["e2e_sandbox::", "--skip", "all_this_holds_through", "--skip", "where_namespaces_are_refused"]);
    command.args(["--test-threads", "2"]).env(THROUGH, bwrap).env("HOME", home.path());
    // `bwrap` makes namespaces in another way, with another call.
    let mounts = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(libc::CLONE_NEWNS.unsigned_abs().into()),
        libc::CLONE_NEWNS.unsigned_abs().into(),
    );
    let rules = [(libc::SYS_unshare, vec![SeccompRule::new(vec![mounts.unwrap()]).unwrap()])].into_iter().collect();
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    let ended = command.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && !said.contains("running 0 tests"), "{said}");
}
