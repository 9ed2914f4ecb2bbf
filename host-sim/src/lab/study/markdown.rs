//! Tables that read well on a terminal and in a document.

use std::fmt::Write;

/// A Markdown table with padded columns: the first ones, as many as `names`, hold names and are left-aligned; the others
/// hold numbers and are right-aligned.
pub fn table(header: &[&str], names: usize, rows: &[Vec<String>]) -> String {
    let header: Vec<String> = header.iter().map(ToString::to_string).collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&header]).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(2)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        for (column, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
            // Writing to a string cannot fail.
            let _infallible =
                if column < names { write!(text, "| {cell:<width$} ") } else { write!(text, "| {cell:>width$} ") };
        }
        text.push_str("|\n");
    };
    line(&header);
    let rule = |(column, &width): (usize, &usize)| {
        if column < names { "-".repeat(width) } else { format!("{}:", "-".repeat(width - 1)) }
    };
    line(&widths.iter().enumerate().map(rule).collect::<Vec<_>>());
    for row in rows {
        line(row);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["grid".to_owned(), "7".to_owned()], vec!["ring".to_owned(), "1234".to_owned()]];
        let expected = "| graph |   n² |\n| ----- | ---: |\n| grid  |    7 |\n| ring  | 1234 |\n";
        assert_eq!(table(&["graph", "n²"], 1, &rows), expected);
    }
}
