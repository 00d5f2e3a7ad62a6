//! The conformance program: a request a line on standard input, answers on standard output.
//!
//! Fields are separated by tabs; the last line of an answer is `end`. The runner beside this folder
//! says what the requests are.

#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use ggufspec::{
    dequantize, dequantize_into, pack, types, unpack, Array, ByteOrder, Error, Gguf, Parts,
    Profile, Source, TypeInfo, Value, Writer,
};

/// Why a request has no answer: an error of the library, or of this program or the system.
enum Failure {
    Gguf(Error),
    Other(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Gguf(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Other(error.to_string())
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Failure::Other(message.to_owned())
    }
}

type Answer = Result<String, Failure>;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let text = match answer(&fields) {
            Ok(text) => text,
            Err(Failure::Gguf(error)) => {
                let offset = error.offset().map_or("-".to_owned(), |at| at.to_string());
                format!("error\t{}\t{offset}\n", error.code())
            }
            Err(Failure::Other(message)) => format!("fail\t{}\n", message.replace('\n', " ")),
        };
        out.write_all(text.as_bytes())?;
        out.write_all(b"end\n")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(fields: &[&str]) -> Answer {
    match *fields {
        ["hello"] => Ok(format!("hello\trust\t{}\n", ggufspec::SPEC_VERSION)),
        ["types"] => Ok(ggufspec::TYPES.iter().map(type_line).collect()),
        ["open", name, path] => open(&std::fs::read(path)?, profile(name)?),
        ["tensor", name, path, tensor] => {
            let bytes = std::fs::read(path)?;
            let file = Gguf::open_with(&bytes, profile(name)?)?;
            let tensor = file.tensor_named(&from_hex(tensor)?).ok_or("no such tensor")?;
            Ok(floats(&tensor.dequantize()?))
        }
        ["dequantize", name, prefix, suffix, row] => {
            let (prefix, suffix) = (from_hex(prefix)?, from_hex(suffix)?);
            let parts = Parts { prefix: &prefix, suffix: &suffix };
            Ok(floats(&dequantize(kind(name)?, parts, &from_hex(row)?)?))
        }
        ["unpack", name, blocks] => {
            let found = unpack(kind(name)?, &from_hex(blocks)?)?;
            let codes: Vec<String> = found
                .iter()
                .map(|code| format!("{}={}", code.name, joined(code.values.iter())))
                .collect();
            Ok(format!("codes\t{}\n", codes.join(";")))
        }
        ["pack", name, codes] => {
            let kind = kind(name)?;
            let mut given = Vec::new();
            for code in kind.codes {
                let mut parts = codes.split(';').filter_map(|part| part.split_once('='));
                let found = parts.find(|(name, _)| *name == code.name);
                let (_, numbers) = found.ok_or("a code is missing")?;
                let numbers: Result<Vec<i64>, _> = numbers.split(',').map(str::parse).collect();
                given.push(numbers.map_err(|_| "a code is no number")?);
            }
            let given: Vec<&[i64]> = given.iter().map(Vec::as_slice).collect();
            Ok(format!("bytes\t{}\n", to_hex(&pack(kind, &given)?)))
        }
        ["copy", from, to] => copy(from, to),
        ["time", "open", path, count] => best(count, || open_and_list(path)),
        ["time", "dequantize", name, path, count] => {
            let (kind, blocks) = (kind(name)?, std::fs::read(path)?);
            if kind.bytes == 0 {
                return Err("the type is removed".into());
            }
            let mut out = vec![0.0; blocks.len() / kind.bytes * kind.elements];
            let (prefix, suffix) = (vec![0; kind.row_prefix], vec![0; kind.tensor_suffix]);
            let parts = Parts { prefix: &prefix, suffix: &suffix };
            best(count, || Ok(dequantize_into(kind, parts, black_box(&blocks), &mut out)?))
        }
        _ => Err("unknown request".into()),
    }
}

fn profile(name: &str) -> Result<Profile, Failure> {
    Profile::from_name(name).ok_or("unknown profile".into())
}

fn kind(name: &str) -> Result<&'static TypeInfo, Failure> {
    types::by_name(name).ok_or("unknown type".into())
}

fn type_line(kind: &TypeInfo) -> String {
    let id = kind.id.map_or("-".to_owned(), |id| id.to_string());
    let (name, status) = (kind.name, kind.status.name());
    format!("type\t{id}\t{name}\t{}\t{}\t{status}\n", kind.elements, kind.bytes)
}

fn open(bytes: &[u8], profile: Profile) -> Answer {
    let file = Gguf::open_with(bytes, profile)?;
    let order = match file.byte_order() {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    };
    let (version, alignment) = (file.version(), file.alignment());
    let mut out = format!("ok\t{version}\t{order}\t{alignment}\t{}\n", file.data_offset());
    for (key, value) in file.metadata().iter() {
        out.push_str("key\t");
        push_hex(&mut out, key.as_bytes());
        let _ = write!(out, "\t{}:", value.value_type());
        push_value(&mut out, &value);
        out.push('\n');
    }
    for tensor in file.tensors() {
        let dims = match tensor.dims() {
            [] => "-".to_owned(),
            dims => joined(dims.iter()),
        };
        let nbytes = tensor.nbytes().map_or("-".to_owned(), |bytes| bytes.to_string());
        out.push_str("tensor\t");
        push_hex(&mut out, tensor.name().as_bytes());
        let _ = writeln!(out, "\t{}\t{dims}\t{}\t{nbytes}", tensor.type_id(), tensor.offset());
    }
    Ok(out)
}

fn push_value(out: &mut String, value: &Value<'_>) {
    match *value {
        Value::Float32(number) if number.is_nan() => out.push_str("nan"),
        Value::Float64(number) if number.is_nan() => out.push_str("nan"),
        Value::Float32(number) => drop(write!(out, "{:08x}", number.to_bits())),
        Value::Float64(number) => drop(write!(out, "{:016x}", number.to_bits())),
        Value::Bool(truth) => out.push(if truth { '1' } else { '0' }),
        Value::String(text) => push_hex(out, text.as_bytes()),
        Value::Array(array) => push_array(out, &array),
        Value::Uint8(number) => drop(write!(out, "{number}")),
        Value::Int8(number) => drop(write!(out, "{number}")),
        Value::Uint16(number) => drop(write!(out, "{number}")),
        Value::Int16(number) => drop(write!(out, "{number}")),
        Value::Uint32(number) => drop(write!(out, "{number}")),
        Value::Int32(number) => drop(write!(out, "{number}")),
        Value::Uint64(number) => drop(write!(out, "{number}")),
        Value::Int64(number) => drop(write!(out, "{number}")),
        // A type that the specification has got since.
        ref other => push_other(out, other),
    }
}

fn push_other(out: &mut String, value: &Value<'_>) {
    match (value.as_f64(), value.value_type().bytes()) {
        (Some(number), _) if number.is_nan() => out.push_str("nan"),
        (Some(number), Some(4)) => drop(write!(out, "{:08x}", (number as f32).to_bits())),
        (Some(number), _) => drop(write!(out, "{:016x}", number.to_bits())),
        (None, _) => {
            let text = format!("{value:?}"); // an integer in parentheses
            out.push_str(text.split(['(', ')'].as_slice()).nth(1).unwrap_or(&text));
        }
    }
}

fn push_array(out: &mut String, array: &Array<'_>) {
    let _ = write!(out, "{}:{}:[", array.element_type(), array.len());
    for (number, value) in array.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        push_value(out, &value);
    }
    out.push(']');
}

fn copy(from: &str, to: &str) -> Answer {
    let bytes = std::fs::read(from)?;
    let file = Gguf::open(&bytes)?;
    let mut writer = Writer::like(&file);
    writer.add_all(file.metadata());
    let tensors: Vec<_> = file.tensors().collect();
    for tensor in &tensors {
        let kind = tensor.kind().filter(|_| tensor.nbytes().is_some()).ok_or("unknown type")?;
        writer.tensor(tensor.name(), kind, tensor.dims(), tensor.data()?)?;
    }
    let mut out = io::BufWriter::new(std::fs::File::create(to)?);
    writer.write_to(&mut out).map_err(|error| Failure::Other(error.to_string()))?;
    Ok("ok\n".to_owned())
}

/// Opens a file by its path, as a program would, and looks at all names, types and shapes.
fn open_and_list(path: &str) -> Result<(), Failure> {
    let file = Source::open_path(path).map_err(|error| Failure::Other(error.to_string()))?;
    let mut seen = 0;
    for (key, value) in file.metadata().iter() {
        seen += key.as_bytes().len() + value.value_type().id() as usize;
    }
    for tensor in file.tensors() {
        seen += tensor.name().as_bytes().len() + tensor.type_id() as usize + tensor.dims().len();
    }
    black_box(seen);
    Ok(())
}

/// The shortest of `count` times.
fn best(count: &str, mut work: impl FnMut() -> Result<(), Failure>) -> Answer {
    let count: usize = count.parse().map_err(|_| "the count is no number")?;
    let mut least = f64::INFINITY;
    for _ in 0..count {
        let start = Instant::now();
        work()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(format!("seconds\t{least:.9}\n"))
}

fn floats(values: &[f32]) -> String {
    let mut out = String::with_capacity(8 * values.len() + 5);
    out.push_str("f32\t");
    for value in values {
        push_hex(&mut out, &value.to_le_bytes());
    }
    out.push('\n');
    out
}

fn joined(numbers: impl Iterator<Item = impl ToString>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn to_hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    push_hex(&mut out, bytes);
    out
}

fn from_hex(text: &str) -> Result<Vec<u8>, Failure> {
    if text == "-" {
        return Ok(Vec::new());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    text.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()
        .ok_or("not hex".into())
}
