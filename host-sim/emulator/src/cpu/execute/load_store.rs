//! Loads and stores. Registers change only after every access of an instruction succeeded, so that a faulting one can be
//! executed again.

use super::super::op::{Access, Index, Reg};
use super::super::trap::{Fault, Run};
use super::Core;
use crate::io::{Io, Width};

const PC: Reg = 15;

const fn width(access: Access) -> Width {
    match access {
        Access::U8 | Access::I8 => Width::Byte,
        Access::U16 | Access::I16 => Width::Half,
        Access::U32 => Width::Word,
    }
}

struct Addresses {
    /// Where the access goes.
    address: u32,
    /// The base register afterwards.
    moved: u32,
}

const fn addresses(base: u32, index: Index, offset: u32) -> Addresses {
    let moved = base.wrapping_add(offset);
    match index {
        Index::Offset => Addresses { address: moved, moved: base },
        Index::Before => Addresses { address: moved, moved },
        Index::After => Addresses { address: base, moved },
    }
}

impl<I: Io + ?Sized> Core<'_, I> {
    #[inline(always)]
    fn read_access(&mut self, access: Access, address: u32) -> Run<u32> {
        let value = self.read(address, width(access))?;
        Ok(match access {
            Access::I8 => (value << 24).cast_signed().wrapping_shr(24).cast_unsigned(),
            Access::I16 => (value << 16).cast_signed().wrapping_shr(16).cast_unsigned(),
            _ => value,
        })
    }

    /// A load into the program counter is a jump.
    #[inline(always)]
    fn set_loaded(&mut self, rt: Reg, value: u32) -> Run {
        if rt == PC {
            return self.jump(value);
        }
        self.cpu.set(rt, value);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn load_word(&mut self, rt: Reg, rn: Reg, offset: u32) -> Run {
        let value = self.read(self.cpu.get(rn).wrapping_add(offset), Width::Word)?;
        self.set_loaded(rt, value)
    }

    #[inline(always)]
    pub(super) fn load_from(&mut self, access: Access, rt: Reg, address: u32) -> Run {
        let value = self.read_access(access, address)?;
        self.set_loaded(rt, value)
    }

    #[inline(always)]
    pub(super) fn load(&mut self, access: Access, rt: Reg, rn: Reg, index: Index, offset: u32) -> Run {
        let Addresses { address, moved } = addresses(self.cpu.get(rn), index, offset);
        let value = self.read_access(access, address)?;
        if index != Index::Offset {
            self.move_base(rn, moved);
        }
        self.set_loaded(rt, value)
    }

    #[inline(always)]
    pub(super) fn store(&mut self, access: Access, rt: Reg, rn: Reg, index: Index, offset: u32) -> Run {
        let Addresses { address, moved } = addresses(self.cpu.get(rn), index, offset);
        self.write(address, width(access), self.cpu.get(rt))?;
        if index != Index::Offset {
            self.move_base(rn, moved);
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn load_by_register(&mut self, access: Access, rt: Reg, rn: Reg, rm: Reg, shift: u8) -> Run {
        let address = self.cpu.get(rn).wrapping_add(self.cpu.get(rm) << (shift & 3));
        self.load_from(access, rt, address)
    }

    #[inline(always)]
    pub(super) fn store_by_register(&mut self, access: Access, rt: Reg, rn: Reg, rm: Reg, shift: u8) -> Run {
        let address = self.cpu.get(rn).wrapping_add(self.cpu.get(rm) << (shift & 3));
        self.write(address, width(access), self.cpu.get(rt))
    }

    #[inline(always)]
    pub(super) fn load_pair(&mut self, rt: Reg, rt2: Reg, rn: Reg, index: Index, offset: u32) -> Run {
        let Addresses { address, moved } = addresses(self.cpu.get(rn), index, offset);
        let first = self.read_aligned(address)?;
        let second = self.read_aligned(address.wrapping_add(4))?;
        if index != Index::Offset {
            self.move_base(rn, moved);
        }
        self.cpu.set(rt, first);
        self.cpu.set(rt2, second);
        Ok(())
    }

    pub(super) fn load_pair_from(&mut self, rt: Reg, rt2: Reg, address: u32) -> Run {
        let first = self.read_aligned(address)?;
        let second = self.read_aligned(address.wrapping_add(4))?;
        self.cpu.set(rt, first);
        self.cpu.set(rt2, second);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn store_pair(&mut self, rt: Reg, rt2: Reg, rn: Reg, index: Index, offset: u32) -> Run {
        let Addresses { address, moved } = addresses(self.cpu.get(rn), index, offset);
        self.write_aligned(address, self.cpu.get(rt))?;
        self.write_aligned(address.wrapping_add(4), self.cpu.get(rt2))?;
        if index != Index::Offset {
            self.move_base(rn, moved);
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn load_multiple(&mut self, rn: Reg, list: u16, decrement: bool, writeback: bool) -> Run {
        let base = self.cpu.get(rn);
        let size = 4 * list.count_ones();
        let moved = if decrement { base.wrapping_sub(size) } else { base.wrapping_add(size) };
        let mut address = if decrement { moved } else { base };
        let mut loaded = self.cpu.state.r;
        let mut left = list;
        while left != 0 {
            loaded[left.trailing_zeros() as usize & 15] = self.read_aligned(address)?;
            address = address.wrapping_add(4);
            left &= left - 1;
        }
        self.cpu.state.r = loaded;
        if writeback {
            self.move_base(rn, moved);
        }
        if list >> PC == 1 { self.jump(loaded[usize::from(PC)]) } else { Ok(()) }
    }

    #[inline(always)]
    pub(super) fn store_multiple(&mut self, rn: Reg, list: u16, decrement: bool, writeback: bool) -> Run {
        let base = self.cpu.get(rn);
        let size = 4 * list.count_ones();
        let moved = if decrement { base.wrapping_sub(size) } else { base.wrapping_add(size) };
        let mut address = if decrement { moved } else { base };
        let mut left = list;
        while left != 0 {
            let value = self.cpu.state.r[left.trailing_zeros() as usize & 15];
            self.write_aligned(address, value)?;
            address = address.wrapping_add(4);
            left &= left - 1;
        }
        if writeback {
            self.move_base(rn, moved);
        }
        Ok(())
    }

    pub(super) fn load_exclusive(&mut self, access: Access, rt: Reg, rn: Reg, offset: u32) -> Run {
        let address = self.cpu.get(rn).wrapping_add(offset);
        let value = self.read_exclusive(access, address)?;
        self.cpu.state.reservation = Some(address);
        self.cpu.set(rt, value);
        Ok(())
    }

    fn read_exclusive(&mut self, access: Access, address: u32) -> Run<u32> {
        let unaligned = match access {
            Access::U32 => address & 3,
            Access::U16 | Access::I16 => address & 1,
            _ => 0,
        };
        if unaligned != 0 { self.fault(Fault::Unaligned, address) } else { self.read(address, width(access)) }
    }

    /// Stores only if the address is still reserved, and puts 0 into `rd` if so, else 1.
    pub(super) fn store_exclusive(&mut self, access: Access, rd: Reg, rt: Reg, rn: Reg, offset: u32) -> Run {
        let address = self.cpu.get(rn).wrapping_add(offset);
        if self.cpu.state.reservation.take() != Some(address) {
            self.cpu.set(rd, 1);
            return Ok(());
        }
        self.write(address, width(access), self.cpu.get(rt))?;
        self.cpu.set(rd, 0);
        Ok(())
    }
}
