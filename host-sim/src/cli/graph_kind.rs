//! Kinds of graphs as arguments.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ideal::graph::Kind;

/// Reads the short name of a kind of graph.
pub fn graph_kind() -> impl TypedValueParser<Value = Kind> {
    let values = Kind::ALL.map(|kind| PossibleValue::new(kind.short_name()).help(help(kind)));
    PossibleValuesParser::new(values).try_map(|word| {
        let named = Kind::ALL.into_iter().find(|kind| kind.short_name() == word);
        named.ok_or("there is no such kind of graph")
    })
}

fn help(kind: Kind) -> &'static str {
    match kind {
        Kind::Ring => "Everybody has two neighbours",
        Kind::Line => "A ring with one link missing",
        Kind::Star => "One node in the middle of all others",
        Kind::Grid => "Rows and columns, as square as the number of nodes allows",
        Kind::Clique => "Everybody is everybody's neighbour",
        Kind::Tree => "A random recursive tree: each node hangs on an earlier one",
        Kind::Rgg => "Nodes strewn over a square, linked when near; connected",
    }
}
