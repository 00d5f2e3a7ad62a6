//! Blocks to floats, to codes, and back.

#[cfg(feature = "alloc")]
use alloc::{vec, vec::Vec};

use crate::error::Error;
use crate::registry::{TypeInfo, Word};

/// What some types store beside blocks: bytes once a row, bytes once a tensor. Mostly empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts<'a> {
    /// The bytes in front of each row.
    pub prefix: &'a [u8],
    /// The bytes behind the tensor.
    pub suffix: &'a [u8],
}

const NO_LAYOUT: &str = "the type is removed and has no layout";
const NO_BLOCKS: &str = "the type has no blocks";
const WHOLE_BLOCKS: &str = "the bytes are no whole blocks, or the output has another size";
const CODES: &str = "the codes are not as many as the blocks have, or out of range";

/// Float32 values of whole little-endian blocks of one row, written to `out`.
pub fn dequantize_into(
    kind: &TypeInfo,
    parts: Parts<'_>,
    blocks: &[u8],
    out: &mut [f32],
) -> Result<(), Error> {
    let kernel = kind.kernel.ok_or(Error::argument(NO_LAYOUT))?;
    let whole = blocks.len() % kind.bytes == 0
        && out.len() % kind.elements == 0
        && blocks.len() / kind.bytes == out.len() / kind.elements;
    if !whole || parts.prefix.len() != kind.row_prefix || parts.suffix.len() != kind.tensor_suffix {
        return Err(Error::argument(WHOLE_BLOCKS));
    }
    (kernel.dequantize)(blocks, out, parts.prefix, parts.suffix);
    Ok(())
}

/// The codes of one little-endian block, one array behind the other as in [`TypeInfo::codes`].
pub fn unpack_into(kind: &TypeInfo, block: &[u8], codes: &mut [i64]) -> Result<(), Error> {
    let unpack = kind.kernel.and_then(|kernel| kernel.unpack);
    let unpack = unpack.ok_or(Error::argument(NO_BLOCKS))?;
    if block.len() != kind.bytes || codes.len() != kind.codes_per_block() {
        return Err(Error::argument(WHOLE_BLOCKS));
    }
    unpack(block, codes);
    Ok(())
}

/// One little-endian block from its codes; the reverse of [`unpack_into`].
pub fn pack_into(kind: &TypeInfo, codes: &[i64], block: &mut [u8]) -> Result<(), Error> {
    let pack = kind.kernel.and_then(|kernel| kernel.pack);
    let pack = pack.ok_or(Error::argument(NO_BLOCKS))?;
    if block.len() != kind.bytes || codes.len() != kind.codes_per_block() {
        return Err(Error::argument(WHOLE_BLOCKS));
    }
    let mut rest = codes;
    for code in kind.codes {
        let (own, behind) = rest.split_at(code.count);
        if !own.iter().all(|number| (code.low..=code.high).contains(number)) {
            return Err(Error::argument(CODES));
        }
        rest = behind;
    }
    pack(codes, block);
    Ok(())
}

/// Float32 values of whole little-endian blocks of one row.
#[cfg(feature = "alloc")]
pub fn dequantize(kind: &TypeInfo, parts: Parts<'_>, blocks: &[u8]) -> Result<Vec<f32>, Error> {
    if kind.kernel.is_none() {
        return Err(Error::argument(NO_LAYOUT));
    }
    let mut out = vec![0.0; blocks.len() / kind.bytes * kind.elements];
    dequantize_into(kind, parts, blocks, &mut out)?;
    Ok(out)
}

/// The numbers of one field or code of some blocks, one block behind the other.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes {
    /// Its name in the specification.
    pub name: &'static str,
    /// The numbers; of stored floats the bits.
    pub values: Vec<i64>,
}

/// The codes of whole little-endian blocks.
#[cfg(feature = "alloc")]
pub fn unpack(kind: &TypeInfo, blocks: &[u8]) -> Result<Vec<Codes>, Error> {
    if kind.bytes == 0 || blocks.len() % kind.bytes != 0 {
        return Err(Error::argument(WHOLE_BLOCKS));
    }
    let count = blocks.len() / kind.bytes;
    let of = |code: &crate::registry::Code| Codes {
        name: code.name,
        values: Vec::with_capacity(count * code.count),
    };
    let mut made: Vec<Codes> = kind.codes.iter().map(of).collect();
    let mut numbers = vec![0; kind.codes_per_block()];
    for block in blocks.chunks_exact(kind.bytes) {
        unpack_into(kind, block, &mut numbers)?;
        let mut rest = &numbers[..];
        for (code, to) in kind.codes.iter().zip(&mut made) {
            let (own, behind) = rest.split_at(code.count);
            to.values.extend_from_slice(own);
            rest = behind;
        }
    }
    Ok(made)
}

/// Little-endian blocks from their codes; `codes` are in the order of [`TypeInfo::codes`].
#[cfg(feature = "alloc")]
pub fn pack(kind: &TypeInfo, codes: &[&[i64]]) -> Result<Vec<u8>, Error> {
    let counts = || kind.codes.iter().map(|code| code.count);
    let blocks = match (codes.first(), kind.codes.first()) {
        (Some(numbers), Some(code)) => numbers.len() / code.count,
        _ => return Err(Error::argument(NO_BLOCKS)),
    };
    let fits = |(numbers, count): (&&[i64], usize)| numbers.len() == blocks * count;
    if codes.len() != kind.codes.len() || !codes.iter().zip(counts()).all(fits) {
        return Err(Error::argument(CODES));
    }
    let mut out = vec![0; blocks * kind.bytes];
    let mut numbers = Vec::with_capacity(kind.codes_per_block());
    for (at, block) in out.chunks_exact_mut(kind.bytes).enumerate() {
        numbers.clear();
        for (own, count) in codes.iter().zip(counts()) {
            numbers.extend_from_slice(&own[at * count..(at + 1) * count]);
        }
        pack_into(kind, &numbers, block)?;
    }
    Ok(out)
}

/// Float32 values of a tensor's bytes, which have rows of `row` elements.
#[cfg(feature = "alloc")]
pub(crate) fn dequantize_rows(
    kind: &TypeInfo,
    data: &[u8],
    row: usize,
    big: bool,
    out: &mut [f32],
) -> Result<(), Error> {
    let bytes = row / kind.elements * kind.bytes + kind.row_prefix;
    let wrong = || Error::argument(WHOLE_BLOCKS);
    let rows = data.len().checked_sub(kind.tensor_suffix).ok_or_else(wrong)?;
    let (rows, suffix) = data.split_at(rows);
    if !big && kind.row_prefix == 0 {
        return dequantize_into(kind, Parts { prefix: &[], suffix }, rows, out);
    }
    let mut tail = suffix.to_vec();
    if big {
        swap_words(kind.suffix_words, &mut tail);
    }
    let mut buffer = Vec::new();
    for (stored, out) in rows.chunks_exact(bytes).zip(out.chunks_exact_mut(row)) {
        buffer.clear();
        buffer.extend_from_slice(stored);
        let (prefix, blocks) = buffer.split_at_mut(kind.row_prefix);
        if big {
            swap_words(kind.prefix_words, prefix);
            for block in blocks.chunks_exact_mut(kind.bytes) {
                swap_words(kind.words, block);
            }
        }
        dequantize_into(kind, Parts { prefix, suffix: &tail }, blocks, out)?;
    }
    Ok(())
}

/// Changes the byte order of one block, from or to that of big-endian files.
///
/// Bytes stay where they are; words of more bytes are reversed, as the specification defines them.
pub fn swap_block(kind: &TypeInfo, block: &mut [u8]) -> Result<(), Error> {
    if block.len() != kind.bytes || kind.bytes == 0 {
        return Err(Error::argument(WHOLE_BLOCKS));
    }
    swap_words(kind.words, block);
    Ok(())
}

/// Changes the byte order of words.
fn swap_words(words: &[Word], block: &mut [u8]) {
    for word in words {
        for number in 0..word.count {
            let start = word.offset + number * word.stride;
            if let Some(bytes) = block.get_mut(start..start + word.size) {
                bytes.reverse();
            }
        }
    }
}
