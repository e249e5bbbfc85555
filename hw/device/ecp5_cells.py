"""Cells of Lattice ECP5 by name: carry chains, and block RAM with its output register."""

from amaranth import C, Cat, ClockSignal, Const, Instance, Module, Signal, Value

from hw.device.row_store import RowStore

__all__ = ["BlockRowStore", "carry_chain", "carry_slice"]


def carry_chain(
    m: Module, ripple: Value, inputs: dict[str, Value], result: Signal, table: int
) -> None:
    """Place slices, two bits each, until `result` is full."""
    for low in range(0, len(result) - 1, 2):
        after = Signal(name=f"carry{low}")
        pair = {name: Cat(bits, C(0, 1))[low : low + 2] for name, bits in inputs.items()}
        m.submodules += carry_slice(ripple, pair, result[low : low + 2], after, table)
        ripple = after


def carry_slice(
    carry: Value, inputs: dict[str, Value], out: Value, carry_out: Value, table: int
) -> Instance:
    """Make a CCU2C: two tables of four inputs, and the carry."""
    return Instance(
        "CCU2C",
        p_INIT0=Const(table, 16),
        p_INIT1=Const(table, 16),
        p_INJECT1_0="NO",
        p_INJECT1_1="NO",
        i_CIN=carry,
        **{f"i_{name}{bit}": value[bit] for name, value in inputs.items() for bit in range(2)},
        o_S0=out[0],
        o_S1=out[1],
        o_COUT=carry_out,
    )


class BlockRowStore(RowStore):
    """512 words in blocks of 36 bits."""

    def elaborate(self, platform):
        m = Module()
        for low in range(0, self.width, 36):
            m.submodules += _block_ram(self, low, min(36, self.width - low))
        return m


def _block_ram(store: RowStore, low: int, width: int) -> Instance:
    """Make a PDPW16KD for some bits of the words."""
    address, start = store.i_address, store.i_from
    return Instance(
        "PDPW16KD",
        p_DATA_WIDTH_W=36,
        p_DATA_WIDTH_R=36,
        p_REGMODE="OUTREG",
        p_RESETMODE="SYNC",
        p_GSR="DISABLED",
        p_CSDECODE_W="0b000",
        p_CSDECODE_R="0b000",
        i_CLKW=ClockSignal(),
        i_CLKR=ClockSignal(),
        i_RST=C(0, 1),
        i_CEW=store.i_write,
        i_CER=store.i_read[0],
        i_OCER=store.i_read[1],
        **{f"i_BE{lane}": C(1, 1) for lane in range(4)},
        **{f"i_CS{port}{line}": C(0, 1) for port in "WR" for line in range(3)},
        **{f"i_ADW{bit}": address[bit] for bit in range(9)},
        **{f"i_ADR{bit + 5}": start[bit] for bit in range(9)},
        **{f"i_ADR{bit}": C(0, 1) for bit in range(5)},
        **{f"i_DI{bit}": store.i[low + bit] if bit < width else C(0, 1) for bit in range(36)},
        **{f"o_DO{bit}": store.o[low + bit] for bit in range(width)},
    )
