"""Ternary core."""

from typing import Any, ClassVar

from amaranth import C, Cat, Module, Value

from golden.check import Integer, Parameter, complete
from golden.formats.integer import IntFormat
from golden.lut.table import TableSpec
from golden.tpe.ternary_core import TernaryCoreSpec
from hw.lib.evidence import ENGINE
from hw.pe.bitplane_lane import BitplaneLane
from hw.pe.entry_select import SELECT
from hw.pe.lut_lane import LutLane, Selection
from hw.pe.lut_table import LutTable, Table
from hw.pe.sparse_select import SparseSelect
from hw.pe.ternary_lane import TernaryLane
from hw.pe.ternary_table import TernaryTable
from hw.tpe.bitplane_engine import PLANE_BUILD, BitplaneEngine

__all__ = ["TernaryCore"]


class TernaryCore(BitplaneEngine):
    """Multiplies matrices by weights -1, 0 and 1.

    Computes :func:`golden.tpe.ternary_core.ternary_core`, exactly; see :class:`BitplaneEngine`.
    Tables of a beat are made at the edge of the array, once for all columns. In mode two_plane, two
    sign planes select from half tables, as in a LUT core; their sum is twice C.

    Parameters
    ----------
    pipeline, adder, slack, held
        How: see :class:`BitplaneEngine`.
    chain : int
        How: a lane's operands are added by the tool's adders, so many one after the other, then in
        a tree, as FPGAs' carry chains do with fewest LUTs; 0: they are compressed.
    select : str
        How: entries are selected by "lines", one for each, or by a multiplexer "tree", whose
        inputs are the bits of keys.

    Examples
    --------
    >>> core = TernaryCore(TernaryCoreSpec(m=2, n=4, k=10))
    >>> core.i_b.payload.shape()  # weights of two bits each
    StructLayout({'data': 80})
    >>> core.latency, core.operations_per_cycle
    (4, 160.0)
    """

    SPEC = TernaryCoreSpec
    SUMMARY = "ternary core: activations, or sums from tables, added, subtracted or skipped"
    BENCH = "tb_engine"
    EVIDENCE = (*ENGINE, "mutants")

    BUILD: ClassVar[dict[str, Parameter]] = {
        **PLANE_BUILD,
        "chain": Integer(
            "operands that the tool's adders add one after the other; 0: compressors",
            0,
            0,
            80,
            "operands",
        ),
        "select": SELECT,
    }

    spec: TernaryCoreSpec

    def __init__(self, spec: TernaryCoreSpec, **build: Any):
        if not isinstance(spec, TernaryCoreSpec):
            raise TypeError(f"spec must be a TernaryCoreSpec, not {spec!r}")
        build = complete(self.BUILD, build)
        self.table: Table | None = None
        self.select: SparseSelect | None = None
        twice = spec.mode == "two_plane"
        if twice and build["chain"]:
            raise ValueError(f"chain must be 0 where mode is two_plane, not {build['chain']!r}")
        tree = build["select"] == "tree"
        if tree and not spec.keys:
            raise ValueError("select must be lines where B arrives as weights, not 'tree'")
        more = {
            "width": spec.c_format.width + twice,
            "pipeline": build["pipeline"],
            "slack": build["slack"],
        }
        lane: BitplaneLane
        if twice:
            signs = TableSpec(group=spec.group, a_width=spec.a_width, a_signed=spec.a_signed)
            self.table = half = LutTable(signs, "half", build["adder"])
            bit = IntFormat(width=1, signed=False)
            selection = Selection(weight=bit, folded=False)
            lane = LutLane(half, spec.k // spec.group, selection, planes=1, **more)
        else:
            table = None
            if spec.mode != "direct":
                table = TernaryTable(spec.group, spec.a_format, build["adder"], tree=tree)
            keys = spec.mode if spec.keys else "none"
            if spec.sparse is not None:
                self.select = SparseSelect(spec.sparse, spec.b_codes)
            more["chain"] = build["chain"]
            lane = TernaryLane(
                spec.a_format, spec.b_codes, table=table, keys=keys, select=self.select, **more
            )
            self.table = table
        super().__init__(spec, lane, adder=build["adder"], held=build["held"], dropped=int(twice))

    def weights(self, m: Module, codes: list[Value], plane: int) -> Value:
        """Return codes or keys unchanged; with two planes: weight is 1, weight is not -1.

        With sparsity: codes, and select lines for their activations.
        """
        if self.select is not None:
            return self.select.decode(m, C(1, 1), Cat(codes), self.spec.b_width)
        if self.planes == 1:
            return Cat(codes)
        return Cat(~(code[0] & code[1]) if plane else code[0] & ~code[1] for code in codes)
