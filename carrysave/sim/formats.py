"""Matrix products in formats chosen per product, on an array of lanes: its twin, and simulated."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.sim.cocotb.npe_tiles import Tile
from carrysave.sim.parameters import describe
from carrysave.sim.runner import new_folder, run, sources_of
from carrysave.sim.verilator import build
from golden.formats.element import ElementFormat
from golden.npe.npe import NpeSpec, npe
from hw.catalog import Design

__all__ = ["FormatProduct", "Operands", "multiply", "operands", "product"]


@dataclass(frozen=True, kw_only=True, eq=False)
class FormatProduct:
    """C of a product in formats: exact sums, or codes of a format to which they were rounded once.

    Members
    -------
    codes : M x N sums, integers times 2^exponent, or codes of the format; int64, or Python's
        integers where sums may have more than 62 bits.
    exponent : of exact sums; 0 for codes.
    format : name of the format of C; ``fixed``: exact sums.
    invalid : M x N bool: the row of A or the column of B has a NaN or NaR, or such a scale.
    """

    codes: np.ndarray
    exponent: int
    format: str
    invalid: np.ndarray
    _numbers: Callable[[np.ndarray], np.ndarray] = field(repr=False)

    @property
    def values(self) -> np.ndarray:
        """M x N doubles, NaN where invalid; sums of more than 53 bits are rounded to doubles."""
        return np.where(self.invalid, np.nan, self._numbers(self.codes))


@dataclass(frozen=True, kw_only=True, eq=False)
class Operands:
    """Matrices as codes, checked, and where K is cut.

    Members
    -------
    a, b : codes, M x K and K x N.
    pair : indices of their formats.
    scales : codes of those of A and B, if the array has scales.
    parts : codes of K that fit into a sum.
    """

    a: np.ndarray
    b: np.ndarray
    pair: tuple[int, int]
    scales: tuple[np.ndarray, np.ndarray] | None
    parts: int

    def chunks(self) -> list[slice]:
        """Return the parts of K, of which there is one at least."""
        k = self.a.shape[1]
        return [slice(start, start + self.parts) for start in range(0, max(k, 1), self.parts)]


def operands(
    spec: NpeSpec,
    a: Any,
    b: Any,
    formats: str | tuple[str, str],
    scales: tuple[Any, Any] | None = None,
) -> Operands:
    """Return matrices as codes.

    Parameters
    ----------
    a, b : M x K and K x N: integers are codes; floats are rounded to their formats, to nearest.
    formats : names of those of A and B, or one for both.
    scales : codes of scales, M x blocks and blocks x N.

    Raises
    ------
    TypeError, ValueError
        Formats that the array has not, shapes that do not fit, codes out of range, scales where
        there are none, or none where there are; K too large for sums that are rounded.
    """
    lane = spec.element
    names = (formats, formats) if isinstance(formats, str) else tuple(formats)
    if len(names) != 2:
        raise ValueError(f"formats must be two, of A and of B, or one for both, not {names!r}")
    pair = lane.index(names[0]), lane.index(names[1])
    matrices = [
        _codes(name, lane.elements[index], x)
        for name, index, x in zip("ab", pair, (a, b), strict=True)
    ]
    shapes = matrices[0].shape, matrices[1].shape
    if any(len(shape) != 2 for shape in shapes) or shapes[0][1] != shapes[1][0]:
        raise ValueError(f"a and b must be M x K and K x N, not {shapes[0]} and {shapes[1]}")
    (m, k), (_, n) = shapes
    if (scales is None) != (spec.scale == "none"):
        raise TypeError(
            f"scales must be given where scale of the design is not none, not with {spec.scale}"
        )
    if scales is not None:
        blocks = -(-k // spec.block)
        scales = _scales("a", scales[0], (m, blocks)), _scales("b", scales[1], (blocks, n))
    words = spec.k_max_words(*pair)
    most = max(k, 1) if words is None else words * lane.codes(*pair)
    if k > most and spec.result != "fixed":
        raise ValueError(f"K must be at most {most} where C is {spec.result}, not {k}")
    return Operands(a=matrices[0], b=matrices[1], pair=pair, scales=scales, parts=most)


def _codes(name: str, fmt: ElementFormat, values: Any) -> np.ndarray:
    array = np.asarray(values)
    return fmt.encode(array) if array.dtype.kind == "f" else fmt.check(name, array)


def _scales(name: str, values: Any, shape: tuple[int, int]) -> np.ndarray:
    array = np.asarray(values)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise ValueError(
            f"scales of {name} must be {shape[0]} x {shape[1]} codes, not {array.shape} of"
            f" {array.dtype}"
        )
    return array.astype(np.int64)


def product(spec: NpeSpec, given: Operands) -> FormatProduct:
    """Multiply by the twin, K cut as the simulated array has it cut."""
    parts = [
        npe(spec, given.a[:, k], given.b[k], *given.pair, *(given.scales or ()))
        for k in given.chunks()
    ]
    return _joined(spec, given.pair, [(codes, invalid) for codes, invalid, _ in parts])


def multiply(
    design: Design,
    given: Operands,
    directory: Path,
    progress: Callable[[int, int], None] | None = None,
    deadline: float = 3600.0,
) -> FormatProduct:
    """Multiply on the simulated array, cut into tiles.

    Other parameters, and errors, are those of :func:`carrysave.sim.products.multiply`.
    """
    spec = design.spec
    m, n = given.a.shape[0], given.b.shape[1]
    folder = new_folder(directory, design.module)
    chunks = given.chunks()
    tiles = [tile for k in chunks for tile in _tiles(spec, given, k)]
    shape = (-(-m // spec.m), -(-n // spec.n))
    if not tiles or not given.a.shape[1]:
        empty = np.zeros((m, n), np.int64)
        return _joined(spec, given.pair, [(empty, empty != 0)])
    (folder / "tiles.pickle").write_bytes(pickle.dumps(tiles))
    counter = folder / "progress"

    def poll() -> None:
        if progress is not None and counter.exists():
            progress(int(counter.read_text() or 0), len(tiles))

    result = run(
        build(sources_of(design, folder), design.module),
        "carrysave.sim.cocotb.job_multiply_formats",
        parameters=describe(design),
        directory=folder,
        deadline=deadline,
        poll=poll,
    )
    if not result.ok:
        raise RuntimeError(f"simulation failed: {', '.join(result.failed)}; see {result.log}")
    parts = []
    rows = pickle.loads((folder / "rows.pickle").read_bytes())  # written by our own job
    for array in rows:
        whole = array.reshape(len(chunks), *shape, spec.m, spec.n).swapaxes(2, 3)
        parts.append(whole.reshape(len(chunks), shape[0] * spec.m, -1)[:, :m, :n])
    return _joined(spec, given.pair, list(zip(*parts, strict=True)))


def _tiles(spec: NpeSpec, given: Operands, k: slice) -> list[Tile]:
    """Return the tiles of a part of K: by rows of C, then columns."""
    rows = [slice(i, i + spec.m) for i in range(0, given.a.shape[0], spec.m)]
    columns = [slice(j, j + spec.n) for j in range(0, given.b.shape[1], spec.n)]
    a = [_padded(given.a[i, k], (spec.m, None)) for i in rows]
    b = [_padded(given.b[k, j], (None, spec.n)) for j in columns]
    if given.scales is None:
        return [Tile(left, right, given.pair) for left in a for right in b]
    ours, theirs = given.scales
    return [
        Tile(
            left,
            right,
            given.pair,
            _padded(ours[i], (spec.m, None)),
            _padded(theirs[:, j], (None, spec.n)),
        )
        for i, left in zip(rows, a, strict=True)
        for j, right in zip(columns, b, strict=True)
    ]


def _padded(array: np.ndarray, shape: tuple[int | None, int | None]) -> np.ndarray:
    """Append zeros, which stand for 0 in every format."""
    widths = [
        (0, 0 if want is None else want - has) for has, want in zip(array.shape, shape, strict=True)
    ]
    return np.pad(array, widths)


def _joined(
    spec: NpeSpec, pair: tuple[int, int], parts: Sequence[tuple[np.ndarray, np.ndarray]]
) -> FormatProduct:
    """Add up the sums of parts of K."""
    codes, invalid = parts[0]
    for more, wrong in parts[1:]:
        codes, invalid = codes.astype(object) + more, invalid | wrong
    if codes.dtype == object and len(parts) > 1:
        bits = spec.accumulator_width + (len(parts) - 1).bit_length()
        codes = codes if bits > 62 else codes.astype(np.int64)
    fmt = spec.result_format
    if fmt is not None:
        return FormatProduct(
            codes=codes, exponent=0, format=spec.result, invalid=invalid, _numbers=fmt.to_float
        )
    exponent = spec.element.lsb(*pair)
    return FormatProduct(
        codes=codes,
        exponent=exponent,
        format=spec.result,
        invalid=invalid,
        _numbers=lambda sums: np.ldexp(sums.astype(np.float64), exponent),
    )
