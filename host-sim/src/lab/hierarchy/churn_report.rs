//! Tables of the measured churn and its cost.

use std::fmt::Write;

use ideal::hierarchy::Density;
use ideal::hierarchy::{Bars, CHANGES, GRAPHS, GraphSize, INSTANCES, Measured, RADII, Row};
use ideal::stress::hierarchy::radii_name;

/// The most nodes that may change their local leader per link change, random geometric 60, K = 2.
const MOVED_MAX: f64 = 0.2;
/// The smallest acceptable share of link changes that move no node there, in per cent.
const STILL_MIN: f64 = 90.0;

/// Everything that `--churn` prints.
pub fn markdown(measured: &Measured) -> String {
    let Measured { rows, bars, densities } = measured;
    let mut out = format!(
        "Means over {} changes per cell: {INSTANCES} graphs, {CHANGES} changes each, 45 % links cut, 45 % links back, \
         10 % nodes restarted.\n\n",
        INSTANCES * u64::from(CHANGES)
    );
    out.push_str("Updates per change\n\n");
    table(&mut out, rows, "single level", |row| format!("{:.1}", row.mean_updates()));
    out.push_str("Rounds per change\n\n");
    table(&mut out, rows, "single level", |row| format!("{:.2}", row.mean_rounds()));
    out.push_str("Updates until the network has formed\n\n");
    table(&mut out, rows, "single level", |row| format!("{:.0}", row.mean_forming()));
    let levels: Vec<Row> = rows.iter().filter(|row| !row.radii.is_empty()).cloned().collect();
    out.push_str("Nodes that change their local leader per link change (share of changes that move no node)\n\n");
    table(&mut out, &levels, "", |row| format!("{:.2} ({:.0} %)", row.links.mean(), row.links.still_percent()));
    out.push_str("The same per node restart\n\n");
    table(&mut out, &levels, "", |row| format!("{:.2} ({:.0} %)", row.restarts.mean(), row.restarts.still_percent()));
    out.push_str("The same per change of either kind\n\n");
    table(&mut out, &levels, "", |row| format!("{:.2} ({:.0} %)", row.all().mean(), row.all().still_percent()));
    out.push_str("Of these, nodes outside the clusters that the change touched, per change of either kind\n\n");
    table(&mut out, &levels, "", |row| format!("{:.3}", row.all().mean_elsewhere()));
    out.push_str("Heads of level 1\n\n");
    table(&mut out, &levels, "", |row| format!("{:.1}", row.mean_heads()));
    put(&mut out, format_args!("{}\n\n", verdict(bars)));
    by_density(&mut out, densities);
    out
}

/// One line per density: what distinguishes it, and whether the bars hold there.
fn by_density(out: &mut String, densities: &[Density]) {
    let Some(Density { bars: Bars { row, .. }, .. }) = densities.first() else { return };
    put(out, format_args!("{} by the number of others in range of a node away from the rim\n\n", row.graph_name()));
    out.push_str(
        "| in range | links per node | heads if any node leads, K = 1 / 2 / 3 | heads in these runs | Updates to form, single / K = 1 / 2 / 3 | K = 2: nodes moved \
         per link change | per change of either kind | link changes that move no node | bars |\n\
         |---:|---:|---|---|---|---:|---:|---:|---|\n",
    );
    for Density { bars: Bars { row, moved_error, still_error }, others, heads } in densities {
        let join =
            |rows: Vec<&Row>, cell: fn(&Row) -> String| rows.into_iter().map(cell).collect::<Vec<_>>().join(" / ");
        let [single, one, three] = &others[..] else { continue };
        put(
            out,
            format_args!(
                "| {} | {:.1} | {} | {} | {} | {:.3} ± {moved_error:.3} | {:.3} | {:.1} ± {still_error:.1} % | {} |\n",
                row.degree,
                row.mean_degree(),
                heads.map(|heads| format!("{heads:.1}")).join(" / "),
                join(vec![one, row, three], |row| format!("{:.1}", row.mean_heads())),
                join(vec![single, one, row, three], |row| format!("{:.0}", row.mean_forming())),
                row.links.mean(),
                row.all().mean(),
                row.links.still_percent(),
                verdict_in_words(row),
            ),
        );
    }
}

fn verdict_in_words(row: &Row) -> &'static str {
    match (row.links.mean() <= MOVED_MAX, row.links.still_percent() >= STILL_MIN) {
        (true, true) => "both kept",
        (true, false) => "too few move no node",
        (false, true) => "too many move",
        (false, false) => "neither kept",
    }
}

fn verdict(bars: &Bars) -> String {
    let Bars { row, moved_error, still_error } = bars;
    let (mean, still) = (row.links.mean(), row.links.still_percent());
    let kept = |holds: bool| if holds { "kept" } else { "NOT KEPT" };
    format!(
        "Bars for {}, {}, over {} link changes in {} graphs: at most {MOVED_MAX} nodes change their local leader per \
         change: {mean:.3} ± {moved_error:.3}, {}; at least {STILL_MIN} % of changes move no node: {still:.1} ± \
         {still_error:.1} %, {}. Restarts: {:.3} and {:.1} %. Together: {:.3} and {:.1} %. (± one standard error)",
        row.graph_name(),
        row.radii_name(),
        row.links.changes,
        row.graphs,
        kept(mean <= MOVED_MAX),
        kept(still >= STILL_MIN),
        row.restarts.mean(),
        row.restarts.still_percent(),
        row.all().mean(),
        row.all().still_percent(),
    )
}

/// One line per graph, one column per set of radii that the rows have.
fn table(out: &mut String, rows: &[Row], no_levels: &str, cell: impl Fn(&Row) -> String) {
    let columns = RADII.iter().filter(|&&radii| rows.iter().any(|row| row.radii == radii));
    let names = columns.clone().map(|radii| if radii.is_empty() { no_levels.to_owned() } else { radii_name(radii) });
    put(out, format_args!("| graph | {} |\n", names.collect::<Vec<_>>().join(" | ")));
    put(out, format_args!("|---|{}\n", columns.map(|_| "---:|").collect::<String>()));
    for GraphSize { kind, nodes } in GRAPHS {
        let mine: Vec<&Row> = rows.iter().filter(|row| row.graph == kind.name() && row.nodes == nodes).collect();
        if let Some(first) = mine.first() {
            let cells: Vec<String> = mine.iter().map(|row| cell(row)).collect();
            put(out, format_args!("| {} | {} |\n", first.graph_name(), cells.join(" | ")));
        }
    }
    out.push('\n');
}

fn put(out: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    out.write_fmt(piece).unwrap_or_default();
}
