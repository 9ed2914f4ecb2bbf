//! What commands say: results to standard output, everything else to standard error.
//!
//! Whoever reads a result may have seen enough: a closed pipe is no error, the rest is dropped and the command goes on to
//! its exit code. Any other failure to write a result is one. What goes to standard error nobody need be able to read.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;

/// Whether nobody reads standard output any more.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// How many columns the line of progress takes that is shown now.
static PROGRESS: AtomicUsize = AtomicUsize::new(0);

/// Prints to standard output, like `print!`; what comes back must be heeded.
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::cli::output::print(&::std::format!($($text)*)) };
}

/// Prints a line to standard output, like `println!`; what comes back must be heeded.
#[macro_export]
macro_rules! outln {
    ($($text:tt)*) => { $crate::cli::output::print(&(::std::format!($($text)*) + "\n")) };
}

/// Says something on standard error, as a line of its own.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => { $crate::cli::output::note(::std::format_args!($($text)*)) };
}

/// Prints a text to standard output.
pub fn print(text: &str) -> anyhow::Result<()> {
    if is_closed() {
        return Ok(());
    }
    clear_progress();
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What became of writing to standard output, where somebody else has done so.
pub fn written(result: io::Result<()>) -> anyhow::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        other => other.context("cannot write to standard output"),
    }
}

/// Whether nobody reads standard output any more, so that a command that only prints may stop.
pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Says something on standard error; see [`note!`](crate::note).
pub fn note(line: fmt::Arguments<'_>) {
    clear_progress();
    // Whoever closed standard error does not want to know.
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Shows how far something is, in place of what was shown before. Only on a terminal: in a file it would be rubbish.
pub fn progress(line: &str) {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let width = line.chars().count();
        let before = PROGRESS.swap(width, Ordering::Relaxed);
        let _ = err.write_all(over(line, width.max(before)).as_bytes());
    }
}

/// Takes the line of progress away, if there is one. Whatever is printed or noted does so first.
pub fn clear_progress() {
    let width = PROGRESS.swap(0, Ordering::Relaxed);
    if width > 0 {
        let _ = io::stderr().lock().write_all(over("", width).as_bytes());
    }
}

/// A text that takes so many columns, and then goes back to where it began.
fn over(line: &str, width: usize) -> String {
    format!("{line:width$}\r")
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_line_of_progress_is_written_over_whole() {
        assert_eq!(super::over("7 of 9", 10), "7 of 9    \r");
        assert_eq!(super::over("", 3), "   \r");
    }

    #[test]
    fn only_a_reader_that_has_gone_is_no_error() {
        let error = super::written(Err(Error::from(ErrorKind::StorageFull))).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot write to standard output: "), "{error:#}");
        assert!(!super::is_closed());
        assert!(super::written(Err(Error::from(ErrorKind::BrokenPipe))).is_ok());
        assert!(super::is_closed());
    }
}
