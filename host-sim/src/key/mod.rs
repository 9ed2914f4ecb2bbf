//! Network keys as files: `ringleader key new` makes one, `provision` reads it.
//!
//! A key file has one line of 32 hexadecimal digits; lines that begin with `#` are for people. Only its owner may read it.
//! The key is never printed: it goes from the file into configuration pages and nowhere else.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use common::config::{KEY_BYTES, NetworkKey};

use crate::provision::secret_file;
use crate::{note, outln};

/// Arguments of `key`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

/// What is to be done with keys.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make a new random key and put it into a file that only you can read
    ///
    /// The key is 128 bits from the operating system's random source. It is not printed. All boards of a network need the
    /// same one; whoever has it can read and forge every frame, so keep the file out of repositories and chats.
    New {
        /// Where to put it. A file that is there already is left alone: other boards may depend on it
        #[arg(default_value = "network.key")]
        file: PathBuf,
    },
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Action::New { file } = &args.action;
    create(file)?;
    outln!("{}: a new network key. Only you can read it; it is not shown.", file.display())?;
    outln!("Next: ringleader provision --id 1 --network NAME --key-file {}", file.display())?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a new key in a file that is not there yet.
pub fn create(path: &Path) -> anyhow::Result<()> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).context("the operating system gives no random numbers")?;
    let mut file = match secret_file::create_new(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} is there already and stays as it is; choose another name", path.display())
        }
        Err(error) => return Err(error).with_context(|| format!("cannot create {}", path.display())),
    };
    let mut text = String::from("# Ringleader network key. Whoever has it can read and forge every frame.\n");
    text.extend(
        key.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|half| char::from_digit(half.into(), 16)),
    );
    text.push('\n');
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a key file. No message quotes any of its contents.
pub fn read(path: &Path) -> anyhow::Result<NetworkKey> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the key file {name}; `ringleader key new {name}` makes one"))?;
    if secret_file::is_open_to_others(path) {
        note!("warning: {name} can be read by other users of this computer; `chmod 600 {name}` changes that");
    }
    parse(&text).with_context(|| format!("{name} is no key file"))
}

fn parse(text: &str) -> anyhow::Result<NetworkKey> {
    let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
    let (digits, line) = lines.next().context("there is no key in it")?;
    ensure!(lines.next().is_none(), "line {line}: more than one line with a key");
    let digits: Vec<u32> = digits
        .trim()
        .chars()
        .map(|c| c.to_digit(16))
        .collect::<Option<_>>()
        .with_context(|| format!("line {line}: a key is made of the digits 0 to 9 and a to f"))?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let mut bytes = pairs.iter().filter_map(|[high, low]| u8::try_from(high << 4 | low).ok());
    let key: [u8; KEY_BYTES] = std::array::from_fn(|_| bytes.next().unwrap_or(0));
    let count = digits.len();
    ensure!(rest.is_empty() && pairs.len() == KEY_BYTES, "line {line}: a key has 32 digits, this one {count}");
    ensure!(key != [0; KEY_BYTES], "line {line}: all zeros is no key");
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
            ("", "there is no key"),
            ("# only words", "there is no key"),
            ("0123", "line 1: a key has 32 digits, this one 4"),
            ("000102030405060708090a0b0c0d0e0f0", "this one 33"),
            ("\n000102030405060708090a0b0c0d0e0x", "line 2: a key is made of"),
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
