"""LUT tensor core."""

from typing import Any, ClassVar

from amaranth import Cat, Module, Value
from amaranth.hdl import ValueLike

from golden.check import Choice, Parameter, complete
from golden.formats.integer import IntFormat
from golden.tpe.lut_core import LutCoreSpec
from hw.lib.array_entry import ArrayEntry
from hw.lib.evidence import ENGINE
from hw.pe.entry_select import SELECT
from hw.pe.lut_lane import LutLane, Selection
from hw.pe.lut_table import LutTable
from hw.tpe.bitplane_engine import PLANE_BUILD, BitplaneEngine, Correction

__all__ = ["LutCore"]


class LutCore(BitplaneEngine):
    """Multiplies matrices by lookup: weights select sums of activations from tables.

    Computes :func:`golden.tpe.lut_core.lut_core`, exactly; see :class:`BitplaneEngine`. The tables
    of a beat are made at the edge of the array, once for all columns; in each lane; or outside.
    Half tables hold signed sums (weight bits as +-1), so integer weights need a correction by the
    sum of the row's activations, computed once for all columns.

    Parameters
    ----------
    pipeline, adder, slack, held
        How: see :class:`BitplaneEngine`.
    sign : str
        How: with full tables, the sign plane of two's complement weights is "subtracted" in each
        lane; or it is inverted, and sums are "corrected" once for all columns.
    select : str
        How: entries are selected by "lines", one for each, or by a multiplexer "tree".

    Examples
    --------
    >>> core = LutCore(LutCoreSpec(m=1, n=8, lookups=4))
    >>> core.latency, core.operations_per_cycle
    (3, 64.0)
    """

    SPEC = LutCoreSpec
    SUMMARY = "LUT tensor core: bit planes of low-bit weights look up sums of activations"
    BENCH = "tb_engine"
    EVIDENCE = (*ENGINE, "mutants")

    BUILD: ClassVar[dict[str, Parameter]] = {
        **PLANE_BUILD,
        "sign": Choice(
            "sign plane: sums corrected once, or subtracted in each lane (full tables only)",
            "corrected",
            ("corrected", "subtracted"),
            on_device="subtracted",
        ),
        "select": SELECT,
    }

    spec: LutCoreSpec

    def __init__(self, spec: LutCoreSpec, **build: Any):
        if not isinstance(spec, LutCoreSpec):
            raise TypeError(f"spec must be a LutCoreSpec, not {spec!r}")
        build = complete(self.BUILD, build)
        half = spec.table == "half"
        integer = spec.weights == "integer"
        # A sign plane in one cycle with all others, or alone, can be subtracted; else weights
        # become offset binary.
        alone = spec.planes == 1 and spec.order == "inner"
        self.subtracts = build["sign"] == "subtracted"
        serial = not half and spec.b_signed and spec.planes > 1
        if self.subtracts and not serial:
            raise ValueError(
                "sign must be corrected but for full tables and signed planes one by one,"
                " not 'subtracted'"
            )
        self.minus = self.subtracts or (not half and spec.b_signed and alone)
        correction = self._correction(spec, halved=half and integer)
        tree = build["select"] == "tree"
        self._table = LutTable(
            spec.tables,
            spec.table,
            build["adder"],
            halved=half and integer,
            inverted=not tree,
        )
        in_array = spec.generator == "in_array"
        self.table = self._table if spec.generator == "shared" else None
        lane = LutLane(
            self._table,
            spec.lookups,
            Selection(
                weight=IntFormat(width=spec.b_code_width // spec.planes, signed=self.minus),
                folded=spec.folded,
                exact=spec.negation == "carry",
                subtracts=self.subtracts,
                tree=tree,
            ),
            makes=in_array,
            width=spec.c_format.width,
            planes=spec.planes,
            passes=spec.passes,
            pipeline=build["pipeline"],
            slack=build["slack"],
        )
        super().__init__(
            spec, lane, adder=build["adder"], held=build["held"], correction=correction
        )

    def _correction(self, spec: LutCoreSpec, *, halved: bool) -> Correction | None:
        """Choose the correction, computed from :meth:`summands`."""
        if halved:
            # A sum of halved entries lacks half the parities, in each plane; it is that of weights
            # 2 q + 1 (signed) or 2 q - (2^planes - 1), and so is halved itself.
            signs = (1 << spec.b_width) - 1
            factor, shift, parities, dropped = -1 if spec.b_signed else signs, 0, signs, 1
        elif spec.b_signed and spec.weights == "integer" and not self.minus:
            factor, shift, parities, dropped = -1, spec.b_width - 1, 0, 0
        else:
            return None
        tables = spec.external
        return Correction(
            fmt=spec.made.code_format if tables else spec.a_format,
            count=spec.lookups if tables else spec.k,
            # The first entry of a half table is minus the sum of all activations.
            activations=-factor if tables and spec.table == "half" else factor,
            parities=parities,
            group=1 if tables else spec.group,
            shift=shift,
            dropped=dropped,
        )

    def summands(self, m: Module, move: ValueLike, operands: list[Value]) -> Value:
        """Take from each external table the sum of all activations; from a half one its negative.

        Its parity is that of the activations.
        """
        if not self.spec.external:
            return super().summands(m, move, operands)
        entries = self.spec.made.table_entries
        first = 0 if self.spec.table == "half" else entries - 1
        width = self.spec.a_code_width
        return Cat(
            a.word_select(number * entries + first, width)
            for a in operands
            for number in range(self.spec.lookups)
        )

    def code(self, m: Module, a: Value) -> Value:
        """Make the tables of a row's codes, or trim external tables to the needed widths."""
        if not self.spec.external:
            return super().code(m, a)
        lookups = self.spec.lookups
        tables = [a.word_select(number, len(a) // lookups) for number in range(lookups)]
        return Cat(map(self._table.narrow, tables))

    def _control(self, m: Module, move: Value, feed: ArrayEntry) -> Value:
        """Make the lanes' control lines; the first marks the last plane of a beat."""
        control = super()._control(m, move, feed)
        return Cat(self._lines[-1], control) if self.subtracts else control

    def weights(self, m: Module, codes: list[Value], plane: int) -> Value:
        """Extract one plane in offset binary, or two's complement if the sign is subtracted."""
        if self.spec.parallel:
            return Cat(self._bits(codes, number) for number in range(self.spec.b_width))
        return self._bits(codes, plane)

    def _bits(self, codes: list[Value], plane: int) -> Value:
        """Extract the bits of one plane."""
        spec = self.spec
        signed = spec.b_signed and spec.order == "inner"
        top = signed and plane == spec.b_width - 1
        bits: list[Value] = []
        for number, code in enumerate(codes):
            last = number % spec.group == spec.group - 1
            # Inverting all weight bits of a group changes only the last bit of its key.
            other = self.minus and last if spec.folded else not self.minus
            bits.append(~code[plane] if top and other else code[plane])
        return Cat(bits)
