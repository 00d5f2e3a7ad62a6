//! The syntax of names.

use crate::tables::{FORBIDDEN, SEPARATOR, WORD};

/// No forbidden code point; of text that is not UTF-8, no forbidden byte of ASCII.
pub(crate) fn is_printable(bytes: &[u8]) -> bool {
    let bad = |code: u32| FORBIDDEN.iter().any(|&(first, last)| first <= code && code <= last);
    match core::str::from_utf8(bytes) {
        Ok(text) => !text.chars().any(|character| bad(character.into())),
        Err(_) => !bytes.iter().any(|&byte| byte < 0x80 && bad(byte.into())),
    }
}

/// Words joined by single separators.
pub(crate) fn is_dotted(bytes: &[u8]) -> bool {
    let is_word = |word: &[u8]| !word.is_empty() && word.iter().all(|byte| WORD.contains(byte));
    bytes.is_empty() || bytes.split(|&byte| byte == SEPARATOR).all(is_word)
}
