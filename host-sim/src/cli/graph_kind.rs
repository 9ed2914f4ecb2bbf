//! Kinds of graph as command-line arguments.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ideal::graph::Kind;

pub fn graph_kind() -> impl TypedValueParser<Value = Kind> {
    let values = Kind::ALL.map(|kind| PossibleValue::new(kind.short_name()).help(help(kind)));
    PossibleValuesParser::new(values).try_map(|word| {
        let named = Kind::ALL.into_iter().find(|kind| kind.short_name() == word);
        named.ok_or("there is no such kind of graph")
    })
}

fn help(kind: Kind) -> &'static str {
    match kind {
        Kind::Ring => "Every node has two neighbours",
        Kind::Line => "A ring with one link missing",
        Kind::Star => "One node linked to all others",
        Kind::Grid => "Rows and columns, as square as the number of nodes allows",
        Kind::Clique => "Every node is linked to every other",
        Kind::Tree => "A random recursive tree: each node is attached to an earlier one",
        Kind::Rgg => "A connected random geometric graph: nodes scattered over a square, linked when near",
    }
}
