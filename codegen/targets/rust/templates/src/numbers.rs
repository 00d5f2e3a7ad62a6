//! Stored words and numbers, and base-3 digits: what kernels are made of.
//!
//! Rust fuses no multiplication with an addition, whatever the flags, so that each operation
//! rounds once and every machine gives the same bits.

#[inline(always)]
pub(crate) fn load_u16<const N: usize>(from: &[u8; N], at: usize) -> u16 {
    u16::from_le_bytes([from[at], from[at + 1]])
}

#[inline(always)]
pub(crate) fn load_u32<const N: usize>(from: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([from[at], from[at + 1], from[at + 2], from[at + 3]])
}

#[inline(always)]
pub(crate) fn load_u64<const N: usize>(from: &[u8; N], at: usize) -> u64 {
    u64::from(load_u32(from, at)) | u64::from(load_u32(from, at + 4)) << 32
}

#[inline(always)]
pub(crate) fn store_u8<const N: usize>(to: &mut [u8; N], at: usize, value: u8) {
    to[at] = value;
}

#[inline(always)]
pub(crate) fn store_u16<const N: usize>(to: &mut [u8; N], at: usize, value: u16) {
    to[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

#[inline(always)]
pub(crate) fn store_u32<const N: usize>(to: &mut [u8; N], at: usize, value: u32) {
    to[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[inline(always)]
pub(crate) fn or_u8<const N: usize>(to: &mut [u8; N], at: usize, value: u8) {
    to[at] |= value;
}

#[inline(always)]
pub(crate) fn or_u16<const N: usize>(to: &mut [u8; N], at: usize, value: u16) {
    store_u16(to, at, load_u16(to, at) | value);
}

#[inline(always)]
pub(crate) fn or_u32<const N: usize>(to: &mut [u8; N], at: usize, value: u32) {
    store_u32(to, at, load_u32(to, at) | value);
}

/// bfloat16: the upper half of a float.
#[inline(always)]
pub(crate) fn bfloat(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The same for a single half, which is nearly always a normal one.
#[inline(always)]
pub(crate) fn one_half(bits: u16) -> f32 {
    let magnitude = u32::from(bits) & 0x7fff;
    if magnitude.wrapping_sub(0x0400) < 0x7800 {
        let sign = (u32::from(bits) & 0x8000) << 16;
        return f32::from_bits(sign | ((magnitude << 13) + (112 << 23)));
    }
    half(bits)
}

/// IEEE half, exact. All three cases are computed and masked, so that loops become vectors.
#[inline(always)]
pub(crate) fn half(bits: u16) -> f32 {
    let (sign, magnitude) = ((u32::from(bits) & 0x8000) << 16, u32::from(bits) & 0x7fff);
    let subnormal = (magnitude as i32 as f32 * f32::from_bits(0x3380_0000)).to_bits(); // 2^-24
    let normal = (magnitude << 13).wrapping_add(112 << 23);
    let quiet = u32::from(magnitude > 0x7c00) << 22;
    let special = magnitude << 13 | 0xff << 23 | quiet;
    let is_subnormal = 0_u32.wrapping_sub(u32::from(magnitude < 0x0400));
    let is_special = 0_u32.wrapping_sub(u32::from(magnitude >= 0x7c00));
    let whole =
        subnormal & is_subnormal | special & is_special | normal & !(is_subnormal | is_special);
    f32::from_bits(sign | whole)
}

const POW3: [u8; 5] = [1, 3, 9, 27, 81];

/// Base-3 digit of a byte, 0 the most significant: the byte is a fraction of 256.
#[inline(always)]
pub(crate) fn trit(byte: u8, digit: usize) -> u8 {
    ((u16::from(byte.wrapping_mul(POW3[digit])) * 3) >> 8) as u8
}

/// Adds a digit to the number 0..242 that stands in a byte.
#[inline(always)]
pub(crate) fn add_trit<const N: usize>(to: &mut [u8; N], at: usize, value: i64, digit: usize) {
    to[at] += value.clamp(0, 2) as u8 * POW3[4 - digit];
}

/// Turns that number into the byte that means it.
#[inline(always)]
pub(crate) fn seal_trits<const N: usize>(to: &mut [u8; N], at: usize) {
    to[at] = (u32::from(to[at]) * 256).div_ceil(243) as u8;
}
