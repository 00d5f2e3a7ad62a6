//! An open file whose bytes are in memory, and what both kinds of open files show.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use crate::blocks;
use crate::error::Error;
use crate::profile::Profile;
use crate::registry::{self, TypeInfo};
use crate::scan::{self, Failure, Rest, Scan, Walk, UNKNOWN};
use crate::tables::*;
use crate::value::{Array, Form, Text, Value, ValueType, ARRAY};
use crate::writer::Stored;

/// The order of the bytes of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The lowest byte first: nearly every file.
    #[default]
    Little,
    /// The highest byte first.
    Big,
}

/// An open file whose bytes are in memory, read or mapped.
///
/// ```no_run
/// let bytes = std::fs::read("model.gguf")?;
/// let file = ggufspec::Gguf::open(&bytes)?;
/// println!("{:?}", file.metadata().get("general.architecture"));
/// for tensor in file.tensors() {
///     println!("{} {:?}", tensor.name(), tensor.dims());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gguf<'a> {
    data: &'a [u8],
    scan: Scan,
}

impl<'a> Gguf<'a> {
    /// Reads everything but the tensors' data, under the default profile (`lenient`).
    pub fn open(data: &'a [u8]) -> Result<Self, Error> {
        Self::open_with(data, Profile::default())
    }

    /// The same under another profile; the first error of the file is what comes back.
    pub fn open_with(data: &'a [u8], profile: Profile) -> Result<Self, Error> {
        let (size, mut walk) = (data.len() as u64, Walk::new(profile));
        if let Err(end) = walk.advance(data, size) {
            // Not so: a walk never asks for bytes that the file does not have.
            return Err(Error::rule(&RULES[RULE_FITS]).with(end.into(), size.into()));
        }
        match scan::finish(walk, data, size, &mut InMemory(data)) {
            Ok(scan) => Ok(Gguf { data, scan }),
            Err(Failure::Bad(error)) => Err(error),
            Err(Failure::Read(never)) => match never {},
        }
    }

    /// The version of the container.
    pub fn version(&self) -> u32 {
        self.scan.layout.version
    }

    /// The order of the bytes of numbers.
    pub fn byte_order(&self) -> ByteOrder {
        self.scan.byte_order()
    }

    /// Bytes that tensors are aligned to.
    pub fn alignment(&self) -> u64 {
        self.scan.alignment
    }

    /// Where the data section starts, in bytes from the start of the file.
    pub fn data_offset(&self) -> u64 {
        self.scan.data_offset
    }

    /// Keys and values.
    pub fn metadata(&self) -> Metadata<'_> {
        Metadata { data: self.data, scan: &self.scan }
    }

    /// The tensors in the order of the file.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Tensor<'_>> + Clone {
        (0..self.scan.tensors.len()).map(|number| self.tensor_at(number))
    }

    /// The tensor with a name.
    pub fn tensor(&self, name: &str) -> Option<Tensor<'_>> {
        self.tensor_named(name.as_bytes())
    }

    /// The tensor with a name that need not be UTF-8.
    pub fn tensor_named(&self, name: &[u8]) -> Option<Tensor<'_>> {
        self.scan.find_tensor(self.data, name).map(|number| self.tensor_at(number))
    }

    fn tensor_at(&self, number: usize) -> Tensor<'_> {
        Tensor { info: TensorInfo::new(self.data, &self.scan, number), data: self.data }
    }

    pub(crate) fn header(&self) -> &[u64; HEADER_COLUMNS] {
        &self.scan.header
    }
}

impl Scan {
    pub(crate) fn byte_order(&self) -> ByteOrder {
        if self.big {
            ByteOrder::Big
        } else {
            ByteOrder::Little
        }
    }

    pub(crate) fn find_tensor(&self, data: &[u8], name: &[u8]) -> Option<usize> {
        let columns = (COLUMN_NAME_OFFSET, COLUMN_NAME_LENGTH);
        scan::find(data, &self.tensors, &self.tensors_by_name, columns, name)
    }
}

struct InMemory<'a>(&'a [u8]);

impl Rest for InMemory<'_> {
    type Failure = core::convert::Infallible;

    fn strangers(&mut self, first: u64, last: u64) -> Result<u64, Self::Failure> {
        Ok(count_strangers(scan::piece(self.0, first, last - first)))
    }
}

/// How many bytes are not the padding byte.
pub(crate) fn count_strangers(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte != PADDING).count() as u64
}

/// Keys and values of a file, in its order.
#[derive(Clone, Copy)]
pub struct Metadata<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) scan: &'a Scan,
}

impl<'a> Metadata<'a> {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.scan.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.scan.keys.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.get_bytes(key.as_bytes())
    }

    /// The value of a key that need not be UTF-8.
    pub fn get_bytes(&self, key: &[u8]) -> Option<Value<'a>> {
        scan::find_key(self.data, self.scan, key).and_then(|number| self.value(number))
    }

    /// Keys and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> + Clone + 'a {
        let here = *self;
        (0..here.len()).filter_map(move |number| {
            let key = Text(scan::key_of(here.data, &here.scan.keys[number]));
            here.value(number).map(|value| (key, value))
        })
    }

    /// Keys, and values as they lie in the file.
    pub(crate) fn stored(self) -> impl Iterator<Item = (Text<'a>, Stored<'a>)> {
        (0..self.len()).filter_map(move |number| {
            let key = Text(scan::key_of(self.data, &self.scan.keys[number]));
            self.stored_at(number).map(|stored| (key, stored))
        })
    }

    fn stored_at(&self, number: usize) -> Option<Stored<'a>> {
        let row = &self.scan.keys[number];
        let form = Form { layout: self.scan.layout, big: self.scan.big };
        let of = |column: usize| u32::try_from(row[column]).ok().and_then(ValueType::from_id);
        let start = row[COLUMN_VALUE_OFFSET];
        let length = row[COLUMN_VALUE_END].checked_sub(start)?;
        let bytes = scan::piece(self.data, start, length);
        let (kind, element) = (of(COLUMN_VALUE_TYPE)?, of(COLUMN_ELEMENT_TYPE)?);
        let count = row[COLUMN_COUNT].try_into().ok()?;
        let array = (kind == ARRAY).then_some(Array { kind: element, count, bytes, form });
        Some(Stored { kind, bytes, array, form })
    }

    fn value(&self, number: usize) -> Option<Value<'a>> {
        let Stored { kind, bytes, array, form } = self.stored_at(number)?;
        array.map_or_else(|| Value::load(kind, bytes, form), |array| Some(array.into()))
    }
}

impl fmt::Debug for Metadata<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_map().entries(self.iter()).finish()
    }
}

/// What a file says about a tensor.
#[derive(Clone, Copy, Debug)]
pub struct TensorInfo<'a> {
    name: Text<'a>,
    type_id: u32,
    dims: &'a [u64],
    offset: u64,
    nbytes: Option<u64>,
    extent: u64,
    start: u64,
    big: bool,
}

impl<'a> TensorInfo<'a> {
    pub(crate) fn new(data: &'a [u8], scan: &'a Scan, number: usize) -> Self {
        let row = &scan.tensors[number];
        let rank = row[COLUMN_N_DIMS].min(MOST_DIMS as u64) as usize;
        let nbytes = row[COLUMN_NBYTES];
        TensorInfo {
            name: Text(scan::name_of(data, row)),
            type_id: row[COLUMN_TYPE] as u32, // four bytes in every version
            dims: &row[COLUMN_DIMS..COLUMN_DIMS + rank],
            offset: row[COLUMN_OFFSET],
            nbytes: (nbytes != UNKNOWN).then_some(nbytes),
            extent: if nbytes != UNKNOWN { nbytes } else { scan.reach[number] },
            start: scan.data_offset.saturating_add(row[COLUMN_OFFSET]),
            big: scan.big,
        }
    }

    /// The name.
    pub fn name(&self) -> Text<'a> {
        self.name
    }

    /// ggml's number of the type.
    pub fn type_id(&self) -> u32 {
        self.type_id
    }

    /// The type; none for a number that nobody knows.
    pub fn kind(&self) -> Option<&'static TypeInfo> {
        registry::by_id(self.type_id.into())
    }

    /// Elements along each axis, the fastest axis first, as files and ggml have it.
    pub fn dims(&self) -> &'a [u64] {
        self.dims
    }

    /// Elements along each axis, rows last, as NumPy has it.
    pub fn shape(&self) -> impl ExactSizeIterator<Item = u64> + 'a {
        self.dims.iter().rev().copied()
    }

    /// Where the data starts, in bytes from the start of the data section.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Where the data starts, in bytes from the start of the file.
    pub fn file_offset(&self) -> u64 {
        self.start
    }

    /// Bytes of the data without padding; none where type or shape do not tell.
    pub fn nbytes(&self) -> Option<u64> {
        self.nbytes
    }

    /// Bytes of the data; where type and shape do not tell, the bytes to the next tensor.
    pub fn extent(&self) -> u64 {
        self.extent
    }

    fn error(&self, rule: usize, first: u64, second: u64) -> Error {
        Error::rule(&RULES[rule])
            .with(first.into(), second.into())
            .about(TENSORS, self.name.as_bytes())
    }

    pub(crate) fn outside(&self, size: u64) -> Error {
        self.error(RULE_INSIDE, self.start.saturating_add(self.extent), size)
    }

    /// The float32 values of the tensor's data.
    pub(crate) fn dequantize(&self, data: &[u8]) -> Result<Vec<f32>, Error> {
        let kind = self.layout()?;
        let row = self.dims.first().copied().unwrap_or(1);
        let too_large = || self.error(RULE_BYTES, 0, u64::MAX);
        let elements = match self.nbytes {
            None => return Err(self.error(RULE_WHOLE_ROWS, row, kind.elements as u64)),
            Some(0) => 0,
            Some(_) => self
                .dims
                .iter()
                .try_fold(1, |all: u64, &dim| all.checked_mul(dim))
                .and_then(|all| usize::try_from(all).ok())
                .ok_or_else(too_large)?,
        };
        if elements == 0 || self.dims.contains(&0) {
            return Ok(Vec::new());
        }
        let row = usize::try_from(row).map_err(|_| too_large())?;
        let mut out = vec![0.0; elements];
        blocks::dequantize_rows(kind, data, row, self.big, &mut out)?;
        Ok(out)
    }

    /// The type, if it has a layout.
    pub(crate) fn layout(&self) -> Result<&'static TypeInfo, Error> {
        match self.kind() {
            None => Err(self.error(RULE_KNOWN_TYPE, self.type_id.into(), 0)),
            Some(kind) if kind.elements == 0 => {
                Err(self.error(RULE_LIVE_TYPE, self.type_id.into(), 0))
            }
            Some(kind) => Ok(kind),
        }
    }
}

/// A tensor of a file that is in memory.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    info: TensorInfo<'a>,
    data: &'a [u8],
}

impl<'a> Tensor<'a> {
    /// Its bytes, in the byte order of the file and without a copy.
    ///
    /// Under the profile `ggml` a file may lack some of them, which is an error here.
    pub fn data(&self) -> Result<&'a [u8], Error> {
        let (start, bytes) = (self.info.file_offset(), self.info.extent());
        let found = scan::piece(self.data, start, bytes);
        if found.len() as u64 != bytes {
            return Err(self.info.outside(self.data.len() as u64));
        }
        Ok(found)
    }

    /// Its values as float32 in the order of the file, bit for bit what ggml makes of them.
    ///
    /// An error for types that are unknown or removed, and for rows without whole blocks.
    pub fn dequantize(&self) -> Result<Vec<f32>, Error> {
        self.info.layout()?;
        self.info.dequantize(self.data()?)
    }
}

impl<'a> core::ops::Deref for Tensor<'a> {
    type Target = TensorInfo<'a>;

    fn deref(&self) -> &TensorInfo<'a> {
        &self.info
    }
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info.fmt(to)
    }
}
