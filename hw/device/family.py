"""What an FPGA family has, in one place, and how products and sums are built of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amaranth import Module, Mux, Shape, Signal, Value, signed, unsigned

from golden.pe.mac import MacSpec
from hw.device.cascade import Stationary
from hw.device.row_stationary import RowStationary
from hw.device.row_store import RowStore

if TYPE_CHECKING:
    from hw.device.cascade import Cascade

__all__ = ["PACKINGS", "Bitstream", "Family", "Flow", "Multiplier", "Part", "Untimed"]

PACKINGS = ("auto", "none", "pair", "densest", "winograd")
"""Products in a multiplier block: as the family prefers, one, up to two, as many as fit, or two of
an element by Winograd's inner product."""


@dataclass(frozen=True)
class Part:
    """One device.

    Members
    -------
    name : as its maker calls it, with package and speed.
    arguments : what tells nextpnr to take it.
    capacity : resources, by the names in :attr:`Flow.counts`.
    synth : what the Yosys command needs for it besides :attr:`Flow.synth`.
    infers : what it needs to put multiplications into blocks, where it changes blocks that a
        design names: left out for such a design.
    pins : text of the file ``pins`` with the places of a measured design's ports, where nextpnr
        places none by itself.
    names : what the tools of :attr:`Bitstream.pack` and :attr:`Bitstream.pll` call it, if they ask.
    """

    name: str
    arguments: tuple[str, ...]
    capacity: dict[str, int]
    synth: str = ""
    infers: str = ""
    pins: str = ""
    names: tuple[str, str] = ("", "")


@dataclass(frozen=True, kw_only=True)
class Untimed:
    """Paths of which nextpnr knows nothing.

    Members
    -------
    cell : pattern of the cells' names.
    having : pattern of each parameter, for those that this is true of.
    inside : these are paths between a cell's own registers: paths to and from it are timed.
    why : in words.
    bound_mhz : what the paths allow by another source; None if there is none.
    source : of the bound.
    """

    cell: str
    having: dict[str, str] = field(default_factory=dict)
    inside: bool = False
    why: str
    bound_mhz: float | None = None
    source: str = ""


@dataclass(frozen=True)
class Bitstream:
    """How the open tools of a family make a bitstream of a board's top.

    Members
    -------
    pins : form of the file of constraints, of :mod:`hw.emit.constraints`.
    routed : arguments of nextpnr for the constraints in ``pins`` and the result ``routed``.
    pack : package, tool and arguments that make ``image`` of ``routed``; ``{pack}`` is the
        part's name.
    pll : the same, that write a module ``pll`` into ``pll.v``; ``{mhz}`` comes in,
        ``{wanted}`` goes out, and ``{pll}`` is the part's name.
    pll_ports : of that module: the clock that comes in, and the one that goes out.
    suffix : of the bitstream's file.
    """

    pins: str
    routed: tuple[str, ...]
    pack: tuple[str, ...]
    pll: tuple[str, ...]
    pll_ports: tuple[str, str]
    suffix: str = ".bit"


@dataclass(frozen=True, kw_only=True)
class Flow:
    """The open tools of a family.

    Members
    -------
    synth : the Yosys command, without ``-top``; it puts a pad on every port.
    bare : the option that leaves the pads out, if there is one.
    pads : nextpnr needs them.
    counts : resource -> {cell name pattern: resources per cell}.
    nextpnr : the package of its place and route; None where there is none.
    parts : the first that fits is taken.
    clock : Verilog that makes ``clk`` of a measured design; a pin if empty.
    open_ports : cell -> its port that must be left open, where Yosys ties it low.
    untimed : paths of which nextpnr knows nothing.
    bitstream : how bitstreams are made; None where no open tool does.
    """

    synth: str
    bare: str = ""
    pads: bool = False
    counts: dict[str, dict[str, float]]
    nextpnr: str | None = None
    parts: tuple[Part, ...] = field(default=())
    clock: str = ""
    open_ports: dict[str, str] = field(default_factory=dict)
    untimed: tuple[Untimed, ...] = ()
    bitstream: Bitstream | None = None


@dataclass(frozen=True)
class Multiplier:
    """A multiplier block.

    Members
    -------
    a_width, b_width : bits of its operands, two's complement; the wider one is a.
    registers : cycles from operands to product.
    half_width : bits of the operands of two products of its own, signed or not; 0 if it has none.
    """

    a_width: int
    b_width: int
    registers: int
    half_width: int = 0


@dataclass(frozen=True, kw_only=True)
class Family:
    """An FPGA family.

    The methods here leave the choice of cells to the family's mapper; a family overrides those
    that come out smaller or faster of cells that it names.

    Members
    -------
    name : of its module here.
    title : as its maker calls it.
    flow : the tools that map, place and route for it.
    multiplier : its multiplier block.
    before, behind : registers of the fabric between operands and block, and product and sum. A
        block may be far from the operands' way through an array, and from its sum.
    rows : words of a block of RAM that is as wide as a sum.
    packs : what "auto" of :data:`PACKINGS` is.
    chains : blocks can add their product to a neighbour's; see :meth:`dot`.
    stops : :meth:`multiply` takes a clock enable, of all registers of a block.
    board_arguments : more arguments of nextpnr for a board's co-processor.
    """

    name: str
    title: str
    flow: Flow
    multiplier: Multiplier
    before: int = 0
    behind: int = 1
    rows: int = 512
    packs: str = "densest"
    chains: bool = False
    stops: bool = False
    board_arguments: tuple[str, ...] = ()

    def next_b(self, register: Value, beat: Value, b: Value) -> Value:
        """Return what a register of operands of B takes; A is zero without a `beat`.

        Where products are operators it holds its value without one: whatever comes then may be x in
        simulation, in Verilog 0 times x is x, and x in a sum stays there. The enable is free.
        """
        return Mux(beat, b, register) if type(self).multiply is Family.multiply else b

    def multiply(self, m: Module, a: Value, b: Value, en: Value | None = None) -> Value:
        """Return the product of two operands, ``multiplier.registers`` cycles later.

        ``a`` is for the wider operand of the block. Signs are those of the values. Only families
        that have ``stops`` take an ``en``.
        """
        assert en is None
        shape = _product(a, b)
        x, y = _registered(m, a), _registered(m, b)
        product: Value = Signal(shape, name="product", reset_less=True)
        m.d.sync += product.eq(x * y)
        for _ in range(self.multiplier.registers - 2):
            product = _registered(m, product)
        return product

    def multiply_halves(self, m: Module, a: Value, b: Sequence[Value]) -> Value:
        """Return the products of one operand with two, side by side, as :meth:`multiply` does.

        Only of families whose multiplier has a ``half_width``: each is as wide as two such.
        """
        raise NotImplementedError

    def dot(self, m: Module, pairs: Sequence[tuple[Value, Value]]) -> Value:
        """Return the sum of the products of pairs, pair p of which is max(p - 1, 0) cycles late.

        It comes ``multiplier.registers`` + number of pairs - 1 cycles after pair 0. Only of
        families whose blocks chain.
        """
        raise NotImplementedError

    def cascade(self, spec: MacSpec, packing: str, columns: int) -> "Cascade | None":
        """Return how blocks hold the sums of an array's elements; None if logic has to.

        Parameters
        ----------
        spec : of an element.
        packing : of :data:`PACKINGS`.
        columns : of the array.
        """
        return None

    def stationary(self, width: int) -> Stationary:
        """Return how weights are held, and products added to passing sums of `width` bits."""
        return RowStationary(self, width)

    def times_digit(self, m: Module, x: Value, digit: Value) -> Value:
        """Return `x` times a digit of two bits, signed or not, a cycle later, without a block."""
        low, high = Mux(digit[0], x, 0), Mux(digit[1], x, 0) << 1
        multiple = Signal(_product(x, digit), name="multiple", reset_less=True)
        m.d.sync += multiple.eq(low - high if digit.shape().signed else low + high)
        return multiple

    def accumulate(
        self, m: Module, total: Signal, keep: Value, other: Value, addend: Value, carry: Value
    ) -> None:
        """Let a register be (itself if `keep` else `other`) + `addend` + `carry`."""
        m.d.sync += total.eq(Mux(keep, total, other) + addend + carry)

    def row_store(self, width: int, depth: int) -> RowStore:
        """Make a memory of rows; see :class:`hw.device.row_store.RowStore`."""
        return RowStore(width, depth)


def _product(a: Value, b: Value) -> Shape:
    """Return the shape that every product fits in."""
    width = len(a) + len(b)
    return signed(width) if a.shape().signed or b.shape().signed else unsigned(width)


def _registered(m: Module, value: Value) -> Signal:
    """Register a value once."""
    register = Signal(value.shape(), reset_less=True)
    m.d.sync += register.eq(value)
    return register
