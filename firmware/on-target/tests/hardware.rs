//! Tests for a board on a probe: `cargo on-target`, with one board plugged in, or with two for the pair of radios.
//!
//! Each test begins after a reset of its own, and logs what it measured. docs/first-hour.md says what to expect.
#![no_std]
#![no_main]

#[cfg(test)]
#[embedded_test::tests]
mod tests {
    use embassy_nrf::Peripherals;
    use on_target::answers::{BUDGET_US, Pair};
    use on_target::{crystal, cycles, pair, storage};

    #[init]
    fn init() -> Peripherals {
        on_target::start()
    }

    #[test]
    fn the_fast_crystal_starts_and_says_so(_: Peripherals) -> Result<(), &'static str> {
        if !crystal::stop() {
            return Err("the crystal cannot be stopped");
        }
        let took = crystal::start().ok_or("the crystal does not start")?;
        let again = crystal::announces_again();
        defmt::info!("crystal: {=u32} us to start; a second start is announced: {=bool}", took, again);
        if took > crystal::START_US_MAX { Err("the crystal takes too long") } else { Ok(()) }
    }

    #[test]
    #[timeout(120)]
    fn an_answer_is_ready_in_time(_: Peripherals) -> Result<(), &'static str> {
        let mut pair = Pair::new().ok_or("the nodes' configuration")?;
        cycles::set_cache(false);
        let slow = pair.run(10);
        cycles::set_cache(true);
        let fast = pair.run(10);
        for (name, answers) in [("off", slow), ("on", fast)] {
            defmt::info!(
                "cache {=str}: {=u32} answers, {=u32} us on average, {=u32} us at most, {=u32} beyond {=u32} us",
                name,
                answers.count,
                answers.mean_us(),
                answers.longest_us(),
                answers.late,
                BUDGET_US
            );
        }
        match (fast.count, fast.late * 100 > fast.count) {
            (0, _) => Err("nobody asked for an answer"),
            (_, true) => Err("more than one answer in a hundred is late, with the cache on"),
            (_, false) => Ok(()),
        }
    }

    #[test]
    #[timeout(60)]
    fn two_radios_hear_each_other(_: Peripherals) -> Result<(), &'static str> {
        let outcome = pair::run().map_err(|_| "the radio does not answer")?;
        if outcome.answers == 0 && outcome.answered == 0 {
            defmt::warn!(
                "SKIPPED: {=u32} calls, and no second board with this test within {=u64} s",
                outcome.calls,
                pair::PATIENCE_S
            );
            return Ok(());
        }
        defmt::info!("pair: {}; an answer should end after {=u32} us", outcome, pair::expected_us());
        if outcome.late > outcome.answered / 100 {
            return Err("answers are late although nothing else runs");
        }
        // The clock that measures ticks every 31 us, on both ends.
        let tolerated = 100;
        let expected = pair::expected_us();
        if outcome.answers > 0 && outcome.longest_us.abs_diff(expected) > tolerated {
            return Err("answers do not arrive when they should");
        }
        Ok(())
    }

    #[test]
    fn flash_keeps_what_is_written(mut p: Peripherals) -> Result<(), &'static str> {
        let times = storage::measure(&mut p.NVMC).ok_or("the flash refuses")?;
        defmt::info!(
            "flash: a page is erased in {=u32} us, a word written in {=u32} us",
            times.erase_us,
            times.write_us
        );
        if !times.is_kept {
            return Err("what is read is not what was written");
        }
        if times.erase_us > storage::ERASE_US_MAX || times.write_us > storage::WRITE_US_MAX {
            return Err("the flash is slower than its specification");
        }
        let epoch = storage::boots(&mut p.NVMC, 5).map_err(|error| {
            defmt::error!("{}", defmt::Display2Format(&error));
            "the storage fails"
        })?;
        if epoch == 5 { Ok(()) } else { Err("five boots do not make five epochs") }
    }
}
