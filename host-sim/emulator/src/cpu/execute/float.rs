//! Floating-point instructions: registers, memory and status around the arithmetic of [`fpu`](super::super::fpu).

use super::super::fpu::STATUS_MASK;
use super::super::op::{Fp, FpUnary, Reg};
use super::super::trap::{Fault, Run, Trap};
use super::{Core, Cpu};
use crate::io::Io;

const SIGN: u32 = 1 << 31;

impl Cpu {
    fn s(&self, reg: Reg) -> u32 {
        self.state.fpu.s[usize::from(reg & 31)]
    }

    fn set_s(&mut self, reg: Reg, value: u32) {
        self.state.fpu.s[usize::from(reg & 31)] = value;
    }

    /// What happens before every floating-point instruction.
    fn prepare_fp(&mut self) -> Run {
        let privileged = self.is_privileged();
        let state = &mut self.state;
        if !state.system.has_fp(privileged) {
            return Err(Trap::Fault(Fault::NoCoprocessor));
        }
        if !state.has_fp_context && state.system.saves_fp_state() {
            state.has_fp_context = true;
            state.fpu.status = state.system.fp_default_status;
        }
        Ok(())
    }
}

impl<I: Io + ?Sized> Core<'_, I> {
    #[inline(never)]
    pub(super) fn execute_fp(&mut self, op: Fp) -> Run {
        self.cpu.prepare_fp()?;
        match op {
            Fp::Load { first, count, rn, start, writeback } => {
                let address = self.cpu.get(rn).wrapping_add_signed(i32::from(start));
                self.load_fp(first, count, address)?;
                self.move_fp_base(rn, writeback);
                Ok(())
            }
            Fp::Store { first, count, rn, start, writeback } => {
                let address = self.cpu.get(rn).wrapping_add_signed(i32::from(start));
                self.store_fp(first, count, address)?;
                self.move_fp_base(rn, writeback);
                Ok(())
            }
            Fp::LoadLiteral { first, count, address } => self.load_fp(first, count, address),
            other => {
                self.cpu.execute_fp_register(other);
                Ok(())
            }
        }
    }

    fn move_fp_base(&mut self, rn: Reg, distance: i16) {
        if distance != 0 {
            self.move_base(rn, self.cpu.get(rn).wrapping_add_signed(i32::from(distance)));
        }
    }

    fn load_fp(&mut self, first: Reg, count: u8, address: u32) -> Run {
        for place in 0..count {
            let value = self.read_aligned(address.wrapping_add(4 * u32::from(place)))?;
            self.cpu.set_s(first + place, value);
        }
        Ok(())
    }

    fn store_fp(&mut self, first: Reg, count: u8, address: u32) -> Run {
        for place in 0..count {
            self.write_aligned(address.wrapping_add(4 * u32::from(place)), self.cpu.s(first + place))?;
        }
        Ok(())
    }
}

impl Cpu {
    fn execute_fp_register(&mut self, op: Fp) {
        match op {
            Fp::Binary { op, sd, sn, sm } => {
                let (d, n, m) = (self.s(sd), self.s(sn), self.s(sm));
                let result = self.state.fpu.binary(op, d, n, m);
                self.set_s(sd, result);
            }
            Fp::Unary { op, sd, sm } => {
                let value = self.s(sm);
                let result = match op {
                    FpUnary::Vmov => value,
                    FpUnary::Vabs => value & !SIGN,
                    FpUnary::Vneg => value ^ SIGN,
                    FpUnary::Vsqrt => self.state.fpu.square_root(value),
                };
                self.set_s(sd, result);
            }
            Fp::Constant { sd, bits } => self.set_s(sd, bits),
            Fp::Compare { sd, sm, signal } => self.state.fpu.compare(self.s(sd), self.s(sm), signal),
            Fp::CompareZero { sd, signal } => self.state.fpu.compare(self.s(sd), 0, signal),
            Fp::ToCore { rt, sn } => self.set(rt, self.s(sn)),
            Fp::FromCore { rt, sn } => self.set_s(sn, self.get(rt)),
            Fp::PairToCore { rt, rt2, sm } => {
                self.set(rt, self.s(sm));
                self.set(rt2, self.s(sm + 1));
            }
            Fp::PairFromCore { rt, rt2, sm } => {
                self.set_s(sm, self.get(rt));
                self.set_s(sm + 1, self.get(rt2));
            }
            Fp::ReadStatus { rt: 15 } => self.state.flags.set_nzcv(self.state.fpu.status),
            Fp::ReadStatus { rt } => self.set(rt, self.state.fpu.status),
            Fp::WriteStatus { rt } => self.state.fpu.status = self.get(rt) & STATUS_MASK,
            other => self.execute_fp_conversion(other),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a half of the register is meant")]
    fn execute_fp_conversion(&mut self, op: Fp) {
        let (sd, result) = match op {
            Fp::FromInteger { sd, sm, signed } => (sd, self.state.fpu.convert_from_integer(self.s(sm), signed)),
            Fp::ToInteger { sd, sm, signed, toward_zero } => {
                (sd, self.state.fpu.convert_to_integer(self.s(sm), signed, toward_zero))
            }
            Fp::FromFixed { sd, signed, wide, fraction } => {
                (sd, self.state.fpu.convert_from_fixed(self.s(sd), signed, wide, fraction))
            }
            Fp::ToFixed { sd, signed, wide, fraction } => {
                (sd, self.state.fpu.convert_to_fixed(self.s(sd), signed, wide, fraction))
            }
            Fp::FromHalf { sd, sm, top } => {
                let half = (self.s(sm) >> if top { 16 } else { 0 }) as u16;
                (sd, self.state.fpu.convert_from_half(half))
            }
            Fp::ToHalf { sd, sm, top } => {
                let half = u32::from(self.state.fpu.convert_to_half(self.s(sm)));
                let kept = self.s(sd);
                (sd, if top { kept & 0xFFFF | half << 16 } else { kept & 0xFFFF_0000 | half })
            }
            // The callers execute the others themselves.
            _ => return,
        };
        self.set_s(sd, result);
    }
}
