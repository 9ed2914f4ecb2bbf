//! The machine that the numbers come from, as far as the system describes it.

use std::fs;

use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's name; none if the system does not report it.
    pub cpu: Option<String>,
    /// How many cores this process may use; none if the system does not report it.
    pub cores: Option<usize>,
    /// Whether the compiler was asked to optimise.
    pub optimised: bool,
}

impl Machine {
    pub fn this() -> Self {
        Self {
            cpu: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            optimised: !cfg!(debug_assertions),
        }
    }
}

/// The most memory that this process has held so far, in bytes; none if the system does not report it.
pub fn peak_memory() -> Option<u64> {
    let kilobytes = field("/proc/self/status", "VmHWM")?;
    let number: u64 = kilobytes.strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1_024)
}

/// The seconds that a processor has spent on this thread so far; none if the system does not report it. Where other
/// programs want the same cores this is less than the time that has passed.
pub fn processor_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanos / 1e9)
}

/// The first value of a key in a file of `key: value` lines.
fn field(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let (_, value) = text.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == key)?;
    Some(value.trim().to_owned())
}
