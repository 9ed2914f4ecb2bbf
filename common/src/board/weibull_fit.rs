//! A Weibull distribution fitted to a board's own history, for FRLLE's failure term.
//!
//! Maximum likelihood with right-censored runs: a run that failed counts with its density, one that ended for another
//! reason with its survival probability. The shape solves `Σ tᵏ ln t / Σ tᵏ − 1/k = mean of ln t over failures`, whose
//! left side rises with `k`, so it is found by bisection; the scale then follows. With fewer than [`FAILURES_MIN`] failures
//! the shape is unknown, and the distribution is exponential with a prior of one failure in a month: a new board is neither
//! perfect nor suspect.

use crate::board::history::{Ending, Run};
use crate::coefficient::{Share, WHOLE, Weibull, WeibullError, power};

/// The fewest failures to which a shape is fitted.
pub const FAILURES_MIN: usize = 3;

/// The time ahead for which the probability of failing counts, in seconds: a leader should last at least this long.
pub const HORIZON_S: u32 = 3_600;

/// The prior: one failure in thirty days.
const PRIOR_S: f32 = 30.0 * 86_400.0;
/// Shapes beyond these say more about few data than about the board.
const SHAPE_MIN: f32 = 0.3;
const SHAPE_MAX: f32 = 5.0;
/// Halvings of the interval of shapes: the last bit of an `f32` needs fewer.
const HALVINGS: usize = 30;

/// Fits a distribution to the runs of the past and the present one, which has lasted this long and goes on. Its unit of
/// time is the second. The tests show that no history gives an error.
pub fn fit(runs: &[Run], present_s: u32) -> Result<Weibull, WeibullError> {
    let failures = runs.iter().filter(|run| run.ending == Ending::Failed).count();
    if failures < FAILURES_MIN {
        return exponential(runs, present_s, failures);
    }
    likeliest(runs, present_s, failures).or_else(|_| exponential(runs, present_s, failures))
}

/// The probability that the board fails within [`HORIZON_S`], in its present age.
pub fn failure_share(runs: &[Run], present_s: u32) -> Share {
    let age = seconds(present_s);
    let between = |weibull: Weibull| weibull.fails_between(age, age + seconds(HORIZON_S));
    fit(runs, present_s).map_or(Share::new(WHOLE), between)
}

fn exponential(runs: &[Run], present_s: u32, failures: usize) -> Result<Weibull, WeibullError> {
    let total: f32 = ages(runs, present_s).sum();
    Weibull::new((total + PRIOR_S) / (count(failures) + 1.0), 1.0)
}

fn likeliest(runs: &[Run], present_s: u32, failures: usize) -> Result<Weibull, WeibullError> {
    let failed = runs.iter().filter(|run| run.ending == Ending::Failed);
    let mean_log = failed.map(|run| libm::logf(seconds(run.lasted_s))).sum::<f32>() / count(failures);
    // Ages are divided by the longest, so that their powers neither overflow nor vanish together.
    let longest = ages(runs, present_s).fold(1.0, f32::max);
    let moments = |shape: f32| {
        ages(runs, present_s).fold((0.0_f32, 0.0_f32), |(plain, logged), age| {
            let raised = power(age / longest, shape);
            (plain + raised, logged + raised * libm::logf(age))
        })
    };
    let is_too_small = |shape: f32| {
        let (plain, logged) = moments(shape);
        logged / plain - 1.0 / shape < mean_log
    };
    let (mut low, mut high) = (SHAPE_MIN, SHAPE_MAX);
    for _ in 0..HALVINGS {
        let middle = low + (high - low) / 2.0;
        if is_too_small(middle) { low = middle } else { high = middle }
    }
    let shape = low + (high - low) / 2.0;
    let scale = longest * power(moments(shape).0 / count(failures), 1.0 / shape);
    Weibull::new(scale, shape)
}

/// How old the board became each time, the present run included. A run shorter than a second counts as one.
fn ages(runs: &[Run], present_s: u32) -> impl Iterator<Item = f32> {
    runs.iter().map(|run| run.lasted_s).chain(core::iter::once(present_s)).map(seconds)
}

#[expect(clippy::cast_precision_loss, reason = "24 bits of a run's length are plenty")]
fn seconds(whole: u32) -> f32 {
    whole.max(1) as f32
}

#[expect(clippy::cast_precision_loss, reason = "at most as many as there are runs")]
fn count(failures: usize) -> f32 {
    failures as f32
}

#[cfg(test)]
mod tests {
    use super::{PRIOR_S, failure_share};
    use crate::board::history::{Ending, RUNS_MAX, Run};
    use crate::coefficient::Weibull;
    use crate::rng::Rng;

    const fn failed(lasted_s: u32) -> Run {
        Run { lasted_s, ending: Ending::Failed }
    }

    fn fit(runs: &[Run], present_s: u32) -> Weibull {
        super::fit(runs, present_s).expect("every history has a distribution")
    }

    /// Draws from a Weibull distribution by inverting it.
    fn draw(rng: &mut Rng, scale: f32, shape: f32) -> Run {
        #[expect(clippy::cast_precision_loss, reason = "a uniform number for a test")]
        let uniform = (rng.below(1_000_000) as f32 + 0.5) / 1_000_000.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
        let lasted_s = (scale * (-uniform.ln()).powf(1.0 / shape)) as u32;
        failed(lasted_s)
    }

    #[test]
    fn without_failures_the_prior_speaks() {
        let by = fit(&[], 1).failed_by(PRIOR_S);
        assert!((by - 0.632).abs() < 0.001, "{by}");
        let rested = [Run { lasted_s: 86_400 * 300, ending: Ending::PowerLost }];
        assert!(fit(&rested, 1).failed_by(PRIOR_S) < by, "a long life without failure is trusted more");
        assert!(fit(&[failed(100), failed(100)], 1).failed_by(PRIOR_S) > by, "one that fails is trusted less");
    }

    #[test]
    fn shapes_are_found_again() {
        let mut rng = Rng::new(1);
        for (scale, shape) in [(10_000.0, 0.7), (100_000.0, 1.0), (50_000.0, 3.0)] {
            // A board remembers 16 runs; the fit takes any number, so that the test can ask for precision.
            let runs: std::vec::Vec<Run> = (0..2_000).map(|_| draw(&mut rng, scale, shape)).collect();
            let fitted = fit(&runs, 1);
            for part in [0.25, 0.5, 1.0, 2.0_f32] {
                let expected = 1.0 - (-part.powf(shape)).exp();
                let found = fitted.failed_by(scale * part);
                assert!((found - expected).abs() < 0.03, "shape {shape}: {found} instead of {expected}");
            }
        }
    }

    #[test]
    fn censored_runs_lengthen_life() {
        let mut runs = std::vec::Vec::from([failed(1_000), failed(2_000), failed(3_000)]);
        let before = fit(&runs, 1).failed_by(2_000.0);
        runs.push(Run { lasted_s: 50_000, ending: Ending::Deliberate });
        assert!(fit(&runs, 1).failed_by(2_000.0) < before);
    }

    #[test]
    fn any_history_gives_a_distribution() {
        let extremes = [0, 1, u32::MAX];
        let mut rng = Rng::new(7);
        for _ in 0..2_000 {
            let runs: std::vec::Vec<Run> = (0..rng.below(17))
                .map(|_| Run {
                    lasted_s: extremes[rng.below(3) as usize],
                    ending: [Ending::Deliberate, Ending::PowerLost, Ending::Failed][rng.below(3) as usize],
                })
                .collect();
            let by = fit(&runs, extremes[rng.below(3) as usize]).failed_by(1e6);
            assert!((0.0..=1.0).contains(&by), "{runs:?} gives {by}");
        }
    }

    #[test]
    fn a_board_that_crashes_every_minute_is_unfit() {
        let crashing = [failed(60); RUNS_MAX];
        assert!(failure_share(&crashing, 1).get() > 9_000);
        assert!(failure_share(&[], 1).get() < 100);
    }
}
