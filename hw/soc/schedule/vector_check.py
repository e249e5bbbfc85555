"""The checks of a vector job before it begins."""

from typing import Any, NamedTuple

from amaranth import C, Cat, Mux, Value

from golden.npe.vector import VectorUnitSpec
from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.rdl import numbered, vector_numbers
from hw.soc.schedule.geometry import bytes_of_top, last_of_list

__all__ = ["VectorCheck", "share_columns", "vector_check"]


class VectorCheck(NamedTuple):
    """What is known of a job, and what is wrong with it if it is a vector job.

    Members
    -------
    here : it is a vector job.
    zero, large, unsupported, deep, long : what is wrong, by the names of error codes.
    bytes_a, bytes_b, bytes_c : bytes of a row of each matrix, minus one.
    pair : it has rows of B, too.
    turned : C has a row for each column of A.
    gathers : A is a table of K rows.
    windows : the job is depthwise: it has a map, and one row of K weights.
    """

    here: Value
    zero: Value
    large: Value
    unsupported: Value
    deep: Value
    long: Value
    bytes_a: Value
    bytes_c: Value
    pair: Value
    bytes_b: Value
    turned: Value
    gathers: Value
    windows: Value


def vector_check(
    spec: CoprocessorSpec, job: Any, above: Value, above_m: Value
) -> VectorCheck | None:
    """Look at a job; None in a build without a vector unit.

    Parameters
    ----------
    spec : the build.
    job : :class:`~hw.soc.registers.coprocessor.JobLayout`.
    above, above_m : its N and its M less one.
    """
    unit, mode, size = spec.vector, job.mode, spec.dimension_width
    if unit is None:
        return None
    numbers = vector_numbers()
    number = numbered(spec.vector_jobs, mode)
    built = number.matches(*(numbers[name] for name in spec.vector_jobs))
    turned: Value = number == numbers["transpose"] if spec.transpose else C(0, 1)
    gathers: Value = number == numbers["gather"] if spec.gather else C(0, 1)
    blends: Value = number == numbers["blend"] if spec.blend else C(0, 1)
    index, top = (_is(spec, mode, name) for name in ("index", "top_k"))
    scaled, pair, second, exponents = (
        number.matches(*(numbers[name] for name in unit.built if name in names))
        for names in (unit.SCALED, unit.PAIRS, unit.SECOND, ("scale",))
    )
    exps, scaled = _of_shares(unit, mode, scaled)
    maps, requantised, windows = C(0, 1), scaled | blends if spec.blend else scaled, C(0, 1)
    if spec.depthwise:
        windows = mode.vector == numbers["depthwise"]
    if spec.taps:
        maps = mode.vector.matches(*(numbers[name] for name in spec.MAPS)) | windows
        requantised |= maps
    softmax = number == numbers["softmax"]
    narrowed: Value = C(0, 1)
    if spec.sizes:
        narrowed = mode.c_bytes[0] & (spec.vector_out_bytes > 1)
    bytes_c = _bytes_of_c(spec, above, (softmax, exps), narrowed | maps)
    bytes_c = _bytes_of_lists(spec, job, above, (index, top), bytes_c)
    bytes_a = Mux(mode.a_format == 1, Cat(C(1, 1), above), above)
    wrong = _wrong_flags(spec, job, scaled, requantised, windows, blends)
    shares = softmax | exps if unit.builds(unit.SHARES) else softmax
    wrong |= _wrong_mode(spec, job, narrowed, requantised, shares, turned, gathers)
    if spec.taps:
        wrong |= maps & ((mode.a_format != 0) | (mode.c_bytes[1] if spec.sizes else 0))
    has_k = gathers | windows | top if spec.top_k else gathers | windows
    return VectorCheck(
        here=mode.vector != 0,
        zero=(job.m == 0) | (job.n == 0) | (has_k & (job.k == 0)),
        large=(job.m >> size != 0) | (job.n >> size != 0) | (has_k & (job.k >> size != 0)),
        unsupported=~built | (mode.a_format >= spec.vector_in_bytes) | wrong,
        deep=top & ((job.k > spec.top_k) | (job.k > job.n)),
        long=(job.n > _most(spec, pair, windows, index | top)) & ~turned,
        bytes_a=bytes_a,
        bytes_c=Mux(turned, above_m, bytes_c) if spec.transpose else bytes_c,
        turned=turned,
        pair=_takes_b(spec, second | gathers, maps, blends),
        bytes_b=_bytes_of_b(spec, job, bytes_a, (exponents, gathers, windows, blends)),
        gathers=gathers,
        windows=windows,
    )


def _takes_b(spec: CoprocessorSpec, others: Value, maps: Value, blends: Value) -> Value:
    """Return whether a job has rows of B."""
    others = others | maps if spec.taps else others
    return others | blends if spec.blend else others


def _most(spec: CoprocessorSpec, pair: Value, windows: Value, index: Value) -> Value:
    """Return the most codes of a row: of two operands, of windows, of a list, or of others."""
    unit = spec.vector
    assert unit is not None
    most: Value = Mux(pair, unit.most("add"), unit.length) if unit.scales else C(unit.length)
    if spec.depthwise:
        columns = spec.rows // spec.inside.m * spec.inside.n
        most = Mux(windows, min(unit.length, columns), most)
    return Mux(index, spec.lists, most) if spec.lists else most


def _is(spec: CoprocessorSpec, mode: Any, name: str) -> Value:
    """Return whether a job is one of that name, if the build has such."""
    if name not in spec.vector_jobs:
        return C(0, 1)
    return numbered(spec.vector_jobs, mode) == vector_numbers()[name]


def _of_shares(unit: VectorUnitSpec, mode: Any, scaled: Value) -> tuple[Value, Value]:
    """Return whether a job makes shares; and whether it says how its rows are requantised."""
    if not unit.builds(unit.SHARES):
        return C(0, 1), scaled
    exps = (mode.vector == vector_numbers()["exps"]) & ~mode.requantise
    return exps, scaled & ~exps


def _bytes_of_c(spec: CoprocessorSpec, above: Value, of: tuple[Value, Value], byte: Value) -> Value:
    """Return the bytes of a row of C less one; of shares there are exponents, as many as blocks.

    Parameters
    ----------
    above : N less one.
    of : the job is a softmax, which has one more code, the exponent; it makes shares.
    byte : codes have one.
    """
    softmax, exps = of
    last: Value = above + softmax
    assert spec.vector is not None
    if spec.vector.builds(spec.vector.SHARES):
        last = Mux(exps, share_columns(spec.vector, above) - 1, last)
    if spec.vector_out_bytes == 1:
        return last
    return Mux(byte, last, Cat(C(1, 1), last))


def _bytes_of_lists(
    spec: CoprocessorSpec, job: Any, above: Value, of: tuple[Value, Value], others: Value
) -> Value:
    """Return the bytes of a row of C less one, of which places are listed, or others."""
    index, top = of
    if spec.lists:
        others = Mux(index, last_of_list(above), others)
    if spec.top_k:
        others = Mux(top, bytes_of_top(job.k, job.mode.a_format[0]) - 1, others)
    return others


def share_columns(unit: VectorUnitSpec, last: Value) -> Value:
    """Return the columns of a row of C, of shares, by the values of a row less one."""
    filled, blocks = last | unit.lanes - 1, last >> unit.block.bit_length() - 1
    return filled + blocks + 2


def _bytes_of_b(
    spec: CoprocessorSpec, job: Any, rows: Value, of: tuple[Value, Value, Value, Value]
) -> Value:
    """Return the bytes of a row of B less one: of rows as of A, exponents, indices, or weights.

    Those of a blend have as many factors as codes.
    """
    exponents, gathers, windows, blends = of
    assert spec.vector is not None
    if spec.vector.builds(["scale"]):
        rows = Mux(exponents, 0, rows)
    if spec.gather:
        rows = Mux(gathers, 3, rows)
    if spec.blend:
        rows = Mux(blends, Cat(C(1, 1), rows), rows)
    return Mux(windows, job.k - 1, rows) if spec.depthwise else rows


def _wrong_flags(
    spec: CoprocessorSpec,
    job: Any,
    scaled: Value,
    requantised: Value,
    windows: Value,
    blends: Value,
) -> Value:
    """Return whether the job has flags, a multiplier or blocks that its operation lacks."""
    unit, mode = spec.vector, job.mode
    assert unit is not None
    layout = mode.shape()
    others = mode.as_value()[4 : layout["vector"].offset]

    def bits(*names: str) -> Value:
        return C(sum(1 << layout[name].offset - 4 for name in names), len(others))

    blocks = Cat(job.block_m, job.block_n, job.block_k).any()
    if not (unit.scales or spec.taps):
        return others.any() | blocks | mode.table
    wanted, given = Mux(requantised, bits("requantise"), 0), others
    if spec.depthwise:
        free = ["relu", *["bias"] * spec.bias, *["per_column"] * spec.requantises_columns]
        wanted = Mux(windows, bits("requantise", "window"), wanted)
        given = others & ~Mux(windows, bits(*free), 0)
    large = job.multiplier[unit.reciprocal_width :].any()
    wrong = (given != wanted) | (scaled & large) | blocks
    if spec.blend:
        wrong |= blends & (job.shift[4:].any() | mode.table)
    # Only jobs on maps look codes up; of windows behind their records.
    if not spec.table:
        return wrong | mode.table
    return wrong | (mode.table & (~requantised | scaled | (windows & ~mode.per_column)))


def _wrong_mode(
    spec: CoprocessorSpec,
    job: Any,
    narrowed: Value,
    requantised: Value,
    shares: Value,
    turned: Value,
    gathers: Value,
) -> Value:
    """Return whether the job has sizes of codes that its operation lacks."""
    mode = job.mode
    wrong: Value = C(0, 1)
    lists = _is(spec, mode, "index") | _is(spec, mode, "top_k")
    if spec.sizes:
        wrong |= mode.c_bytes > spec.vector_out_bytes
        wrong |= (lists & mode.c_bytes.any()) if spec.lists else 0
        wrong |= narrowed & ~shares & ~requantised & ~turned & ~gathers
    if spec.transpose:
        wrong |= turned & ((mode.a_format != 0) | (~narrowed if spec.vector_out_bytes > 1 else 0))
    if spec.gather:
        wrong |= gathers & ((mode.a_format != 0) != (~narrowed & (spec.vector_out_bytes > 1)))
    return wrong
