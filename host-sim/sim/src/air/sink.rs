//! A buffered file for watchers, which have no way to return an error.

use std::io::{self, BufWriter, Write};

/// Writes to a file, and keeps the first error until the end. After an error it writes nothing more, so a reader finds
/// the end of the file missing, but never its middle.
#[derive(Debug)]
pub struct Sink<W: Write> {
    out: BufWriter<W>,
    error: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    pub fn new(out: W) -> Self {
        Self { out: BufWriter::new(out), error: None }
    }

    /// Writes all of these bytes, unless an earlier write failed.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.out.write_all(bytes).err();
        }
    }

    /// Hands the buffer on, unless an earlier write failed.
    pub fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.out.flush().err();
        }
    }

    /// Flushes the buffer and returns the file, or the first error.
    pub fn finish(self) -> io::Result<W> {
        // Take the writer apart, so that dropping it does not retry a buffer that could not be written.
        if let Some(error) = self.error {
            drop(self.out.into_parts());
            return Err(error);
        }
        let mut out = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        out.flush()?;
        Ok(out)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{self, Write};

    use super::Sink;

    /// A disk with this many bytes left, which keeps whatever reached it.
    #[derive(Debug, Default)]
    pub struct SmallDisk {
        pub room: usize,
        pub bytes: Vec<u8>,
    }

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.len() > self.room {
                return Err(io::Error::new(io::ErrorKind::StorageFull, "the disk is full"));
            }
            self.room -= bytes.len();
            self.bytes.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn everything_arrives() {
        let mut sink = Sink::new(SmallDisk { room: 6, ..SmallDisk::default() });
        sink.write(b"one");
        sink.write(b"two");
        assert_eq!(sink.finish().unwrap().bytes, b"onetwo");
    }

    #[test]
    fn an_error_that_only_the_last_flush_meets_is_returned() {
        let mut sink = Sink::new(SmallDisk { room: 5, ..SmallDisk::default() });
        sink.write(b"onetwo");
        assert_eq!(sink.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn an_error_on_the_way_is_returned_and_nothing_is_written_after_it() {
        let mut disk = SmallDisk { room: 20_000, ..SmallDisk::default() };
        let mut sink = Sink::new(&mut disk);
        // The first two exceed the buffer, so they are written at once. The second does not fit; the third would.
        sink.write(&[1; 15_000]);
        sink.write(&[2; 15_000]);
        sink.write(&[3; 10]);
        assert_eq!(sink.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(disk.bytes, [1; 15_000]);
    }
}
