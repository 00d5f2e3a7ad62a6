//! A file that is read piece by piece.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{error, fmt};

use crate::error::Error;
use crate::file::{count_strangers, ByteOrder, Metadata, TensorInfo};
use crate::profile::Profile;
use crate::scan::{self, Failure, Rest, Scan, Walk};

/// Bytes that are read at first.
const FIRST: u64 = 1 << 20;
/// How many times as many are read when they do not hold all records.
const GROWTH: u64 = 2;
/// Room that is set aside at first, so that nothing moves; it costs nothing until it is filled.
const ROOM: u64 = 1 << 24;
/// Bytes of padding that are looked at together.
const PIECE: usize = 1 << 16;

/// Why a file could not be opened or read: the system's fault or the file's.
#[derive(Debug)]
pub enum SourceError {
    /// The system failed.
    Io(io::Error),
    /// Something is wrong in the file.
    Gguf(Error),
}

impl fmt::Display for SourceError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::Io(error) => error.fmt(to),
            SourceError::Gguf(error) => error.fmt(to),
        }
    }
}

impl error::Error for SourceError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            SourceError::Io(error) => Some(error),
            SourceError::Gguf(error) => Some(error),
        }
    }
}

impl From<io::Error> for SourceError {
    fn from(error: io::Error) -> Self {
        SourceError::Io(error)
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        SourceError::Gguf(error)
    }
}

/// An open file of which only the records are in memory; tensors are read one by one.
///
/// The standard library maps no files, so this is how a file larger than memory is read: by any
/// reader that can seek. [`Gguf`](crate::Gguf) takes the bytes of a map that another crate made.
///
/// ```no_run
/// let file = ggufspec::Source::open_path("model.gguf")?;
/// let tensor = file.tensor("output_norm.weight").ok_or("no such tensor")?;
/// let values = file.dequantize(&tensor)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Source<R> {
    reader: Mutex<R>,
    front: Vec<u8>,
    scan: Scan,
}

impl Source<File> {
    /// Opens a file by its path, under the default profile.
    pub fn open_path(path: impl AsRef<Path>) -> Result<Self, SourceError> {
        Self::open(File::open(path)?)
    }
}

impl<R: Read + Seek> Source<R> {
    /// Reads the records, under the default profile (`lenient`).
    pub fn open(reader: R) -> Result<Self, SourceError> {
        Self::open_with(reader, Profile::default())
    }

    /// The same under another profile.
    ///
    /// Memory grows with the records that the file really has, never with what it claims.
    pub fn open_with(mut reader: R, profile: Profile) -> Result<Self, SourceError> {
        let size = reader.seek(SeekFrom::End(0))?;
        let mut front = Vec::new();
        // Where there is no such room, the first read will say so.
        let _ = front.try_reserve_exact(ROOM.min(size) as usize);
        let mut walk = Walk::new(profile);
        let mut wanted = FIRST.min(size);
        loop {
            reader.seek(SeekFrom::Start(front.len() as u64))?;
            read_on(&mut reader, wanted - front.len() as u64, &mut front)?;
            match walk.advance(&front, size) {
                Ok(()) => break,
                // Some times as much as there is, however much the file claims to need.
                Err(_) => wanted = wanted.saturating_mul(GROWTH).min(size),
            }
        }
        match scan::finish(walk, &front, size, &mut Padding(&mut reader)) {
            Ok(scan) => Ok(Source { reader: Mutex::new(reader), front, scan }),
            Err(Failure::Bad(error)) => Err(error.into()),
            Err(Failure::Read(error)) => Err(error.into()),
        }
    }

    /// The bytes of a tensor, in the byte order of the file.
    pub fn read(&self, tensor: &TensorInfo<'_>) -> Result<Vec<u8>, SourceError> {
        let mut found = Vec::new();
        let mut reader = self.reader();
        self.seek(&mut reader, tensor, 0, tensor.extent())?;
        read_on(&mut *reader, tensor.extent(), &mut found)?;
        Ok(found)
    }

    /// Fills `to` with bytes of a tensor, from byte `first` of it on.
    pub fn read_at(
        &self,
        tensor: &TensorInfo<'_>,
        first: u64,
        to: &mut [u8],
    ) -> Result<(), SourceError> {
        let mut reader = self.reader();
        self.seek(&mut reader, tensor, first, to.len() as u64)?;
        Ok(reader.read_exact(to)?)
    }

    /// The values of a tensor as float32; see [`Tensor::dequantize`](crate::Tensor::dequantize).
    pub fn dequantize(&self, tensor: &TensorInfo<'_>) -> Result<Vec<f32>, SourceError> {
        tensor.layout()?;
        Ok(tensor.dequantize(&self.read(tensor)?)?)
    }

    fn seek(
        &self,
        reader: &mut R,
        tensor: &TensorInfo<'_>,
        first: u64,
        bytes: u64,
    ) -> Result<(), SourceError> {
        let inside = first.checked_add(bytes).is_some_and(|end| end <= tensor.extent());
        if !inside {
            return Err(Error::argument("more bytes than the tensor has").into());
        }
        let start = tensor.file_offset().saturating_add(first);
        if start.checked_add(bytes).map_or(true, |end| end > self.scan.size) {
            return Err(tensor.outside(self.scan.size).into());
        }
        reader.seek(SeekFrom::Start(start))?;
        Ok(())
    }

    fn reader(&self) -> MutexGuard<'_, R> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R> Source<R> {
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
        Metadata { data: &self.front, scan: &self.scan }
    }

    /// The tensors in the order of the file.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = TensorInfo<'_>> + Clone {
        (0..self.scan.tensors.len()).map(|at| TensorInfo::new(&self.front, &self.scan, at))
    }

    /// The tensor with a name.
    pub fn tensor(&self, name: &str) -> Option<TensorInfo<'_>> {
        let number = self.scan.find_tensor(&self.front, name.as_bytes())?;
        Some(TensorInfo::new(&self.front, &self.scan, number))
    }

    /// The reader, to be used otherwise.
    pub fn into_inner(self) -> R {
        self.reader.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends `count` bytes; an error where there is no memory for them, or the file is shorter.
fn read_on(reader: &mut impl Read, count: u64, to: &mut Vec<u8>) -> io::Result<()> {
    let room = usize::try_from(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
    to.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
    if (reader.take(count).read_to_end(to)? as u64) < count {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

struct Padding<'a, R>(&'a mut R);

impl<R: Read + Seek> Rest for Padding<'_, R> {
    type Failure = io::Error;

    fn strangers(&mut self, first: u64, last: u64) -> Result<u64, io::Error> {
        self.0.seek(SeekFrom::Start(first))?;
        let mut buffer = [0; PIECE];
        let (mut left, mut count) = (last - first, 0);
        while left > 0 {
            let some = left.min(PIECE as u64) as usize;
            self.0.read_exact(&mut buffer[..some])?;
            count += count_strangers(&buffer[..some]);
            left -= some as u64;
        }
        Ok(count)
    }
}
