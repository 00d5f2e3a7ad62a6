//! The walk over the records of a file and the checks that a profile asks for.
//!
//! This code knows bytes, bounds and counts. Names of fields, widths, ids, limits and severities
//! come from the tables. Nothing is allocated by a number that a file claims, nothing recurses,
//! and no sum or product can wrap.

use alloc::vec::Vec;

use crate::error::{Error, Place};
use crate::layout;
use crate::profile::Profile;
use crate::registry::{self, TypeInfo};
use crate::tables::*;
use crate::text;

/// The size of a tensor whose type or shape does not tell it.
pub(crate) const UNKNOWN: u64 = u64::MAX;

pub(crate) type KeyRow = [u64; METADATA_COLUMNS];
pub(crate) type TensorRow = [u64; TENSORS_COLUMNS];

/// Where everything in a file is.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub(crate) layout: &'static Layout,
    pub(crate) big: bool,
    pub(crate) alignment: u64,
    pub(crate) data_offset: u64,
    pub(crate) size: u64,
    pub(crate) header: [u64; HEADER_COLUMNS],
    pub(crate) keys: Vec<KeyRow>,
    pub(crate) tensors: Vec<TensorRow>,
    /// Numbers of the keys and of the tensors in the order of their names.
    pub(crate) keys_by_name: Vec<usize>,
    pub(crate) tensors_by_name: Vec<usize>,
    /// For each tensor the bytes to the next one; empty where every size is known.
    pub(crate) reach: Vec<u64>,
}

/// Why there is no scan.
pub(crate) enum Failure<E> {
    /// The file is bad.
    Bad(Error),
    /// Padding could not be read.
    Read(E),
}

/// Reads what lies behind the records.
pub(crate) trait Rest {
    type Failure;

    /// How many of the file's bytes from `first` to `last` are not the padding byte.
    fn strangers(&mut self, first: u64, last: u64) -> Result<u64, Self::Failure>;
}

/// Why the walk cannot go on.
pub(crate) enum Stop {
    /// It has been reported.
    Fatal,
    More(u64),
}

type Step<T> = Result<T, Stop>;

/// An error that may become the first one.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) offset: u64,
    pub(crate) rule: usize,
    pub(crate) place: Place,
    pub(crate) first: i128,
    pub(crate) second: i128,
}

/// The error that is nearest to the start of the file, of those a profile asks for.
pub(crate) struct Least {
    profile: usize,
    found: Option<Found>,
}

impl Least {
    pub(crate) fn new(profile: Profile) -> Self {
        Least { profile: profile as usize, found: None }
    }

    /// Whether the profile calls a breach of the rule an error.
    pub(crate) fn asks(&self, rule: usize) -> bool {
        RULES[rule].severities[self.profile] == Severity::Error
    }

    pub(crate) fn limit(&self, rule: usize) -> u64 {
        RULES[rule].limits[self.profile]
    }

    pub(crate) fn add(&mut self, found: Found) {
        let order = |it: &Found| (it.offset, it.rule, it.place.record);
        let nearer = self.found.as_ref().map_or(true, |old| order(&found) < order(old));
        if self.asks(found.rule) && nearer {
            self.found = Some(found);
        }
    }
}

/// What of a file has been walked so far; it goes on when more bytes are there.
pub(crate) struct Walk {
    at: u64,
    layout: &'static Layout,
    big: bool,
    least: Least,
    place: Place,
    /// The section that is being read, and how many records of it are left.
    section: usize,
    left: u64,
    header: [u64; HEADER_COLUMNS],
    keys: Vec<KeyRow>,
    tensors: Vec<TensorRow>,
}

impl Walk {
    pub(crate) fn new(profile: Profile) -> Self {
        Walk {
            at: 0,
            layout: &LAYOUTS[0],
            big: false,
            least: Least::new(profile),
            place: Place { section: HEADER, record: 0, field: None },
            section: HEADER,
            left: 1,
            header: [0; HEADER_COLUMNS],
            keys: Vec::new(),
            tensors: Vec::new(),
        }
    }

    /// Walks on in a file of `size` bytes that begins with `data`; tells up to which byte it needs
    /// the file if that is not enough.
    pub(crate) fn advance(&mut self, data: &[u8], size: u64) -> Result<(), u64> {
        match (Cursor { data, size, walk: self }).sections() {
            Err(Stop::More(end)) => Err(end),
            // What is fatal has been reported, and `section` says how far it went.
            Ok(()) | Err(Stop::Fatal) => Ok(()),
        }
    }
}

/// Checks what belongs together in a file that has been walked.
pub(crate) fn finish<R: Rest>(
    walk: Walk,
    data: &[u8],
    size: u64,
    rest: &mut R,
) -> Result<Scan, Failure<R::Failure>> {
    let Walk { at: end, layout, big, mut least, section: whole, header, keys, tensors, .. } = walk;
    let mut made = Scan {
        layout,
        big,
        alignment: ALIGNMENT_DEFAULT,
        data_offset: end,
        size,
        header,
        keys_by_name: by_name(data, &keys, COLUMN_KEY_OFFSET, COLUMN_KEY_LENGTH),
        tensors_by_name: by_name(data, &tensors, COLUMN_NAME_OFFSET, COLUMN_NAME_LENGTH),
        keys,
        tensors,
        reach: Vec::new(),
    };
    check_unique(&mut least, data, &made);
    if whole > METADATA {
        let alignment = find_alignment(&mut least, data, &made);
        made.alignment = alignment.unwrap_or(ALIGNMENT_DEFAULT);
        if whole > TENSORS {
            check_present(&mut least, data, &made, end);
            let start = if made.tensors.is_empty() {
                i128::from(end)
            } else {
                layout::pad_up(i128::from(end), i128::from(made.alignment))
            };
            if alignment.is_some() {
                layout::check(&mut least, &made, end, start, rest).map_err(Failure::Read)?;
            }
            made.data_offset = u64::try_from(start).unwrap_or(u64::MAX);
        }
    }
    if let Some(found) = least.found {
        return Err(Failure::Bad(error_of(&found, data, &made)));
    }
    if made.tensors.iter().any(|row| row[COLUMN_NBYTES] == UNKNOWN) {
        made.reach = layout::reach(&made);
    }
    Ok(made)
}

fn error_of(found: &Found, data: &[u8], scan: &Scan) -> Error {
    let Found { offset, rule, place, first, second } = *found;
    let error = Error::rule(&RULES[rule]).at(offset, place).with(first, second);
    let record = usize::try_from(place.record).unwrap_or(usize::MAX);
    let name = match place.section {
        METADATA => scan.keys.get(record).map(|row| key_of(data, row)),
        TENSORS => scan.tensors.get(record).map(|row| name_of(data, row)),
        _ => None,
    };
    match name {
        Some(name) => error.about(place.section, name),
        None => error,
    }
}

/// Some bytes of the file's beginning; none if they are not there.
pub(crate) fn piece(data: &[u8], start: u64, length: u64) -> &[u8] {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    data.get(start..start.saturating_add(length)).unwrap_or(&[])
}

pub(crate) fn key_of<'a>(data: &'a [u8], row: &KeyRow) -> &'a [u8] {
    piece(data, row[COLUMN_KEY_OFFSET], row[COLUMN_KEY_LENGTH])
}

pub(crate) fn name_of<'a>(data: &'a [u8], row: &TensorRow) -> &'a [u8] {
    piece(data, row[COLUMN_NAME_OFFSET], row[COLUMN_NAME_LENGTH])
}

/// Numbers of the records in the order of their names; sorting cannot be made slow by names
/// that collide, as a hash could.
fn by_name<const N: usize>(
    data: &[u8],
    rows: &[[u64; N]],
    offset: usize,
    length: usize,
) -> Vec<usize> {
    let name = |at: usize| piece(data, rows[at][offset], rows[at][length]);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_unstable_by(|&a, &b| name(a).cmp(name(b)).then(a.cmp(&b)));
    order
}

fn check_unique(least: &mut Least, data: &[u8], scan: &Scan) {
    for (rule, entry) in RULES.iter().enumerate() {
        if entry.check != Check::Unique || !least.asks(rule) {
            continue;
        }
        for (section, fields) in scan.layout.sections.iter().enumerate() {
            for (number, field) in fields.iter().enumerate() {
                if field.at != entry.at {
                    continue;
                }
                if section == METADATA {
                    let order = &scan.keys_by_name;
                    repeated(least, rule, (section, number), order, data, scan, &scan.keys);
                } else if section == TENSORS {
                    let order = &scan.tensors_by_name;
                    repeated(least, rule, (section, number), order, data, scan, &scan.tensors);
                }
            }
        }
    }
}

/// Adds the first record whose name stood there before.
fn repeated<const N: usize>(
    least: &mut Least,
    rule: usize,
    (section, field): (usize, usize),
    order: &[usize],
    data: &[u8],
    scan: &Scan,
    rows: &[[u64; N]],
) {
    let column = scan.layout.sections[section][field].column;
    let name = |at: usize| piece(data, rows[at][column], rows[at][column + 1]);
    let mut first: Option<(usize, usize)> = None;
    let mut origin = 0;
    for pair in order.windows(2) {
        if name(pair[0]) != name(pair[1]) {
            origin = pair[1];
            continue;
        }
        if name(origin) != name(pair[0]) {
            origin = pair[0];
        }
        if first.map_or(true, |(record, _)| pair[1] < record) {
            first = Some((pair[1], origin));
        }
    }
    if let Some((record, before)) = first {
        let place = |at: usize| field_offset(scan.layout.sections[section], &rows[at], field);
        least.add(Found {
            offset: place(record),
            rule,
            place: Place { section, record: record as u64, field: Some(field) },
            first: place(before).into(),
            second: 0,
        });
    }
}

/// The file offset of a field of a record that was read whole.
pub(crate) fn field_offset(fields: &[Field], row: &[u64], wanted: usize) -> u64 {
    let mut at = row[0];
    for field in fields.iter().take(wanted) {
        at = match field.kind {
            Kind::String => row[field.column] + row[field.column + 1],
            Kind::Value => row[field.column + field.columns - 1],
            _ => at + field.bytes * field.repeat.map_or(1, |column| row[column]),
        };
    }
    at
}

/// The number of the record with a name; the last one where it stands twice.
pub(crate) fn find<const N: usize>(
    data: &[u8],
    rows: &[[u64; N]],
    order: &[usize],
    (offset, length): (usize, usize),
    name: &[u8],
) -> Option<usize> {
    let at = |number: usize| piece(data, rows[number][offset], rows[number][length]);
    let end = order.partition_point(|&number| at(number) <= name);
    let number = *order.get(end.checked_sub(1)?)?;
    (at(number) == name).then_some(number)
}

pub(crate) fn find_key(data: &[u8], scan: &Scan, name: &[u8]) -> Option<usize> {
    let columns = (COLUMN_KEY_OFFSET, COLUMN_KEY_LENGTH);
    find(data, &scan.keys, &scan.keys_by_name, columns, name)
}

/// The alignment that the file asks for; none when its key is no good.
fn find_alignment(least: &mut Least, data: &[u8], scan: &Scan) -> Option<u64> {
    let Some(record) = find_key(data, scan, ALIGNMENT_KEY.as_bytes()) else {
        return Some(ALIGNMENT_DEFAULT);
    };
    let row = &scan.keys[record];
    let (start, end) = (row[COLUMN_VALUE_OFFSET], row[COLUMN_VALUE_END]);
    let field = scan.layout.sections[METADATA].iter().position(|f| f.kind == Kind::Value);
    let place = Place { section: METADATA, record: record as u64, field };
    let id = row[COLUMN_VALUE_TYPE];
    let kind = scan.layout.types.iter().find(|kind| u64::from(kind.id) == id)?;
    let bytes = piece(data, start, end.saturating_sub(start));
    let number = match kind.shape {
        Shape::Uint => i128::try_from(load(bytes, scan.big)).unwrap_or(i128::MAX),
        Shape::Int => sign_extended(load(bytes, scan.big), bytes.len()),
        _ => 0,
    };
    let integer = matches!(kind.shape, Shape::Uint | Shape::Int);
    let broken = [
        (RULE_ALIGNMENT_UINT32, kind.name != "UINT32", i128::from(id)),
        (RULE_ALIGNMENT_INTEGER, !integer, i128::from(id)),
    ];
    let numbers = broken_by(least, number).map(|(rule, bad)| (rule, bad && integer, number));
    let mut good = number > 0;
    for (rule, bad, first) in broken.into_iter().chain(numbers) {
        if bad {
            good &= !least.asks(rule);
            let second = least.limit(rule).into();
            least.add(Found { offset: start, rule, place, first, second });
        }
    }
    u64::try_from(number).ok().filter(|_| good)
}

/// Which of the rules about an alignment's number it breaks.
fn broken_by(least: &Least, number: i128) -> [(usize, bool); 5] {
    let limit = |rule: usize| i128::from(least.limit(rule));
    let small = number < limit(RULE_ALIGNMENT_AT_LEAST);
    let power = number & number.wrapping_sub(1) == 0;
    let odd = |rule: usize| number.checked_rem(limit(rule)) != Some(0);
    let either = power || !odd(RULE_ALIGNMENT_EITHER);
    [
        (RULE_ALIGNMENT_AT_LEAST, small),
        (RULE_ALIGNMENT_POWER_OF_TWO, !small && !power),
        (RULE_ALIGNMENT_MULTIPLE, !small && odd(RULE_ALIGNMENT_MULTIPLE)),
        (RULE_ALIGNMENT_EITHER, !small && !either),
        (RULE_ALIGNMENT_AT_MOST, !small && number > limit(RULE_ALIGNMENT_AT_MOST)),
    ]
}

/// Adds keys that should be there and are not; the place is where one would be appended.
fn check_present(least: &mut Least, data: &[u8], scan: &Scan, end: u64) {
    let types = scan.tensors.iter().filter_map(|row| registry::by_id(row[COLUMN_TYPE]));
    let quantized = types.clone().any(|kind| kind.elements > 1);
    let offset = scan.tensors.first().map_or(end, |row| row[0]);
    let place = Place { section: METADATA, record: scan.keys.len() as u64, field: None };
    for (rule, entry) in RULES.iter().enumerate() {
        let asked = match entry.check {
            Check::Present => true,
            Check::PresentIfQuantized => quantized,
            _ => false,
        };
        if asked && find_key(data, scan, entry.key.as_bytes()).is_none() {
            least.add(Found { offset, rule, place, first: 0, second: 0 });
        }
    }
}

/// An unsigned number of at most 16 bytes.
pub(crate) fn load(bytes: &[u8], big: bool) -> u128 {
    let join = |value: u128, byte: &u8| value << 8 | u128::from(*byte);
    if big {
        bytes.iter().fold(0, join)
    } else {
        bytes.iter().rev().fold(0, join)
    }
}

fn sign_extended(value: u128, bytes: usize) -> i128 {
    let unused = 128_u32.saturating_sub(8 * bytes as u32).min(127);
    ((value << unused) as i128) >> unused
}

/// Walks the records; reads nothing beyond `data`, and asks for more where the file has more.
struct Cursor<'a, 'w> {
    data: &'a [u8],
    size: u64,
    walk: &'w mut Walk,
}

impl<'a> Cursor<'a, '_> {
    /// Reads what is left of all sections.
    fn sections(&mut self) -> Step<()> {
        if self.walk.section == HEADER {
            let mut row = [0; HEADER_COLUMNS];
            let read = self.again_or(HEADER, |here| here.record(&mut row));
            self.walk.header = row; // of a broken one the version
            read?;
            self.next(METADATA)?;
        }
        if self.walk.section == METADATA {
            while self.walk.left > 0 {
                let mut row = [0; METADATA_COLUMNS];
                self.again_or(METADATA, |here| here.record(&mut row))?;
                self.walk.keys.push(row);
                self.walk.place.record += 1;
                self.walk.left -= 1;
            }
            self.next(TENSORS)?;
        }
        while self.walk.left > 0 {
            let mut row = [0; TENSORS_COLUMNS];
            let places = self.again_or(TENSORS, |here| here.record(&mut row))?;
            self.size_tensor(&mut row, &places);
            self.walk.tensors.push(row);
            self.walk.place.record += 1;
            self.walk.left -= 1;
        }
        self.walk.section = SECTIONS.len();
        Ok(())
    }

    /// Reads a record; where bytes are missing, goes back to its start.
    fn again_or<T>(&mut self, section: usize, read: impl FnOnce(&mut Self) -> Step<T>) -> Step<T> {
        let start = self.walk.at;
        self.walk.place.section = section;
        let result = read(self);
        if let Err(Stop::More(_)) = result {
            self.walk.at = start;
        }
        result
    }

    /// Steps to a section, whose records the header counts.
    fn next(&mut self, section: usize) -> Step<()> {
        self.walk.section = section;
        self.walk.left = self.count(section)?;
        self.walk.place = Place { section, record: 0, field: None };
        Ok(())
    }

    /// How many records the header promises; no more than there is room for.
    fn count(&mut self, section: usize) -> Step<u64> {
        let header = self.walk.header;
        let fields = self.walk.layout.sections[HEADER];
        let Some(number) = fields.iter().position(|f| f.counts == SECTIONS[section]) else {
            return Ok(0);
        };
        let count = header[fields[number].column];
        let most = (self.size - self.walk.at) / self.walk.layout.smallest[section];
        if count > most {
            let offset = field_offset(fields, &header, number);
            self.walk.place = Place { section: HEADER, record: 0, field: Some(number) };
            return self.stop(RULE_COUNT_FITS, offset, count, most);
        }
        Ok(count)
    }

    /// Reads one record; gives where its fields start.
    fn record(&mut self, row: &mut [u64]) -> Step<[u64; MOST_FIELDS]> {
        let mut places = [0; MOST_FIELDS];
        row[0] = self.walk.at;
        let section = self.walk.place.section;
        let mut number = 0;
        // The header's version decides about the fields behind it.
        while let Some(field) = self.walk.layout.sections[section].get(number) {
            self.walk.place.field = Some(number);
            places[number] = self.walk.at;
            match field.kind {
                Kind::Literal => self.literal(field)?,
                Kind::Version => self.version(field, row)?,
                Kind::Number => self.numbers(field, row)?,
                Kind::String => self.string(field, row)?,
                Kind::Value => self.value(field, row)?,
            }
            number += 1;
        }
        Ok(places)
    }

    // ---- findings

    fn report(&mut self, rule: usize, offset: u64, first: u64, second: u64) {
        let place = self.walk.place;
        let (first, second) = (first.into(), second.into());
        self.walk.least.add(Found { offset, rule, place, first, second });
    }

    fn stop<T>(&mut self, rule: usize, offset: u64, first: u64, second: u64) -> Step<T> {
        self.report(rule, offset, first, second);
        Err(Stop::Fatal)
    }

    /// The next bytes; what needs them began at `offset`.
    fn take(&mut self, offset: u64, bytes: u64) -> Step<&'a [u8]> {
        let left = self.size - self.walk.at;
        if bytes > left {
            return self.stop(RULE_FITS, offset, bytes, left);
        }
        let end = self.walk.at + bytes;
        if end > self.data.len() as u64 {
            return Err(Stop::More(end));
        }
        // Both are at most the length of the data.
        let found = &self.data[self.walk.at as usize..end as usize];
        self.walk.at = end;
        Ok(found)
    }

    fn check_number(&mut self, rules: &[usize], offset: u64, value: u64) {
        for &rule in rules {
            let limit = self.walk.least.limit(rule);
            let broken = match RULES[rule].check {
                Check::AtLeast => value < limit,
                Check::AtMost => value > limit,
                _ => false,
            };
            if broken && self.walk.least.asks(rule) {
                self.report(rule, offset, value, limit);
            }
        }
    }

    fn check_text(&mut self, rules: &[usize], offset: u64, bytes: &[u8]) {
        self.check_number(rules, offset, bytes.len() as u64);
        for &rule in rules {
            if !self.walk.least.asks(rule) {
                continue;
            }
            let holds = match RULES[rule].check {
                Check::Utf8 => core::str::from_utf8(bytes).is_ok(),
                Check::Printable => text::is_printable(bytes),
                Check::Dotted => text::is_dotted(bytes),
                _ => true,
            };
            if !holds {
                self.report(rule, offset, 1, 0);
            }
        }
    }

    // ---- fields

    fn number(&mut self, bytes: u64) -> Step<u64> {
        let big = self.walk.big;
        let found = self.take(self.walk.at, bytes)?;
        Ok(load(found, big) as u64)
    }

    fn literal(&mut self, field: &Field) -> Step<()> {
        let start = self.walk.at;
        let found = self.take(start, field.bytes)?;
        if found == field.literal {
            return Ok(());
        }
        let start_of = |&(magic, _): &(&[u8], &str)| self.data.starts_with(magic);
        let alike = LOOKALIKES.iter().position(start_of).map_or(0, |at| at as u64 + 1);
        self.stop(RULE_LITERAL, start, alike, 0)
    }

    /// The version, which also tells the byte order: in the file's own it is a small number.
    fn version(&mut self, field: &Field, row: &mut [u64]) -> Step<()> {
        let start = self.walk.at;
        let found = self.take(start, field.bytes)?;
        let (little, big) = (load(found, false) as u64, load(found, true) as u64);
        self.walk.big = little >= VERSION_BELOW && big < VERSION_BELOW;
        let version = if self.walk.big { big } else { little };
        row[field.column] = version;
        let Some(layout) = LAYOUTS.iter().find(|layout| u64::from(layout.version) == version)
        else {
            return self.stop(RULE_KNOWN_VERSION, start, version, 0);
        };
        self.walk.layout = layout;
        if self.walk.big {
            self.report(RULE_LITTLE_ENDIAN, start, 0, 0);
        }
        self.check_number(field.rules, start, version);
        Ok(())
    }

    fn numbers(&mut self, field: &Field, row: &mut [u64]) -> Step<()> {
        let times = field.repeat.map_or(1, |column| row[column]);
        if times > field.columns as u64 {
            return Err(Stop::Fatal); // a rule of the repeating field has said so
        }
        let (stored, rest) =
            row[field.column..field.column + field.columns].split_at_mut(times as usize);
        for value in stored {
            let start = self.walk.at;
            *value = self.number(field.bytes)?;
            self.check_number(field.rules, start, *value);
        }
        rest.fill(1);
        Ok(())
    }

    fn string(&mut self, field: &Field, row: &mut [u64]) -> Step<()> {
        let start = self.walk.at;
        let length = self.number(field.bytes)?;
        row[field.column] = self.walk.at;
        row[field.column + 1] = length;
        let found = self.take(start, length)?;
        self.check_text(field.rules, start, found);
        Ok(())
    }

    fn value(&mut self, field: &Field, row: &mut [u64]) -> Step<()> {
        let start = self.walk.at;
        let id = self.number(field.bytes)?;
        let kind = self.value_type(start, id)?;
        let value = &mut row[field.column..field.column + field.columns];
        value[0] = id;
        if kind.shape == Shape::Array {
            let (element, count, first) = self.array()?;
            value[1..4].copy_from_slice(&[element, count, first]);
        } else {
            let skipped =
                if kind.shape == Shape::String { self.walk.layout.string_length } else { 0 };
            value[1..4].copy_from_slice(&[id, 1, self.walk.at + skipped]);
            self.elements(kind, 1)?;
        }
        value[4] = self.walk.at;
        Ok(())
    }

    fn value_type(&mut self, offset: u64, id: u64) -> Step<&'static ValueInfo> {
        match self.walk.layout.types.iter().find(|kind| u64::from(kind.id) == id) {
            Some(kind) => Ok(kind),
            None => self.stop(RULE_KNOWN_VALUE, offset, id, 0),
        }
    }

    // ---- arrays

    /// Walks one array with all that is in it: element type, count, first byte.
    fn array(&mut self) -> Step<(u64, u64, u64)> {
        let mut left = [0_u64; DEEPEST]; // inner arrays still to come, for each level
        let (mut depth, mut deepest) = (0, 0);
        let mut start = self.walk.at;
        let (mut kind, mut count) = self.array_head()?;
        let outer = (kind.id.into(), count, self.walk.at);
        loop {
            if kind.shape == Shape::Array {
                if depth == deepest {
                    deepest += 1;
                    self.check_depth(start, deepest as u64);
                }
                match left.get_mut(depth) {
                    Some(level) => *level = count,
                    None => return Err(Stop::Fatal), // a rule about depth has said so
                }
                depth += 1;
            } else {
                self.elements(kind, count)?;
            }
            while depth > 0 && left[depth - 1] == 0 {
                depth -= 1;
            }
            if depth == 0 {
                return Ok(outer);
            }
            left[depth - 1] -= 1;
            start = self.walk.at;
            (kind, count) = self.array_head()?;
        }
    }

    fn array_head(&mut self) -> Step<(&'static ValueInfo, u64)> {
        let (mut id, mut count) = ((0, 0), (0, 0)); // each with where it stands
        for &(is_count, bytes) in &self.walk.layout.array {
            let start = self.walk.at;
            let number = (self.number(bytes)?, start);
            *(if is_count { &mut count } else { &mut id }) = number;
        }
        let kind = self.value_type(id.1, id.0)?;
        self.check_number(RULES_COUNT, count.1, count.0);
        let room = (self.size - self.walk.at) / kind.smallest;
        if count.0 > room {
            return self.stop(RULE_COUNT_FITS, count.1, count.0, room);
        }
        Ok((kind, count.0))
    }

    /// A rule about depth fires at the first array that is too deep.
    fn check_depth(&mut self, offset: u64, depth: u64) {
        for &rule in RULES_DEPTH {
            let limit = self.walk.least.limit(rule);
            if self.walk.least.asks(rule) && depth == limit + 1 {
                self.report(rule, offset, depth, limit);
            }
        }
    }

    fn elements(&mut self, kind: &ValueInfo, count: u64) -> Step<()> {
        if kind.shape == Shape::String {
            return match (self.walk.layout.string_length, self.walk.big) {
                (8, false) => self.strings(kind, count, u64::from_le_bytes),
                (8, true) => self.strings(kind, count, u64::from_be_bytes),
                (4, false) => self.strings(kind, count, |four| u32::from_le_bytes(four).into()),
                (4, true) => self.strings(kind, count, |four| u32::from_be_bytes(four).into()),
                _ => Err(Stop::Fatal), // the specification has no other width
            };
        }
        let start = self.walk.at;
        let bytes = count.saturating_mul(kind.bytes);
        let found = self.take(start, bytes)?;
        for &rule in kind.rules {
            if self.walk.least.asks(rule) {
                self.check_scalars(kind, rule, start, found);
            }
        }
        Ok(())
    }

    /// The first scalar that breaks a rule; one finding a rule.
    fn check_scalars(&mut self, kind: &ValueInfo, rule: usize, start: u64, found: &[u8]) {
        let (limit, big) = (u128::from(self.walk.least.limit(rule)), self.walk.big);
        let width = kind.bytes as usize;
        let broken = |value: u128| match RULES[rule].check {
            Check::AtLeast => value < limit,
            Check::AtMost => value > limit,
            _ => false,
        };
        let bad = found.chunks_exact(width).position(|scalar| broken(load(scalar, big)));
        if let Some(at) = bad {
            let value = load(&found[at * width..(at + 1) * width], big);
            self.report(rule, start + (at * width) as u64, value as u64, limit as u64);
        }
    }

    /// Goes behind strings whose lengths have `W` bytes.
    fn strings<const W: usize>(
        &mut self,
        kind: &ValueInfo,
        count: u64,
        length: impl Fn([u8; W]) -> u64,
    ) -> Step<()> {
        let asked = |rule: &&usize| self.walk.least.asks(**rule);
        let utf8 = kind.rules.iter().filter(asked).find(|&&rule| RULES[rule].check == Check::Utf8);
        let checked = kind.rules.iter().any(|&rule| {
            self.walk.least.asks(rule)
                && matches!(RULES[rule].check, Check::AtLeast | Check::AtMost)
        });
        let mut bad = (0, 0); // offset of the first string that is not UTF-8, how many there are
        for _ in 0..count {
            let start = self.walk.at;
            let from = usize::try_from(start).unwrap_or(usize::MAX);
            let left = self.data.get(from..).unwrap_or(&[]);
            let (bytes, text) = match left.split_first_chunk::<W>() {
                Some((head, text)) => (length(*head), text),
                None => (length(to_array(self.take(start, W as u64)?)), &[][..]),
            };
            let text = match usize::try_from(bytes).ok().and_then(|end| text.get(..end)) {
                Some(text) => {
                    self.walk.at = start + W as u64 + bytes;
                    text
                }
                None => {
                    self.walk.at = start + W as u64;
                    self.take(start, bytes)?
                }
            };
            if checked {
                self.check_number(kind.rules, start, bytes);
            }
            if utf8.is_some() && core::str::from_utf8(text).is_err() {
                bad = (if bad.1 == 0 { start } else { bad.0 }, bad.1 + 1);
            }
        }
        if let (Some(&rule), (offset, 1..)) = (utf8, bad) {
            self.report(rule, offset, bad.1, 0);
        }
        Ok(())
    }

    // ---- tensors

    fn size_tensor(&mut self, row: &mut TensorRow, places: &[u64; MOST_FIELDS]) {
        row[COLUMN_NBYTES] = match self.sized(row) {
            Ok(bytes) => bytes,
            Err((rule, column, first, second)) => {
                let fields = self.walk.layout.sections[TENSORS];
                if let (Some(rule), Some(number)) =
                    (rule, fields.iter().position(|field| field.column == column))
                {
                    self.walk.place.field = Some(number);
                    self.report(rule, places[number], first, second);
                }
                UNKNOWN
            }
        };
        let most = self.walk.least.limit(RULE_ELEMENTS);
        let dims = &row[COLUMN_DIMS..COLUMN_DIMS + MOST_DIMS];
        let large = dims.iter().any(|&dim| dim > most); // which has a rule of its own
        if count_elements(dims, most).is_none() && !large {
            let fields = self.walk.layout.sections[TENSORS];
            if let Some(number) = fields.iter().position(|field| field.column == COLUMN_DIMS) {
                self.walk.place.field = Some(number);
                self.report(RULE_ELEMENTS, places[number], 0, most);
            }
        }
    }

    /// The bytes of a tensor, or the rule that they break, its column, and the rule's numbers.
    fn sized(&self, row: &TensorRow) -> Result<u64, (Option<usize>, usize, u64, u64)> {
        let dims = &row[COLUMN_DIMS..COLUMN_DIMS + MOST_DIMS];
        let id = row[COLUMN_TYPE];
        let kind: &TypeInfo = match registry::by_id(id) {
            None => return Err((Some(RULE_KNOWN_TYPE), COLUMN_TYPE, id, 0)),
            Some(kind) if kind.elements == 0 => {
                return Err((Some(RULE_LIVE_TYPE), COLUMN_TYPE, id, 0))
            }
            Some(kind) => kind,
        };
        let block = kind.elements as u64;
        if dims[0] % block != 0 {
            return Err((Some(RULE_WHOLE_ROWS), COLUMN_DIMS, dims[0], block));
        }
        let Some(elements) = count_elements(dims, self.walk.least.limit(RULE_ELEMENTS)) else {
            return Err((None, COLUMN_DIMS, 0, 0));
        };
        if dims.contains(&0) {
            return Ok(0);
        }
        let most = self.walk.least.limit(RULE_BYTES);
        let row_bytes = u128::from(dims[0] / block) * kind.bytes as u128 + kind.row_prefix as u128;
        // Each factor is below 2^64 + 2^32, so that only the product of both could be too large.
        let total = row_bytes
            .checked_mul(u128::from(elements / dims[0]))
            .and_then(|bytes| bytes.checked_add(kind.tensor_suffix as u128));
        match total.and_then(|bytes| u64::try_from(bytes).ok()).filter(|&bytes| bytes <= most) {
            Some(bytes) => Ok(bytes),
            None => Err((Some(RULE_BYTES), COLUMN_DIMS, 0, most)),
        }
    }
}

fn to_array<const W: usize>(bytes: &[u8]) -> [u8; W] {
    let mut made = [0; W];
    made.copy_from_slice(bytes);
    made
}

/// The product of the dimensions but zero, which hides no overflow of the others; none when it is
/// out of range. The test is the one that ggml asserts, a little stricter than the product.
fn count_elements(dims: &[u64], most: u64) -> Option<u64> {
    let mut elements = dims[0].max(1);
    if elements > most {
        return None;
    }
    for &dim in &dims[1..] {
        if dim > 1 {
            if most / dim <= elements {
                return None;
            }
            elements *= dim;
        }
    }
    Some(elements)
}
