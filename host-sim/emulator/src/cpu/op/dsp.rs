//! Operations of the DSP extension.

use super::{Reg, Shift};

/// How the lanes of a parallel addition or subtraction are brought back into range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// They wrap around, and the GE flags tell.
    Modulo,
    Saturate,
    Halve,
}

/// A parallel addition or subtraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parallel {
    Add16,
    /// Halves of the second operand exchanged; low lane subtracts, high lane adds.
    Asx,
    /// Halves of the second operand exchanged; low lane adds, high lane subtracts.
    Sax,
    Sub16,
    Add8,
    Sub8,
}

/// Instructions of the DSP extension, and saturation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dsp {
    Parallel {
        op: Parallel,
        lanes: Lanes,
        signed: bool,
        rd: Reg,
        rn: Reg,
        rm: Reg,
    },
    /// QADD, QSUB, QDADD, QDSUB.
    SaturatingAdd {
        double: bool,
        subtract: bool,
        rd: Reg,
        rn: Reg,
        rm: Reg,
    },
    Saturate {
        signed: bool,
        rd: Reg,
        rn: Reg,
        bits: u8,
        shift: Shift,
        amount: u8,
    },
    Saturate16 {
        signed: bool,
        rd: Reg,
        rn: Reg,
        bits: u8,
    },
    Select {
        rd: Reg,
        rn: Reg,
        rm: Reg,
    },
    /// PKHBT and PKHTB.
    Pack {
        top: bool,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        amount: u8,
    },
    /// `SMLAxy`, and with `ra` 15 `SMULxy`.
    MultiplyHalves {
        n_top: bool,
        m_top: bool,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        ra: Reg,
    },
    /// `SMLAWy`, and with `ra` 15 `SMULWy`.
    MultiplyWordHalf {
        m_top: bool,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        ra: Reg,
    },
    /// SMLAD, SMLSD, and with `ra` 15 SMUAD, SMUSD.
    MultiplyDual {
        subtract: bool,
        exchange: bool,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        ra: Reg,
    },
    /// SMMLA, SMMLS, and with `ra` 15 SMMUL.
    MultiplyTop {
        subtract: bool,
        round: bool,
        rd: Reg,
        rn: Reg,
        rm: Reg,
        ra: Reg,
    },
    /// `SMLALxy`.
    LongMultiplyHalves {
        n_top: bool,
        m_top: bool,
        low: Reg,
        high: Reg,
        rn: Reg,
        rm: Reg,
    },
    /// SMLALD, SMLSLD.
    LongMultiplyDual {
        subtract: bool,
        exchange: bool,
        low: Reg,
        high: Reg,
        rn: Reg,
        rm: Reg,
    },
    /// USADA8, and with `ra` 15 USAD8.
    SumOfDifferences {
        rd: Reg,
        rn: Reg,
        rm: Reg,
        ra: Reg,
    },
}
