//! Network keys as files: `ringleader key new` creates one, `provision` reads it.
//!
//! A key file has one line of 32 hexadecimal digits; lines that begin with `#` are comments. Only its owner may read it.
//! The key is never printed: it goes from the file into configuration pages and nowhere else.

use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use common::config::{KEY_BYTES, NetworkKey};

use crate::field::provision::secret_file;
use crate::note;

/// Creates a new key in a file that must not exist yet.
pub fn create(path: &Path) -> anyhow::Result<()> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).context("the operating system provides no random numbers")?;
    let mut file = match secret_file::create_new(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} already exists; not overwritten: choose another name", path.display())
        }
        Err(error) => return Err(error).with_context(|| format!("cannot create {}", path.display())),
    };
    let mut text = String::from("# Ringleader network key. Anyone who has it can read and forge every frame.\n");
    text.extend(
        key.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|half| char::from_digit(half.into(), 16)),
    );
    text.push('\n');
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a key file. No error message quotes its contents.
pub fn read(path: &Path) -> anyhow::Result<NetworkKey> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the key file {name}; `ringleader key new {name}` creates one"))?;
    if secret_file::is_open_to_others(path) {
        note!("warning: other users of this computer can read {name}; run `chmod 600 {name}`");
    }
    parse(&text).with_context(|| format!("{name} is not a key file"))
}

fn parse(text: &str) -> anyhow::Result<NetworkKey> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
    let (digits, line) = lines.next().context("it contains no key")?;
    ensure!(lines.next().is_none(), "line {line}: more than one line with a key");
    let digits: Vec<u32> = digits
        .trim()
        .chars()
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()
        .with_context(|| format!("line {line}: a key consists of the digits 0 to 9 and a to f"))?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let mut bytes = pairs.iter().filter_map(|[high, low]| u8::try_from(high << 4 | low).ok());
    let key: [u8; KEY_BYTES] = std::array::from_fn(|_| bytes.next().unwrap_or(0));
    let count = digits.len();
    ensure!(rest.is_empty() && pairs.len() == KEY_BYTES, "line {line}: a key has 32 digits, this one has {count}");
    ensure!(key != [0; KEY_BYTES], "line {line}: a key must not be all zeros");
    Ok(NetworkKey::new(key))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_key_is_read_and_its_faults_are_told_without_it() {
        let good = "# words\n\n000102030405060708090A0b0c0d0e0f\n";
        let bytes = *b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F";
        assert_eq!(parse(good).unwrap(), common::config::NetworkKey::new(bytes));
        let wrong = [
            ("", "it contains no key"),
            ("# only words", "it contains no key"),
            ("0123", "line 1: a key has 32 digits, this one has 4"),
            ("000102030405060708090a0b0c0d0e0f0", "this one has 33"),
            ("\n000102030405060708090a0b0c0d0e0x", "line 2: a key consists of"),
            ("00000000000000000000000000000000", "all zeros"),
            ("000102030405060708090a0b0c0d0e0f\n000102030405060708090a0b0c0d0e0f", "more than one"),
        ];
        for (text, what) in wrong {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(what), "{error}");
            assert!(!error.contains("0001"), "nothing of the key is in it: {error}");
        }
    }
}
