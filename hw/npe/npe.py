"""Output-stationary array of lanes."""

from typing import Any, ClassVar

from amaranth import Cat, Module, Value
from amaranth.hdl import ValueLike
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from golden.check import Integer, Parameter, complete
from golden.npe.npe import NpeSpec
from hw.lib.array_entry import ArrayEntry
from hw.lib.shared_module import SharedModule
from hw.npe.array.block_scales import BlockCount, BlockScales
from hw.npe.array.column_output import ColumnEncoder, ColumnScaler
from hw.npe.array.ports import AWords, BWords, CNumbers, EdgeDecoder, Scale
from hw.npe.array.tile_flags import TileFlags
from hw.npe.array.zero_points import differences
from hw.npe.lane.lane8 import Lane8
from hw.npe.lane.lane16 import Lane16
from hw.npe.lane.sum_formats import SumFormats
from hw.tpe.rows_array import RowsArray, late, skew
from hw.tpe.systolic_os import SystolicColumn, place_systolic

__all__ = ["Npe"]

_LANES = {"sl8": Lane8, "sl16": Lane16}


class Npe(RowsArray):
    """Multiplies matrices of any two formats on a systolic array of lanes, with exact sums.

    Computes :func:`golden.npe.npe.npe`, exactly. Operands are decoded at the edge, once for each
    row of A and each column of B; A moves right and B moves down one lane per cycle. Formats are
    sampled with the first beat of a tile, and each operand carries a format tag: tiles of different
    formats follow each other without a gap. A tile takes :meth:`golden.npe.lane.LaneSpec.cycles`
    for each :meth:`golden.npe.lane.LaneSpec.codes` of K; the next one follows at once if those are
    at least :attr:`NpeSpec.drain`. With scales, that holds for each block of a tile: its sums
    leave, and are scaled and accumulated at the ends of columns.

    Latency, last operand beat of a tile to its row 0: :attr:`latency` cycles. Throughput: m n
    words per :meth:`golden.npe.lane.LaneSpec.cycles` cycles. Stalls: a missing operand puts a
    bubble into the array; a row of C that is not taken stalls all of it: ``o_c.ready`` reaches
    every register's enable and ``i_a.ready``, ``i_b.ready`` combinationally. Overflow: sums are
    modulo 2^accumulator_width, and exact unless ``overflow`` is set: the tile had more beats than
    :meth:`NpeSpec.k_max_words`; with scales "e8m0" results become infinities instead. NaN operands
    count as zero and set ``invalid``. Rounding, for encoded results: once, from the exact sum, by
    one encoder per column; with scales "e8m0", of each block's scaled sum and of each addition.

    Parameters
    ----------
    spec : NpeSpec
        What: tile, lane, formats, width of sums, result format.
    accumulation, adder, pipeline
        How: see :class:`hw.npe.lane.lane8.Lane8`; `adder` is used in the columns too.
    encoder_pipeline : int
        How: registers in the encoders or block scalers of the columns; see
        :class:`hw.npe.array.column_output.ColumnEncoder` and
        :class:`hw.npe.array.column_output.ColumnScaler`.

    Members
    -------
    i_a : In(stream)
        :class:`AWords`, a word along K for each row; `format` is the index of A's format. ``last``
        ends a tile; the array counts the words of blocks itself.
    i_b : In(stream)
        :class:`BWords`, a word along K for each column; each moves together with one of ``i_a``.
    o_c : Out(stream)
        :class:`CNumbers`, the rows of the tile of C, row 0 first: codes of the result format, or
        sums, integers times 2^:meth:`golden.npe.lane.LaneSpec.lsb`.

    Examples
    --------
    >>> array = Npe(NpeSpec(m=2, n=4, formats="int8,e4m3"))
    >>> array.latency, array.operations_per_cycle
    (7, 16)
    """

    SPEC = NpeSpec
    SUMMARY = "output-stationary array of SL8 or SL16 lanes: formats per tile, block scales"
    BENCH = "tb_npe"
    EVIDENCE = (
        "cocotb against numpy: all pairs of formats, mixed tiles, stalls, resets, flags,"
        " extremes, exact cycle count",
        "netlist simulation",
        "mutants",
    )

    BUILD: ClassVar[dict[str, Parameter]] = {
        **Lane8.BUILD,
        "encoder_pipeline": Integer("registers in the result encoders", 1, 0, 3),
    }

    spec: NpeSpec
    _state: SumFormats
    _mode: Value
    _taken: Value
    _blocks: BlockCount

    def __init__(self, spec: NpeSpec, **build: Any):
        if not isinstance(spec, NpeSpec):
            raise TypeError(f"spec must be a NpeSpec, not {spec!r}")
        build = complete(self.BUILD, build)
        registers, adder = build.pop("encoder_pipeline"), build["adder"]
        self.element = _LANES[spec.lane](spec.element, **build)
        self.edges = {side: EdgeDecoder(self.element, side, spec.zeros) for side in "ab"}
        self.encoder: ColumnEncoder | ColumnScaler | None = None
        if spec.scale != "none":
            self.encoder = ColumnScaler(spec, registers, adder)
        elif spec.result_format is not None:
            self.encoder = ColumnEncoder(spec, registers, adder)
        ports = {
            "i_a": In(stream.Signature(AWords(spec))),
            "i_b": In(stream.Signature(BWords(spec))),
            "o_c": Out(stream.Signature(CNumbers(spec))),
        }
        super().__init__(spec, SystolicColumn(spec, self.element, adder), ports)

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The column, the decoders at the edge, and the result encoder."""
        encoders = () if self.encoder is None else (self.encoder,)
        return (self.column, *self.edges.values(), *encoders)

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C."""
        encoding = 0 if self.encoder is None else self.encoder.latency
        return super().latency + self.spec.n - 1 + encoding

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition per product, for the pair of formats with the most."""
        return self.spec.m * self.spec.n * self.spec.element.operations

    def ends(self, m: Module, feed: ArrayEntry) -> tuple[Value, Value, Value]:
        """End sums with tiles or blocks; only a tile's last block makes results leave."""
        payload = self.i_a.payload
        m.submodules.state = self._state = state = SumFormats(
            self.spec.element, self.spec.k_max_words
        )
        self._mode, done = self.element.mode(m, state.o_a, state.o_b, feed.accept)
        self._taken = feed.accept & done
        watches: list[SumFormats | BlockCount] = [state]
        last, finish = payload.last, feed.finish
        scaled = self.spec.scale != "none"
        if scaled or self.spec.zeros:
            m.submodules.blocks = self._blocks = BlockCount(self.spec)
            watches.append(self._blocks)
        if scaled:
            last, finish = self._blocks.o_last, finish & self._blocks.o_closes
        for watch in watches:
            m.d.comb += [
                watch.accept.eq(self._taken),
                watch.last.eq(payload.last),
                watch.i_a.eq(payload.format),
                watch.i_b.eq(self.i_b.payload.format),
            ]
        return last & done, self._taken, finish

    def build(self, m: Module, move: ValueLike, feed: ArrayEntry, clear: Value) -> Value:
        """Decode rows of A and columns of B, delayed; place the columns; encode results."""
        spec = self.spec
        scaled = spec.scale != "none"
        longest = max(spec.m, spec.n)
        clears = Cat(clear, late(m, move, "clear", clear[-1], longest - spec.m + 1)[1:])
        flags = self._flags(m, move, clears)
        if scaled:
            scales = self._scales(m, move, clears)
        state = self._state
        modes = late(m, move, "mode", Cat(feed.accept, state.o_a, state.o_b, self._mode), longest)
        a, b = (
            self._decode(m, move, side, modes, clears, flag)
            for side, flag in (("a", flags.i_a), ("b", flags.i_b))
        )
        tiles = [flags.o_tile.word_select(j, len(flags.i_tile)) for j in range(spec.n)]

        def drain(number: int, total: Value) -> Value:
            invalid = flags.o_invalid[number]
            if self.encoder is None:
                return Cat(total, invalid)
            m.submodules[f"encoder{number}"] = encoder = self.encoder.place()
            m.d.comb += [
                encoder.en.eq(move),
                encoder.i.eq(total),
                encoder.i_scale.eq(tiles[number][1 : 1 + spec.scale_width]),
                encoder.i_invalid.eq(invalid),
            ]
            if scaled:
                m.d.comb += encoder.i_first.eq(tiles[number][-1])
                m.d.comb += scales.connected(encoder, number)
                return Cat(encoder.o, encoder.o_invalid)
            behind = late(m, move, f"invalid{number}_", invalid, self.encoder.latency + 1)[-1]
            return Cat(encoder.o, behind)

        row = place_systolic(m, move, self.column, a, b, clear, drain)
        encoding = 0 if self.encoder is None else self.encoder.latency
        width = spec.result_width + 1
        m.d.comb += [
            self.o_c.payload.invalid.eq(Cat(row[width - 1 :: width])),
            self.o_c.payload.overflow.eq(late(m, move, "overflow", tiles[-1][0], encoding + 1)[-1]),
        ]
        return Cat(row.word_select(j, width)[:-1] for j in range(spec.n))

    def _flags(self, m: Module, move: ValueLike, clears: Value) -> TileFlags:
        """Send a tile's side information to the ends of columns."""
        spec, state = self.spec, self._state
        scaled = spec.scale != "none"
        known = 1 + spec.scale_width + scaled
        m.submodules.flags = flags = TileFlags(spec, known, self.column.latency)
        m.d.comb += [flags.move.eq(move), flags.clear.eq(clears)]
        m.d.comb += flags.i_tile[0].eq(state.o_overflow)
        if spec.scale_width:
            m.submodules.scale = scale = Scale(spec)
            m.d.comb += [scale.accept.eq(self._taken), scale.i_a.eq(state.o_a)]
            m.d.comb += scale.i_b.eq(state.o_b)
            m.d.comb += flags.i_tile[1 : 1 + spec.scale_width].eq(scale.o)
        if scaled:
            m.d.comb += flags.i_tile[-1].eq(self._blocks.o_opens)
        return flags

    def _scales(self, m: Module, move: ValueLike, clears: Value) -> BlockScales:
        """Send the scales of blocks to the ends of columns."""
        m.submodules.scales = scales = BlockScales(self.spec, self.column.latency)
        m.d.comb += [
            scales.move.eq(move),
            scales.load.eq(self._taken & self._blocks.o_first),
            scales.clear.eq(clears),
            scales.i_a.eq(self.i_a.payload.scale),
            scales.i_b.eq(self.i_b.payload.scale),
        ]
        return scales

    def _decode(
        self, m: Module, move: ValueLike, side: str, modes: list[Value], clears: Value, flags: Value
    ) -> list[Value]:
        """Place the decoders of the rows of A, or of the columns of B, each after its delay."""
        lane, width = self.spec.element, len(self.edges[side].i_data)
        words = (self.i_a if side == "a" else self.i_b).payload.data
        if side == "b" and self.spec.zeros:
            first, index = self._blocks.o_first, self._state.o_b
            words = differences(m, self.spec, self.i_b.payload, index, first)
        operands: list[Value] = []
        for number, word in enumerate(skew(m, move, side, words, len(flags), width)):
            m.submodules[f"edge_{side}{number}"] = edge = self.edges[side].place()
            mode = modes[number][1:]
            m.d.comb += [
                edge.en.eq(move),
                edge.i_data.eq(word),
                edge.i_valid.eq(modes[number][0]),
                edge.i_format.eq(mode.word_select("ab".index(side), lane.format_width)),
                edge.i_mode.eq(mode[2 * lane.format_width :]),
                edge.i_clear.eq(clears[number]),
                flags[number].eq(edge.o_invalid),
            ]
            operands.append(edge.o)
        return operands
