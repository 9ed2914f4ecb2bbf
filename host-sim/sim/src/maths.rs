//! Functions of real numbers that give the same bits on every machine.
//!
//! Those of the standard library belong to the platform: a C library on a PC, a port of another one in a browser. They
//! differ in the last bit now and then, and one bit is enough to lose a frame and change a whole run. Arithmetic, square
//! roots and rounding are exact everywhere and need none of this.

pub use libm::{cos, exp, hypot, log as ln, log10, pow, sin};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// What the platform would answer.
    const FOREIGN: [&str; 12] = [
        ".ln()", ".log10()", ".log2()", ".exp()", ".exp2()", ".powf(", ".sin()", ".cos()", ".tan()", ".hypot(",
        ".atan2(", ".cbrt()",
    ];

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn no_run_depends_on_the_platforms_functions() {
        let mut seen = 0;
        for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
            let is_test = path.file_name().is_some_and(|name| name == "tests.rs" || name == "maths.rs");
            let text = fs::read_to_string(&path).unwrap();
            let run = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (line, foreign) in run.lines().flat_map(|line| FOREIGN.map(|foreign| (line, foreign))) {
                assert!(is_test || !line.contains(foreign), "{}: use crate::maths: {}", path.display(), line.trim());
            }
            seen += 1;
        }
        assert!(seen > 50, "{seen}");
    }
}
