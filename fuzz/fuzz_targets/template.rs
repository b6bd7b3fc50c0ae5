#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| callsheet_fuzz::checks::check("template", bytes));
