//! What short lists need, without the precautions that long ones deserve.

use heapless::Vec;

/// Keeps those that are to be kept, in their order. The method of `heapless` also minds a closure that panics, and moves each item
/// once at most; for lists of a few dozen that is three times the code.
pub fn retain<T, const N: usize>(list: &mut Vec<T, N, u8>, is_kept: impl Fn(&T) -> bool) {
    while let Some(at) = list.iter().position(|item| !is_kept(item)) {
        list.remove(at);
    }
}
