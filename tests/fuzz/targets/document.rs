//! A text read as a catalog document; what was understood is written, and read again as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolpact::catalog::document;

fuzz_target!(|text: &str| {
    let Ok(read) = document::read(text) else {
        return;
    };
    let written = read.write();
    let again = document::read(&written);
    assert_eq!(again.as_ref(), Ok(&read), "written as:\n{written}");
});
