//! Measured beside printed, for every algorithm, case and size.

use common::election::Algorithm;
use serde::{Serialize, Serializer};

use super::Case;
use super::findings::{Finding, Measured, find};
use super::formula::{ALGORITHMS, Formula, exact_messages, exact_steps, printed_messages, printed_steps};

pub const SIZES: [u16; 10] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/// One algorithm in one case with one number of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    #[serde(serialize_with = "by_name")]
    pub algorithm: Algorithm,
    pub case: Case,
    /// How many live nodes there are.
    pub n: u16,
    pub measured_messages: u64,
    /// The messages that table 3.1 of Biswas et al. 2021 prints.
    pub formula_messages: u64,
    pub measured_steps: u64,
    /// The steps that table 3.2 of Biswas et al. 2021 prints.
    pub formula_steps: u64,
    /// Whether the messages are as printed.
    pub messages_equal: bool,
    /// Whether the steps are as printed.
    pub steps_equal: bool,
    /// What happened when the messages were counted.
    pub scenario_messages: &'static str,
    /// What happened when the steps were counted.
    pub scenario_steps: &'static str,
    /// Why measured and printed differ, and what else is worth knowing; may be empty.
    pub reason: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is given by serde")]
fn by_name<S: Serializer>(algorithm: &Algorithm, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(algorithm.title())
}

/// Measures every row of one size, in the order of the tables.
pub fn rows_of(n: u16) -> anyhow::Result<Vec<Row>> {
    let cases = ALGORITHMS.into_iter().flat_map(|algorithm| Case::ALL.map(|case| (algorithm, case)));
    cases.map(|(algorithm, case)| Ok(row(algorithm, case, n, find(algorithm, case, n)?))).collect()
}

fn row(algorithm: Algorithm, case: Case, n: u16, finding: Finding) -> Row {
    let value = |formula: Option<Formula>| formula.map_or(0, |formula| (formula.value)(n.into()));
    let formula_messages = value(printed_messages(algorithm, case));
    let formula_steps = value(printed_steps(algorithm, case));
    let why = [
        explain("Messages", &finding.messages, formula_messages, exact_messages(algorithm, case), n),
        explain("Steps", &finding.steps, formula_steps, exact_steps(algorithm, case), n),
        finding.remark,
    ];
    Row {
        algorithm,
        case,
        n,
        measured_messages: finding.messages.value,
        formula_messages,
        measured_steps: finding.steps.value,
        formula_steps,
        messages_equal: finding.messages.value == formula_messages,
        steps_equal: finding.steps.value == formula_steps,
        scenario_messages: finding.messages.scenario,
        scenario_steps: finding.steps.scenario,
        reason: why.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "),
    }
}

/// Why a cost is not what is printed; nothing if it is.
fn explain(cost: &str, measured: &Measured, printed: u64, exact: Option<Formula>, n: u16) -> String {
    let Measured { value, why, .. } = measured;
    if *value == printed {
        return String::new();
    }
    match exact.filter(|exact| (exact.value)(n.into()) == *value) {
        Some(exact) => format!("{cost}: {value} = {}, not {printed}. {why}", exact.text),
        None => format!("{cost}: {value}, not {printed}. {why}"),
    }
}
