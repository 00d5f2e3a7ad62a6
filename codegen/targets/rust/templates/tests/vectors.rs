//! The neutral vectors: blocks and files with what has to come of them.
//!
//! They are looked for at `GGUFSPEC_VECTORS`, else in the checkout that this crate was generated in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ggufspec::{dequantize, pack, types, unpack, Gguf, Parts, Profile, Source, SourceError};

fn vectors() -> Option<PathBuf> {
    let folder = match std::env::var_os("GGUFSPEC_VECTORS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/conformance"),
    };
    if folder.join("files.txt").is_file() {
        return Some(folder);
    }
    eprintln!("skipped: no vectors at {}", folder.display());
    None
}

fn from_hex(text: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

fn bits(text: &str) -> Option<u32> {
    (text != "nan").then(|| u32::from_str_radix(text, 16).unwrap())
}

fn bits_of(number: f32) -> Option<u32> {
    (!number.is_nan()).then(|| number.to_bits())
}

#[derive(Default)]
struct Record {
    lines: HashMap<String, String>,
    codes: Vec<(String, Vec<i64>)>,
}

fn records(text: &str) -> Vec<Record> {
    let mut made = Vec::new();
    for part in text.split("\n\n") {
        let mut record = Record::default();
        for line in part.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            if word == "code" {
                let (name, numbers) = rest.split_once(' ').unwrap();
                let numbers = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
                record.codes.push((name.to_owned(), numbers));
            } else {
                record.lines.insert(word.to_owned(), rest.to_owned());
            }
        }
        if record.lines.contains_key("type") {
            made.push(record);
        }
    }
    made
}

#[test]
fn blocks() {
    let Some(folder) = vectors() else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(folder.join("blocks")).unwrap() {
        let path = entry.unwrap().path();
        for record in records(&std::fs::read_to_string(&path).unwrap()) {
            check_block(&record, &path);
            count += 1;
        }
    }
    assert!(count > 0);
}

fn check_block(record: &Record, path: &Path) {
    let bytes = |name: &str| record.lines.get(name).map_or(Vec::new(), |text| from_hex(text));
    let kind = types::by_name(&record.lines["type"]).expect("the type is known");
    let (block, prefix, suffix) = (bytes("block"), bytes("prefix"), bytes("suffix"));
    let parts = Parts { prefix: &prefix, suffix: &suffix };
    let found: Vec<_> = dequantize(kind, parts, &block).unwrap().into_iter().map(bits_of).collect();
    let wanted: Vec<_> = record.lines["x"].split(' ').map(bits).collect();
    assert_eq!(found, wanted, "{} {}", path.display(), record.lines["block"]);
    if record.codes.is_empty() {
        return;
    }
    let codes = unpack(kind, &block).unwrap();
    let pairs: Vec<_> = codes.iter().map(|c| (c.name.to_owned(), c.values.clone())).collect();
    assert_eq!(pairs, record.codes, "{}", path.display());
    let numbers: Vec<&[i64]> = codes.iter().map(|code| code.values.as_slice()).collect();
    assert_eq!(pack(kind, &numbers).unwrap(), bytes("pack"), "{}", path.display());
}

#[test]
fn files() {
    let Some(folder) = vectors() else { return };
    for line in std::fs::read_to_string(folder.join("files.txt")).unwrap().lines() {
        let [name, profile, code, offset] = line.split('\t').collect::<Vec<_>>()[..] else {
            assert!(line.starts_with('#') || line.is_empty(), "{line}");
            continue;
        };
        let profile = Profile::from_name(profile).expect("the profile is known");
        let path = folder.join("files").join(format!("{name}.gguf"));
        let bytes = std::fs::read(&path).unwrap();
        let show = |error: ggufspec::Error| {
            assert!(!error.message().to_string().is_empty() && !error.to_string().contains('{'));
            let offset = error.offset().map_or("-".to_owned(), |at| at.to_string());
            (error.code(), offset)
        };
        let wanted = (code, offset.to_owned());
        let found = Gguf::open_with(&bytes, profile).map(drop).map_err(show);
        assert_eq!(found.err().unwrap_or(("ok", "-".to_owned())), wanted, "{line}");
        let pieces = Source::open_with(std::io::Cursor::new(&bytes), profile).map(drop);
        let found = match pieces {
            Ok(()) => ("ok", "-".to_owned()),
            Err(SourceError::Gguf(error)) => show(error),
            Err(SourceError::Io(error)) => panic!("{line}: {error}"),
        };
        assert_eq!(found, wanted, "{line}, piece by piece");
    }
}

/// Everything that opens can be gone through, and decoded or refused with a rule.
#[test]
fn content() {
    let Some(folder) = vectors() else { return };
    for entry in std::fs::read_dir(folder.join("files")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().map_or(true, |suffix| suffix != "gguf") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for &profile in Profile::ALL {
            let Ok(file) = Gguf::open_with(&bytes, profile) else { continue };
            assert!(!format!("{:?}", file.metadata()).is_empty());
            for (key, value) in file.metadata().iter() {
                assert!(file.metadata().get_bytes(key.as_bytes()).is_some());
                if let Some(array) = value.as_array() {
                    assert_eq!(array.iter().count(), array.len(), "{}", path.display());
                    let index = array.string_index().map_or(array.len(), |index| index.len());
                    assert_eq!(index, array.len());
                }
            }
            let source = Source::open_with(std::io::Cursor::new(&bytes), profile).unwrap();
            for (tensor, again) in file.tensors().zip(source.tensors()) {
                let found = tensor.dequantize().map_err(|error| error.code());
                if let Ok(values) = &found {
                    let elements: u64 = tensor.dims().iter().product();
                    assert_eq!(values.len() as u64, elements);
                }
                let found = found.map(|values| values.into_iter().map(bits_of).collect::<Vec<_>>());
                let pieces = source.dequantize(&again).map_err(|error| match error {
                    SourceError::Gguf(error) => error.code(),
                    SourceError::Io(error) => panic!("{}: {error}", path.display()),
                });
                let pieces = pieces.map(|it| it.into_iter().map(bits_of).collect::<Vec<_>>());
                assert_eq!(found, pieces, "{}", path.display());
            }
        }
    }
}
