//! The live page of the built program, over a connection: opened by the printed address, a change approved in part, the run
//! resumed in a process of its own, and what came of it seen as it happens.
#![cfg(feature = "page")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::garden::TestProject;

/// A server, ended with the test.
struct Page {
    server: Child,
    host: String,
    cookie: String,
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ended = self.server.kill();
        let _status = self.server.wait();
    }
}

impl Page {
    fn open(garden: &TestProject) -> Self {
        let mut server = garden.command(&["serve"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        let rest = address.trim().strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let mut page = Self { server, host: host.to_owned(), cookie: String::new() };
        let first = page.get(&format!("/{path}"));
        assert!(first.starts_with("HTTP/1.1 303"), "{first}");
        let cookie = first.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        page.cookie = cookie.split(';').next().unwrap().to_owned();
        page
    }

    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", self.host.split_once(':').unwrap().1)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn whole(&self, request: &str) -> String {
        let mut text = String::new();
        self.send(request).read_to_string(&mut text).unwrap();
        text
    }

    fn head(&self, path: &str) -> String {
        let (host, cookie) = (&self.host, &self.cookie);
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n")
    }

    fn get(&self, path: &str) -> String {
        self.whole(&self.head(path))
    }

    fn post(&self, path: &str, fields: &str) -> String {
        let (host, cookie, length) = (&self.host, &self.cookie, fields.len());
        self.whole(&format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{fields}"
        ))
    }
}

#[test]
fn a_change_is_approved_in_part_from_the_page_and_the_run_resumes() {
    let garden = TestProject::with("hunks");
    let rota: Vec<String> =
        (1..=30).map(|week| format!("week {week}: {}", if week < 10 { "Ana" } else { "Ben" })).collect();
    garden.write("rota.md", rota.join("\n"));
    garden.expect(3, &["run", "--skill", "write_document", "bring the rota up to date", "--approval", "before-apply"]);
    let page = Page::open(&garden);
    let runs = page.get("/");
    let run = runs.split("href=\"runs/").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    assert!(runs.contains("waiting for approval"), "{runs}");
    let board = page.get(&format!("/runs/{run}"));
    assert!(board.contains("Approve a change by") && board.contains("<strong>Hunk 4</strong>"), "{board}");

    // Somebody watches meanwhile.
    let mut watched = BufReader::new(page.send(&page.head(&format!("/runs/{run}/live?view=&n=0"))));
    let asked = page.post(&format!("/runs/{run}/gates/1"), "verdict=approve&hunks=1&hunk=3&because=only+this&resume=1");
    assert!(asked.starts_with("HTTP/1.1 303"), "{asked}");
    let begun = Instant::now();
    let mut line = String::new();
    while !line.contains("✓</span> complete") {
        line.clear();
        assert!(watched.read_line(&mut line).unwrap() > 0 && begun.elapsed() < Duration::from_secs(60), "{line}");
    }
    let rota = garden.read("rota.md");
    assert!(rota.contains("week 3: Ana and Ben") && rota.contains("week 24: Ben"), "{rota}");
    let changes = page.get(&format!("/runs/{run}/changes"));
    assert!(
        changes.contains("approved in part") && changes.contains("on the page") && changes.contains("only this"),
        "{changes}"
    );

    // An undo says what its page showed.
    let (_, rest) = changes.split_once("name=\"n\" value=\"").unwrap();
    let seen = rest.split('"').next().unwrap();
    page.post(&format!("/runs/{run}/undo"), "n=1");
    let board = page.get(&format!("/runs/{run}"));
    assert!(board.contains("changed files since you looked") && garden.read("rota.md") == rota, "{board}");
    page.post(&format!("/runs/{run}/undo"), &format!("n={seen}"));
    assert!(!garden.read("rota.md").contains("week 3: Ana and Ben"));
}

/// covers: 11.4
#[test]
fn a_hunk_is_edited_on_the_page_by_the_rules_of_the_terminal() {
    let garden = TestProject::with("hunks");
    let rota: Vec<String> =
        (1..=30).map(|week| format!("week {week}: {}", if week < 10 { "Ana" } else { "Ben" })).collect();
    garden.write("rota.md", rota.join("\r\n") + "\r\n");
    garden.expect(3, &["run", "--skill", "write_document", "bring the rota up to date", "--approval", "before-apply"]);
    let page = Page::open(&garden);
    let run = garden.run_folder().file_name().unwrap().to_string_lossy().into_owned();
    let board = page.get(&format!("/runs/{run}"));
    let field = |number: u32| {
        let (_, rest) = board.split_once(&format!("name=\"edit-{number}\"")).unwrap();
        let (_, rest) = rest.split_once('>').unwrap();
        rest.split("</textarea>").next().unwrap().replace('\n', "\r\n")
    };
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let form = |number: u32, edited: &str| {
        let fields = (1..=4)
            .map(|at| format!("&edit-{at}={}", encoded(&if at == number { edited.to_owned() } else { field(at) })));
        format!("verdict=approve&hunks=1&hunk=3&hunk=4&resume=1&because=as+we+said{}", fields.collect::<String>())
    };
    let (number, text) =
        (3..=4).map(|number| (number, field(number))).find(|(_, text)| text.contains("+week 24")).unwrap();
    let before = garden.files();
    let gate = format!("/runs/{run}/gates/1");
    // A line that is not the file's: the reason is shown, and what was typed stays.
    let wrong = text.replace(" week 25", " month 25");
    let refused = page.post(&gate, &form(number, &wrong));
    assert!(refused.starts_with("HTTP/1.1 422"), "{refused}");
    assert!(refused.contains(&format!("hunk {number}: line")) && refused.contains(" month 25"), "{refused}");
    assert!(refused.contains("as we said") && refused.matches("checked").count() >= 2, "{refused}");
    assert_eq!(garden.files(), before);
    assert_eq!(garden.count("gate_answered"), 0);
    let right = text.replace("+week 24: Cem", "+week 24: Ana\r\n+week 24 b: Cem");
    let taken = page.post(&gate, &form(number, &right));
    assert!(taken.starts_with("HTTP/1.1 303"), "{taken}");
    let begun = Instant::now();
    while !page.get(&format!("/runs/{run}")).contains("✓</span> complete") {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    let wanted = rota.join("\r\n").replace("week 3: Ana\r", "week 3: Ana and Ben\r");
    let wanted = wanted.replace("week 24: Ben\r\n", "week 24: Ana\r\nweek 24 b: Cem\r\n") + "\r\n";
    assert_eq!(garden.read("rota.md"), wanted);
    assert!(
        garden.path("minutes.md").exists() && !garden.path("notes/swaps.md").exists(),
        "what was cleared is left out"
    );
}

#[test]
fn the_sheet_is_edited_on_the_page_by_the_rules_of_the_file() {
    let garden = TestProject::with("two_writers");
    garden.expect(3, &["run", "two notes"]);
    let page = Page::open(&garden);
    let runs = page.get("/");
    let run = runs.split("href=\"runs/").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    let sheet = garden.run_file("sheet.md");
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let wrong = sheet.replace("**Skill** write_document", "**Skill** cook_dinner");
    let checked = page.post(&format!("/runs/{run}/sheet/check"), &format!("part=1&text={}", encoded(&wrong)));
    assert!(checked.contains("2 errors") && checked.contains("cook_dinner"), "{checked}");
    let refused =
        page.post(&format!("/runs/{run}/sheet"), &format!("seen={}&text={}", encoded(&sheet), encoded(&wrong)));
    assert!(refused.starts_with("HTTP/1.1 422") && refused.contains("nothing was saved"), "{refused}");
    assert_eq!(garden.run_file("sheet.md"), sheet, "an edit with errors is not written");
    let right = sheet.replace("Make second.md.", "Make second.md and say why.");
    let checked = page.post(&format!("/runs/{run}/sheet/check"), &format!("part=1&text={}", encoded(&right)));
    assert!(checked.contains("adds 0, changes 1 and removes 0 tasks"), "{checked}");
    let saved = page.post(&format!("/runs/{run}/sheet"), &format!("seen={}&text={}", encoded(&sheet), encoded(&right)));
    assert!(saved.starts_with("HTTP/1.1 303"), "{saved}");
    assert_eq!(garden.count("list_adopted"), 2);
    let task = page.get(&format!("/runs/{run}/tasks/write-second-1"));
    assert!(task.contains("Make second.md and say why."), "{task}");
}

/// A run that stopped at a limit goes on from the page with a higher one.
/// covers: 2.15 limit_reached
#[test]
fn a_limit_is_raised_from_the_page_and_the_run_resumes() {
    let garden = TestProject::with("answer");
    garden.expect(6, &["run", "who waters?", "--set", "limits.max_calls=1"]);
    let page = Page::open(&garden);
    let runs = page.get("/");
    let run = runs.split("href=\"runs/").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
    let board = page.get(&format!("/runs/{run}"));
    assert!(board.contains("1 of 1 model calls") && board.contains("Raise and resume"), "{board}");
    let refused = page.post(&format!("/runs/{run}/raise"), "limit=max_calls&max=1");
    assert!(refused.starts_with("HTTP/1.1 303"), "{refused}");
    assert!(page.get(&format!("/runs/{run}")).contains("the limit was not raised"));
    let mut watched = BufReader::new(page.send(&page.head(&format!("/runs/{run}/live?view=&n=0"))));
    page.post(&format!("/runs/{run}/raise"), "limit=max_calls&max=5");
    let begun = Instant::now();
    let mut line = String::new();
    while !line.contains("✓</span> complete") {
        line.clear();
        assert!(watched.read_line(&mut line).unwrap() > 0 && begun.elapsed() < Duration::from_secs(60), "{line}");
    }
    assert_eq!(garden.count("limit_raised"), 1);
}
