//! What the process that reads a document can still do.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::net::{TcpListener, TcpStream};
use std::process::Command;

use callsheet_documents::confine;

/// The port to which the confined process tries to connect.
const PORT: &str = "CONFINED_PORT";

/// Runs in a process of its own, which the other test starts.
#[test]
#[ignore = "it confines the process that runs it"]
fn inside() {
    let port: u16 = std::env::var(PORT).unwrap().parse().unwrap();
    let closed = confine();
    let reads = std::fs::File::open("/etc/passwd").is_ok();
    let lists = std::fs::read_dir("/").is_ok();
    let connects = TcpStream::connect(("127.0.0.1", port)).is_ok();
    let holds = Vec::<u8>::new().try_reserve_exact(3 << 30).is_ok();
    println!("RESULT {closed} {reads} {lists} {connects} {holds}");
}

#[test]
fn a_confined_process_has_no_files_no_network_and_little_memory() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", "inside", "--ignored", "--nocapture"]).env(PORT, port).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let result = said.lines().find_map(|line| line.split_once("RESULT ")).map(|(_, result)| result.trim().to_owned());
    match result.as_deref() {
        Some("true false false false false") => {}
        // Without Landlock, the memory is limited all the same.
        Some("false true true true false") => {}
        found => panic!("{found:?}: {said}"),
    }
}
