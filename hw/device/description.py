"""What is known of FPGA families and of the tools for them, as plain data."""

from dataclasses import dataclass, field

__all__ = ["PACKINGS", "Bitstream", "Flow", "Multiplier", "OutputRegister", "Part", "Untimed"]

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


@dataclass(frozen=True, kw_only=True)
class OutputRegister:
    """The registers at a port of a block RAM that mappers leave unused.

    Members
    -------
    cell : the block.
    width : its parameter of the port's bits.
    widths : for which numbers of it this is so.
    outputs : names of what is read, less the number of the bit.
    clock, clocks : its port for that; all that the block has.
    modes : parameters, ``NOREG`` where the registers are not used, and ``OUTREG`` where they are.
    enables, resets : ports of the registers.
    """

    cell: str
    width: str
    widths: tuple[int, ...]
    outputs: tuple[str, ...]
    clock: str
    clocks: tuple[str, ...]
    modes: tuple[str, ...]
    enables: tuple[str, ...]
    resets: tuple[str, ...]


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
    pll_pairs : by what needs a second clock, kinds of memory and ``array``: how many times the
        design's clock the first one is then, and further arguments for the second; ``{half}`` is
        half of ``{wanted}``.
    pll_second : port of the second clock.
    suffix : of the bitstream's file.
    """

    pins: str
    routed: tuple[str, ...]
    pack: tuple[str, ...]
    pll: tuple[str, ...]
    pll_ports: tuple[str, str]
    pll_pairs: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    pll_second: str = ""
    suffix: str = ".bit"


@dataclass(frozen=True, kw_only=True)
class Flow:
    """The open tools of a family.

    Members
    -------
    synth : the Yosys command, without ``-top``; it puts a pad on every port.
    luts : commands in place of its step ``map_luts``; none if they are the command's.
    behind_luts : the step behind that one.
    bare : the option that leaves the pads out, if there is one.
    pads : nextpnr needs them.
    counts : resource -> {cell name pattern: resources per cell}.
    nextpnr : the package of its place and route; None where there is none.
    large : from how many look-up tables on a design is large, and further arguments of nextpnr for
        one; None if all are placed alike.
    parts : the first that fits is taken.
    clock : Verilog that makes ``clk`` of a measured design; a pin if empty.
    open_ports : cell -> its port that must be left open, where Yosys ties it low.
    output_registers : that registers right behind block RAMs are moved to.
    untimed : paths of which nextpnr knows nothing.
    bitstream : how bitstreams are made; None where no open tool does.
    """

    synth: str
    luts: tuple[str, ...] = ()
    behind_luts: str = "map_cells"
    bare: str = ""
    pads: bool = False
    counts: dict[str, dict[str, float]]
    nextpnr: str | None = None
    large: tuple[int, tuple[str, ...]] | None = None
    parts: tuple[Part, ...] = field(default=())
    clock: str = ""
    open_ports: dict[str, str] = field(default_factory=dict)
    output_registers: tuple[OutputRegister, ...] = ()
    untimed: tuple[Untimed, ...] = ()
    bitstream: Bitstream | None = None

    def mapping(self, *options: str) -> list[str]:
        """Return the commands of Yosys that map a design.

        Parameters
        ----------
        options : of the Yosys command, beside its own: the design's, the part's.
        """
        synth = " ".join(filter(None, (self.synth, *options)))
        if not self.luts:
            return [synth]
        return [f"{synth} -run begin:map_luts", *self.luts, f"{synth} -run {self.behind_luts}:"]

    def placing(self, luts: float) -> tuple[str, ...]:
        """Return nextpnr's arguments for a design of so many look-up tables, but for its part's."""
        if self.large is None or luts < self.large[0]:
            return ()
        return self.large[1]


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
