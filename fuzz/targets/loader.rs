//! Fuzzes a file of definitions; `checks.rs` states what must be true of any bytes.

#![no_main]

#[allow(dead_code, reason = "each target has one of them")]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::loader(bytes));
