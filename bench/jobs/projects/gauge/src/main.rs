use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: gauge FILE");
        return ExitCode::from(2);
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let (readings, bad) = gauge::read_log(&text);
            println!("{}", gauge::report::render(&readings, bad));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("gauge: {path}: {error}");
            ExitCode::from(3)
        }
    }
}
