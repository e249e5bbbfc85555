"""What the vector unit has for gates, sums and products, around its lanes."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.npe.activations.row_banks import RowBanks
from hw.npe.activations.row_blocks import RowBlocks
from hw.npe.activations.row_codes import limits, probabilities, rounded, scaled
from hw.npe.activations.row_gate import GateDigits, slope
from hw.npe.activations.row_lane import Elements, LaneWidths, RowStep, row_lane
from hw.npe.activations.row_order import numbers_of
from hw.npe.activations.summed_prefixes import GROUP, held_sums

__all__ = ["RowElements"]

Stages = list[Value]


class RowElements:
    """Moves beats of operations that are requantised through the stages of the vector unit.

    Products of a first multiplication come back to stage a: of a product, to be multiplied by the
    multiplier, of a gate, as the argument of an exponential. That goes to the divisor of the lane.
    So a beat may be in a stage that the last one before it has not reached; the order of reading
    leaves room.

    Parameters
    ----------
    m : where the gates go.
    spec : widths.
    now : :class:`~hw.npe.activations.row_beats.RowContext` of the pass.
    banks : where beats are read.
    move : clock enable of all stages.
    valid, last : of stages: memory's output, d, a, p, s, t.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    direct : the pass is of such an operation.
    emits : what is in the last stage are codes, or parts of sums.
    elements : for the lanes.
    """

    def __init__(
        self,
        m: Module,
        spec: VectorUnitSpec,
        now: Any,
        banks: RowBanks,
        move: Value,
        valid: Signal,
        last: Signal,
        adder: str,
    ):
        self.m, self.spec, self.now, self.adder = m, spec, now, adder
        gates, sums, products, scales = (
            self._is(*names) for names in (tuple(spec.GATES), ("add",), ("multiply",), ("scale",))
        )
        self.direct = Signal(name="direct")
        # The first time of a gate's beat; the second operand; a first of two multiplications.
        firsts, others = (
            Signal(len(valid), name=name, reset_less=True) for name in ("firsts", "others")
        )
        twice, again = Signal(4, name="twice", reset_less=True), Signal(name="again")
        m.d.comb += [
            self.direct.eq(self._blocks(m, banks, move, gates | sums | products | scales)),
            again.eq(valid[3] & twice[3]),
        ]
        with m.If(move):
            m.d.sync += [
                valid.eq(
                    Cat(
                        banks.reading,
                        valid[0],
                        (valid[1] & ~others[1]) | again,
                        valid[2],
                        valid[3] & ~twice[3],
                        valid[4],
                    )
                ),
                last.eq(self._moved(banks.last, last, again)),
                firsts.eq(self._moved(banks.first, firsts, again)),
                others.eq(Cat(banks.other, others)),
                twice.eq(Cat(C(0, 2), ~again & (firsts[1] | products), twice[2])),
            ]
        self.emits = valid[-1] & ~firsts[-1]
        load = Signal()
        m.d.comb += load.eq(move & valid[4] & firsts[4])
        digits = None
        if spec.builds(spec.GATES):
            digits = GateDigits(m, spec, now.multiplier, load, move, adder)
        self.elements = Elements(
            sums=sums & ~others[0],
            products=products,
            gates=gates,
            again=again,
            first=firsts[1],
            second=others[1],
            multiplier=now.multiplier,
            slope=slope(spec, now.operation),
            ones=self._is("sigmoid") & ~firsts[1],
            digits=digits,
        )

    def _blocks(self, m: Module, banks: RowBanks, move: Value, direct: Value) -> Value:
        """Add what shares have along the stages; return `direct`, which divisions are, too."""
        self.blocks: RowBlocks | None = None
        if not self.spec.builds(self.spec.SHARES):
            return direct
        self.divides, self.exps = self._is("divide"), self._is("exps")
        self.blocks = RowBlocks(m, self.spec, banks, move, self.adder)
        return direct | self.divides

    def _is(self, *names: str) -> Value:
        matches: Value = self.now.operation.matches(*numbers_of(self.spec, *names))
        return matches

    @staticmethod
    def _moved(new: Value, stages: Signal, again: Value) -> Value:
        """Move what belongs to beats by a stage, or from stage p back to stage a."""
        return Cat(new, stages[0], Mux(again, stages[3], stages[1]), stages[2:5])

    def chosen(
        self, factor: Value, places: Value, norm: Value, scaling: Value
    ) -> tuple[Value, Value]:
        """Choose the factor and the shift of all lanes; those of the row are of norms and sums."""
        spec, more, now = self.spec, self.elements, self.now
        widths, one = LaneWidths(spec), 1 << spec.magnitude_width + 3
        divided = places
        if self.blocks is not None:
            # Shares are multiplied by one, as sums; a division's factor is its row's.
            scaling = scaling & ~self.exps
            divided = self._divided(places)
        factor = Mux(scaling, Mux(norm, -factor, factor), Mux(norm, -1, one))
        places = Mux(scaling, places, spec.MEAN_FRACTION)
        # Differences have bits after the point; places that leave nothing are enough.
        shift = now.shift + spec.MEAN_FRACTION
        most = spec.scaling.shift_format.high
        direct = Mux(more.products, now.shift, Mux(shift > most, most, shift))
        scale = Mux(more.again, Mux(more.gates, one, now.multiplier), -now.multiplier)
        given: Value = self.direct
        if self.blocks is not None:
            given, direct = self.direct & ~self.divides, Mux(self.divides, divided, direct)
        return (
            Mux(given, scale, factor)[: widths.factor],
            Mux(self.direct, direct, places)[: widths.shift],
        )

    def _divided(self, places: Value) -> Value:
        """Return the shift of a division, of digits that RowScale counts from four below."""
        shift = Signal(range(-64, 128), name="divide_shift")
        # Values have bits after the point.
        self.m.d.comb += shift.eq(places + 4 + self.spec.MEAN_FRACTION - self.now.shift)
        return Mux(shift < 0, 0, shift[:-1])

    def exponent(self, of_row: Value) -> Value:
        """Return the exponent of a beat in the last stage, which may be of its block."""
        if self.blocks is None:
            return of_row
        return Mux(self.exps, self.blocks.exponent, of_row)

    def carried(self, summed: Signal) -> Value:
        """Return what is left of a beat for the next one: of a block's last, half a code."""
        if self.blocks is None:
            return summed
        return Mux(self.exps & self.blocks.ends, 1 << self.spec.carry_width - 1, summed)

    def lanes(
        self, m: Module, values: list[Value], keep: list[Value], carried: Value, step: RowStep
    ) -> tuple[list[Value], Value]:
        """Build the lanes; return codes and the sum."""
        spec = self.spec
        lanes = [
            row_lane(m, spec, lane, value, valid, step, self.adder)
            for lane, (value, valid) in enumerate(zip(values, keep, strict=True))
        ]
        values = [value for value, _, _ in lanes]
        starts, total = held_sums(m, step.move, values, GROUP, carried)
        probable: list[Value] = [C(0, spec.out_width)] * spec.lanes
        if spec.builds(["softmax", "exps"]):
            held: list[Value] = [
                self._held(m, f"t{lane}", step.move, value[: spec.exponential_width + 1])
                for lane, value in enumerate(values)
            ]
            probable = probabilities(m, spec, starts, held, GROUP)
        limits = self._limits()
        codes = [
            Mux(
                step.norm,
                rounded(
                    m,
                    spec,
                    self._held(m, f"t_scaled{number}", step.move, scaled(spec, lane)),
                    self.adder,
                    limits,
                ),
                probability,
            )
            for number, (lane, probability) in enumerate(zip(lanes, probable, strict=True))
        ]
        return codes, total

    @staticmethod
    def _held(m: Module, name: str, move: Value, value: Value) -> Signal:
        """Register a value."""
        register = Signal(len(value), name=name, reset_less=True)
        with m.If(move):
            m.d.sync += register.eq(value)
        return register

    def _limits(self) -> tuple[Value, Value, Value]:
        """Return zero point, least and greatest code."""
        direct = (self.now.zero_point, self.now.low, self.now.high)
        zero, low, high = (
            Mux(self.direct, one, other)
            for one, other in zip(direct, limits(self.spec), strict=True)
        )
        return zero, low, high

    def masked(self, codes: list[Value], last: Value) -> list[Value]:
        """Make zeros of codes beyond the end of a row; else they were zero points."""
        return [
            code & (~(last & self.direct & (lane > self.now.count))).replicate(len(code))
            for lane, code in enumerate(codes)
        ]
