//! Reads TOML tables key by key. Every error says where it is and how to fix it.

use std::cell::RefCell;
use std::ops::Range;

use strsim::levenshtein;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::air::propagation::Point;
use crate::scenario::input::units::{COORDINATE_MAX, Unit, parse_quantity};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The scenario's file, or its name.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// The error and its remedy.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

impl std::error::Error for Problem {}

#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The scenario's file, or its name.
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// Reports a problem at a byte offset of the text.
    pub fn problem(self, at: usize, what: impl Into<String>) -> Problem {
        let line = self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
        Problem { file: self.file.to_owned(), line, what: what.into() }
    }
}

/// One table, which remembers the keys it was asked for, so that [`Self::finish`] can reject all others.
#[derive(Debug)]
pub struct Section<'a> {
    source: Source<'a>,
    name: String,
    table: &'a DeTable<'a>,
    at: usize,
    known: RefCell<Vec<String>>,
    /// The same keys with their unit suffixes. Error messages do not list them.
    known_with_unit: RefCell<Vec<String>>,
}

impl<'a> Section<'a> {
    pub fn root(source: Source<'a>, table: &'a DeTable<'a>) -> Self {
        Self {
            source,
            name: String::new(),
            table,
            at: 0,
            known: RefCell::default(),
            known_with_unit: RefCell::default(),
        }
    }

    /// What error messages begin with: the scenario's file or its name.
    pub fn file(&self) -> &'a str {
        self.source.file
    }

    /// Reports a problem with the table as a whole.
    pub fn problem(&self, what: impl Into<String>) -> Problem {
        self.source.problem(self.at, what)
    }

    /// Reports a problem with one key of the table.
    pub fn problem_at(&self, key: &str, what: &str) -> Problem {
        let found = self.table.iter().find(|(name, _)| {
            name.get_ref() == key || name.get_ref().strip_prefix(key).is_some_and(|rest| rest.starts_with('_'))
        });
        let at = found.map_or(self.at, |(name, _)| name.span().start);
        self.source.problem(at, format!("`{key}` {what}"))
    }

    /// Rejects keys that mean nothing here because of something else in the table.
    pub fn exclude(&self, keys: &[&str], why: &str) -> Result<(), Problem> {
        match keys.iter().find(|key| self.has(key)) {
            Some(key) => Err(self.problem_at(key, why)),
            None => Ok(()),
        }
    }

    /// Whether the key is present, with or without a unit suffix.
    fn has(&self, key: &str) -> bool {
        let with_unit = |name: &str| name.strip_prefix(key).is_some_and(|rest| rest.starts_with('_'));
        let is_known = |name: &str| self.known_with_unit.borrow().iter().any(|known| known == name);
        self.find(key).is_some()
            || self.table.iter().any(|(name, _)| with_unit(name.get_ref()) && is_known(name.get_ref()))
    }

    /// Whether the key has a list for its value.
    pub fn is_list(&self, key: &str) -> bool {
        self.find(key).is_some_and(|value| value.get_ref().is_array())
    }

    /// Rejects keys that nobody has asked for.
    pub fn finish(&self) -> Result<(), Problem> {
        let (known, with_unit) = (self.known.borrow(), self.known_with_unit.borrow());
        let is_known = |key: &str| known.iter().chain(with_unit.iter()).any(|name| name == key);
        let Some((key, _)) = self.table.iter().find(|(key, _)| !is_known(key.get_ref())) else { return Ok(()) };
        let owner = if self.name.is_empty() { String::new() } else { format!(" in [{}]", self.name) };
        let hint = match nearest(key.get_ref(), known.iter().map(String::as_str)) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("it may have {}", known.join(", ")),
        };
        Err(self.source.problem(key.span().start, format!("unknown key `{}`{owner}; {hint}", key.get_ref())))
    }

    /// Reports a missing key.
    pub fn missing(&self, key: &str) -> Problem {
        // If the key is there but misspelt, report the misspelling instead.
        let misspelt = self.table.iter().find(|(name, _)| nearest(name.get_ref(), [key].into_iter()).is_some());
        if let Some((name, _)) =
            misspelt.filter(|(name, _)| !self.known.borrow().iter().any(|known| known == name.get_ref()))
        {
            let what = format!("unknown key `{}`; did you mean `{key}`?", name.get_ref());
            return self.source.problem(name.span().start, what);
        }
        let owner = if self.name.is_empty() { "the file".to_owned() } else { format!("[{}]", self.name) };
        self.problem(format!("{owner} needs the key `{key}`"))
    }

    pub fn section(&self, key: &str) -> Result<Option<Section<'a>>, Problem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        self.inner(key, value).map(Some)
    }

    /// The tables of `[[key]]`.
    pub fn sections(&self, key: &str) -> Result<Vec<Section<'a>>, Problem> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let Some(list) = value.get_ref().as_array() else {
            return Err(wrong(self.source, value, key, &format!("a list of tables: write [[{key}]]")));
        };
        list.iter().map(|value| self.inner(key, value)).collect()
    }

    pub fn text(&self, key: &str) -> Result<Option<&'a str>, Problem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        value.get_ref().as_str().map(Some).ok_or_else(|| wrong(self.source, value, key, "a text in quotes"))
    }

    pub fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Problem> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        found.map(Some).ok_or_else(|| {
            let hint = match nearest(text, words.iter().map(|(word, _)| *word)) {
                Some(word) => format!("did you mean \"{word}\"?"),
                None => format!("it may be {}", words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")),
            };
            self.problem_at(key, &format!("cannot be \"{text}\"; {hint}"))
        })
    }

    pub fn words<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<Vec<T>>, Problem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let known = || words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let fail = |value| wrong(self.source, value, key, &format!("a list of words out of {}", known()));
        let list = value.get_ref().as_array().ok_or_else(|| fail(value))?;
        let meaning = |value: &'a Spanned<DeValue<'a>>| {
            let text = value.get_ref().as_str().ok_or_else(|| fail(value))?;
            words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| fail(value))
        };
        list.iter().map(meaning).collect::<Result<_, _>>().map(Some)
    }

    pub fn integer(&self, key: &str, range: Range<u64>) -> Result<Option<u64>, Problem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        self.whole(key, value, range).map(Some)
    }

    pub fn integers(&self, key: &str, range: Range<u64>) -> Result<Option<Vec<u64>>, Problem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let list =
            value.get_ref().as_array().ok_or_else(|| wrong(self.source, value, key, "a list of whole numbers"))?;
        list.iter().map(|value| self.whole(key, value, range.clone())).collect::<Result<_, _>>().map(Some)
    }

    pub fn number(&self, key: &str) -> Result<Option<f64>, Problem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        number(value).map(Some).ok_or_else(|| wrong(self.source, value, key, "a number"))
    }

    /// A point, `[x, y]` in metres.
    pub fn point(&self, key: &str) -> Result<Option<Point>, Problem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        point(value)
            .map(Some)
            .ok_or_else(|| wrong(self.source, value, key, &format!("a point in metres, such as [10, 20]; {}", near())))
    }

    pub fn points(&self, key: &str) -> Result<Option<Vec<Point>>, Problem> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let list = value.get_ref().as_array().and_then(|list| list.iter().map(point).collect::<Option<Vec<_>>>());
        list.map(Some).ok_or_else(|| {
            let wanted = format!("a list of points in metres, such as [[0, 0], [10, 0]]; {}", near());
            wrong(self.source, value, key, &wanted)
        })
    }

    /// A quantity within its unit's range, written as `key = "20 m"` or `key_m = 20`.
    pub fn quantity(&self, key: &str, unit: Unit) -> Result<Option<f64>, Problem> {
        let checked = |amount: f64| unit.check(amount).map_err(|what| self.problem_at(key, &what));
        let mut found = None;
        for &(suffix, _, factor) in unit.forms() {
            let long = format!("{key}_{suffix}");
            self.known_with_unit.borrow_mut().push(long.clone());
            let Some(value) = self.find(&long) else { continue };
            let amount = number(value).ok_or_else(|| wrong(self.source, value, &long, "a number"))?;
            if found.replace(checked(amount * factor)?).is_some() {
                return Err(self.problem_at(key, "is given twice, in different units"));
            }
        }
        let Some(value) = self.get(key) else { return Ok(found) };
        if found.is_some() {
            return Err(self.problem_at(key, "is given twice, in different units"));
        }
        let example = unit.example();
        let Some(text) = value.get_ref().as_str() else {
            let suffix = unit.forms()[0].0;
            let what = format!("needs a unit: write {key} = \"{example}\", or {key}_{suffix} = a number");
            return Err(self.problem_at(key, &what));
        };
        let amount =
            parse_quantity(text, unit).map_err(|what| self.problem_at(key, &format!("{what}; write \"{example}\"")))?;
        checked(amount).map(Some)
    }

    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.known.borrow_mut().push(key.to_owned());
        self.find(key)
    }

    fn find(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    fn inner(&self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Result<Section<'a>, Problem> {
        let table = value.get_ref().as_table().ok_or_else(|| wrong(self.source, value, key, "a table"))?;
        let at = value.span().start;
        Ok(Section {
            source: self.source,
            name: key.to_owned(),
            table,
            at,
            known: RefCell::default(),
            known_with_unit: RefCell::default(),
        })
    }

    fn whole(&self, key: &str, value: &Spanned<DeValue<'_>>, range: Range<u64>) -> Result<u64, Problem> {
        let last = range.end - 1;
        let digits = value.get_ref().as_integer();
        let whole = digits.and_then(|digits| u64::from_str_radix(digits.as_str(), digits.radix()).ok());
        whole.filter(|whole| range.contains(whole)).ok_or_else(|| {
            let what = format!("a whole number from {} to {last}", range.start);
            wrong(self.source, value, key, &what)
        })
    }
}

fn wrong(source: Source<'_>, value: &Spanned<DeValue<'_>>, key: &str, wanted: &str) -> Problem {
    source.problem(value.span().start, format!("`{key}` must be {wanted}"))
}

fn number(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    let text = match value.get_ref() {
        DeValue::Integer(digits) if digits.radix() == 10 => digits.as_str(),
        DeValue::Float(digits) => digits.as_str(),
        _ => return None,
    };
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The remedy for coordinates that are out of range.
fn near() -> String {
    format!("no coordinate may be beyond {} km", COORDINATE_MAX / 1_000.0)
}

fn point(value: &Spanned<DeValue<'_>>) -> Option<Point> {
    let list = value.get_ref().as_array()?;
    match list.iter().map(number).collect::<Option<Vec<f64>>>()?[..] {
        [x, y] if x.abs().max(y.abs()) <= COORDINATE_MAX => Some(Point { x, y }),
        _ => None,
    }
}

/// The word that was probably meant: at most two letters off, and not altogether different.
pub fn nearest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let close = words.map(|known| (levenshtein(word, known), known)).min()?;
    (close.0 <= 2 && close.0 < word.len().max(2) - 1).then_some(close.1)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let words = ["spacing", "nodes", "kind"];
        assert_eq!(nearest("spaceing", words.into_iter()), Some("spacing"));
        assert_eq!(nearest("node", words.into_iter()), Some("nodes"));
        assert_eq!(nearest("colour", words.into_iter()), None);
        assert_eq!(nearest("x", words.into_iter()), None);
    }
}
