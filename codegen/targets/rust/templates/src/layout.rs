//! Where tensors lie in the data section: alignment, order, gaps, overlaps, padding.

use alloc::vec;
use alloc::vec::Vec;

use crate::error::{Place, DATA};
use crate::scan::{field_offset, Found, Least, Rest, Scan, UNKNOWN};
use crate::tables::*;

/// The next multiple of the alignment, or the offset itself if it is one.
pub(crate) fn pad_up(offset: i128, alignment: i128) -> i128 {
    offset + (-offset).rem_euclid(alignment)
}

/// What the checks look at. Offsets count from the start of the section.
struct Data<'a> {
    scan: &'a Scan,
    alignment: i128,
    metadata_end: i128,
    start: i128,
    size: i128,
    /// Bytes of the file from the start of the section on; negative if it ends before.
    room: i128,
}

/// Adds what is wrong with the tensors' places; reads padding where the profile asks for it.
pub(crate) fn check<R: Rest>(
    least: &mut Least,
    scan: &Scan,
    metadata_end: u64,
    start: i128,
    rest: &mut R,
) -> Result<(), R::Failure> {
    let size = i128::from(scan.size);
    let data = Data {
        scan,
        alignment: scan.alignment.into(),
        metadata_end: metadata_end.into(),
        start,
        size,
        room: size - start,
    };
    if !scan.tensors.is_empty() && data.room < 0 {
        data.report_data(least, RULE_DATA_START, data.metadata_end, start, size);
        return Ok(());
    }
    if !data.tiled() {
        let overlapping = data.check_overlap(least);
        data.check_places(least, &overlapping);
    }
    if least.asks(RULE_ZERO_PADDING) {
        data.check_padding(least, rest)?;
    }
    if least.asks(RULE_NO_TAIL) {
        if let Some(end) = data.end().filter(|&end| end < size) {
            data.report_data(least, RULE_NO_TAIL, end, size - end, 0);
        }
    }
    Ok(())
}

/// How many bytes each tensor has until the next one, or the end of the file.
pub(crate) fn reach(scan: &Scan) -> Vec<u64> {
    let mut end = scan.size.saturating_sub(scan.data_offset);
    let mut found = vec![0; scan.tensors.len()];
    for &index in by_offset(scan).iter().rev() {
        let row = &scan.tensors[index];
        found[index] = end.saturating_sub(row[COLUMN_OFFSET]);
        if row[COLUMN_NBYTES] != 0 {
            end = end.min(row[COLUMN_OFFSET]); // an empty neighbour bounds nothing
        }
    }
    found
}

/// Numbers of the tensors in the order of their data.
fn by_offset(scan: &Scan) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scan.tensors.len()).collect();
    order.sort_unstable_by_key(|&index| (scan.tensors[index][COLUMN_OFFSET], index));
    order
}

impl Data<'_> {
    fn offset(&self, index: usize) -> i128 {
        self.scan.tensors[index][COLUMN_OFFSET].into()
    }

    /// The size of a tensor, if it is known.
    fn bytes(&self, index: usize) -> Option<i128> {
        let bytes = self.scan.tensors[index][COLUMN_NBYTES];
        (bytes != UNKNOWN).then_some(bytes.into())
    }

    /// Whether all tensors lie in order, without gaps and inside.
    fn tiled(&self) -> bool {
        let mut expected = 0;
        for index in 0..self.scan.tensors.len() {
            let Some(bytes) = self.bytes(index) else {
                return false;
            };
            if self.offset(index) != expected || expected + bytes > self.room {
                return false;
            }
            expected = pad_up(expected + bytes, self.alignment);
        }
        true
    }

    /// Adds tensors that lie on others; tells which.
    fn check_overlap(&self, least: &mut Least) -> Vec<bool> {
        let mut overlapping = vec![false; self.scan.tensors.len()];
        let mut end = 0;
        for index in by_offset(self.scan) {
            let (offset, bytes) = (self.offset(index), self.bytes(index).unwrap_or(0));
            if bytes == 0 {
                continue;
            }
            if offset < end {
                overlapping[index] = true;
                self.report(least, RULE_NO_OVERLAP, index, offset, end);
            }
            end = end.max(offset + bytes);
        }
        overlapping
    }

    /// Each tensor by itself, and where ggml expects it: behind the padded one before it.
    fn check_places(&self, least: &mut Least, overlapping: &[bool]) {
        let mut expected = Some(0);
        let mut total: i128 = 0;
        for (index, &overlaps) in overlapping.iter().enumerate() {
            let (offset, bytes) = (self.offset(index), self.bytes(index));
            let end = offset + bytes.unwrap_or(0);
            if bytes != Some(0) && end > self.room {
                self.report(least, RULE_INSIDE, index, self.start + end, self.size);
            }
            if offset % self.alignment != 0 {
                self.report(least, RULE_ALIGNED, index, offset, self.alignment);
            } else if let Some(expected) = expected {
                if offset > expected {
                    self.report(least, RULE_NO_GAP, index, offset, expected);
                } else if offset < expected && !overlaps {
                    self.report(least, RULE_IN_ORDER, index, offset, expected);
                }
            }
            expected = bytes.map(|_| pad_up(end, self.alignment));
            total += pad_up(bytes.unwrap_or(0), self.alignment);
        }
        let limit = least.limit(RULE_DATA_SIZE).into();
        if total > limit {
            self.report_data(least, RULE_DATA_SIZE, self.start, 0, limit);
        }
    }

    /// Adds runs of padding that are not zero.
    fn check_padding<R: Rest>(&self, least: &mut Least, rest: &mut R) -> Result<(), R::Failure> {
        let padded = pad_up(self.metadata_end, self.alignment).min(self.size);
        self.check_run(least, rest, self.metadata_end, padded)?;
        let order = by_offset(self.scan);
        let mut end = 0;
        for (number, &index) in order.iter().enumerate() {
            let after = order.get(number + 1).map_or(self.room, |&next| self.offset(next));
            let own = self.bytes(index).map(|bytes| self.offset(index) + bytes);
            end = end.max(own.unwrap_or(after)); // one of unknown size may reach the next
            let last = pad_up(end, self.alignment).min(after).min(self.room);
            self.check_run(least, rest, self.start + end, self.start + last)?;
        }
        Ok(())
    }

    fn check_run<R: Rest>(
        &self,
        least: &mut Least,
        rest: &mut R,
        first: i128,
        last: i128,
    ) -> Result<(), R::Failure> {
        if let (true, Ok(from), Ok(to)) = (first < last, first.try_into(), last.try_into()) {
            let count = rest.strangers(from, to)?;
            if count > 0 {
                self.report_data(least, RULE_ZERO_PADDING, first, count.into(), last - first);
            }
        }
        Ok(())
    }

    /// The padded end of the last tensor in the file; none where its size is unknown.
    fn end(&self) -> Option<i128> {
        let mut last = None;
        for index in 0..self.scan.tensors.len() {
            last = last.max(Some(self.offset(index) + self.bytes(index)?));
        }
        let end = last.map_or(self.metadata_end, |last| self.start + last);
        Some(pad_up(end, self.alignment))
    }

    fn report(&self, least: &mut Least, rule: usize, index: usize, first: i128, second: i128) {
        let fields = self.scan.layout.sections[TENSORS];
        let field = fields.iter().position(|field| field.column == COLUMN_OFFSET);
        let row = &self.scan.tensors[index];
        let offset = field.map_or(row[0], |number| field_offset(fields, row, number));
        let place = Place { section: TENSORS, record: index as u64, field };
        least.add(Found { offset, rule, place, first, second });
    }

    fn report_data(&self, least: &mut Least, rule: usize, at: i128, first: i128, second: i128) {
        let offset = u64::try_from(at).unwrap_or(u64::MAX);
        let place = Place { section: DATA, record: 0, field: None };
        least.add(Found { offset, rule, place, first, second });
    }
}
