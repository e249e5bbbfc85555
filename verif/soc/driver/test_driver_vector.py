"""The driver's vector jobs, on a co-processor in software."""

import ctypes
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.lowered.golden import codes
from carrysave.driver import Coprocessor, JobError, Matrix, Number, Requantisation
from carrysave.driver.operations import MAPS, REQUANTISED
from carrysave.driver.registers import OPERATIONS
from carrysave.driver.vector import INDEX
from golden.npe import requantiser as golden
from golden.npe.elements import scale, shifted
from golden.npe.vector import PAIRS, VectorUnitSpec, narrowed, softmax
from golden.npe.vector_unit import vector_unit
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, error_of
from golden.tpe.systolic_os import SystolicOsSpec
from verif.soc.driver import c_driver
from verif.soc.driver.driver_checks import draw, expected, requantisation
from verif.soc.driver.driver_rig import RNG, SMALL, Rig

UNITS = {
    "8 bits": VectorUnitSpec(length=40, signed=True),
    "4 to 16 bits": VectorUnitSpec(length=40, width=4, out_width=16),
    "16 to 12 bits": VectorUnitSpec(length=40, width=16, out_width=12),
    "norms": VectorUnitSpec(length=40, operations="layer_norm,rms_norm"),
}


REFUSALS = {
    Error.NONE: 0,
    Error.DIMENSION: 8,
    Error.MODE: 10,
    Error.LEADING_DIMENSION: 11,
    Error.WRAPS: 12,
    Error.LONG_ROW: 17,
}
"""Statuses of the C driver."""
ELEMENTS = {
    "8 bits": VectorUnitSpec(
        length=40, lanes=4, operations="softmax,gelu,silu,add,multiply", scale_width=5
    ),
    "12 bits": VectorUnitSpec(length=40, operations="silu,add,multiply", width=12, out_width=11),
}


SIZED = {
    "16 bits": VectorUnitSpec(
        length=40,
        lanes=4,
        operations="softmax,layer_norm,gelu,multiply,scale",
        width=16,
        out_width=16,
        signed=True,
        scale_width=8,
    ),
    "8 bits": VectorUnitSpec(length=20, lanes=4, operations="softmax,scale"),
}
"""Of co-processors whose jobs choose the bytes of a code of C."""


Rigs = Callable[[VectorUnitSpec], Rig]
"""Makes a driver on a co-processor with a vector unit."""


def spec_of(unit: VectorUnitSpec) -> CoprocessorSpec:
    sized = unit in SIZED.values()
    more: dict[str, Any] = {"code_bytes": 2, "transpose": True, "gather": True} if sized else {}
    more["taps"] = 3 * (unit in (*SIZED.values(), UNITS["8 bits"]))
    return CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), vector=unit, **more, **SMALL)


@pytest.fixture(params=["python", "c"])
def rig_of(request: pytest.FixtureRequest, library: Any) -> Rigs:
    return lambda unit: Rig(request.param, library, spec_of(unit))


def test_driver_vector_sizes_of_codes(rig_of: Rigs) -> None:
    """A head: scores of 16 bits, shares of 7 and their exponents, sums scaled by these; gates."""
    unit = SIZED["16 bits"]
    made = rig_of(unit)
    device, spec = made.open(), made.spec
    info, rng = device.info, RNG(8)
    assert info.vector is not None
    assert "sizes" in info.features
    assert (info.codes.bits, info.wide) == (8, Number.of(16, 16, True))
    queries, keys = draw(rng, info.a, 6, 8), draw(rng, info.b, 8, 11)
    values = draw(rng, info.b, 11, 9)
    scalings = [Requantisation(multiplier=1 << 30, shift=31), Requantisation(multiplier=5, shift=5)]
    scores = device.product(
        device.place(queries, info.a),
        device.place(keys, info.b),
        requantisation=scalings[0],
        wide=True,
    )
    shares = device.vector("softmax", scores.c, narrow=True)
    mixed = device.product(
        shares.codes, device.place(values, info.b), requantisation=scalings[1], wide=True
    )
    how = Requantisation(multiplier=9 << 10, shift=8, zero_point=3)
    wholes, scaled = (
        device.vector("scale", mixed.c, b=shares.exponents, requantisation=how, narrow=narrow)
        for narrow in (False, True)
    )
    curved = device.vector("gelu", scores.c, requantisation=how, narrow=True)
    same = device.vector(
        "scale",
        scores.c,
        b=device.place(np.array([[6]]), Number.of(8, 6, False)),
        requantisation=how,
    )
    device.run([scores, shares, mixed, wholes, scaled, curved, same])
    right = codes(spec, queries @ keys, scalings[0], wide=True)
    assert (np.abs(right) > 128).any()
    assert np.array_equal(scores.c.read(), right)
    found, exponents = narrowed(unit, *softmax(unit, right))
    assert np.array_equal(shares.c.read(), np.c_[found, exponents])
    assert np.array_equal(shares.codes.read(), found)
    assert np.array_equal(shares.exponents.read(), exponents[:, None])
    sums = codes(spec, found @ values, scalings[1], wide=True)
    assert np.array_equal(mixed.c.read(), sums)
    for work, bits in ((wholes, 16), (scaled, 8)):
        assert work.c.number.bits == bits
        high = (1 << bits - 1) - 1
        to = replace(golden_of(how, unit), low=-high - 1, high=high)
        wanted = [
            scale(row, unit.scaling, shifted(to, exponent, unit.scaling))
            for row, exponent in zip(sums, exponents.tolist(), strict=True)
        ]
        assert np.array_equal(work.c.read(), wanted)
    to = golden_of(how, unit)
    of_one = scale(right, unit.scaling, shifted(to, 6, unit.scaling))
    assert np.array_equal(same.c.read(), of_one)
    to = replace(to, low=-128, high=127)
    wanted = [vector_unit(unit, "gelu", row, to)[0] for row in right]
    assert np.array_equal(curved.c.read(), wanted)
    assert [job.alike for job in made.hardware.done] == [0] * 7


@pytest.mark.parametrize("unit", SIZED.values(), ids=SIZED)
def test_driver_vector_transposes(unit: VectorUnitSpec, rig_of: Rigs) -> None:
    """Bytes of any kind; what was written before is turned, and turned back."""
    made = rig_of(unit)
    device, rng = made.open(), RNG(9)
    assert device.info.vector is not None
    assert device.info.vector.operations == (*unit.built, "transpose", "gather", *MAPS)
    for number in (device.info.a, Number.of(8, 6, False)):
        for m, n in ((1, 1), (3, 50), (17, 2)):
            values = draw(rng, number, m, n)
            turned = device.vector("transpose", device.place(values, number))
            back = device.vector("transpose", turned.c)
            device.run([turned, back])
            assert [job.alike for job in made.hardware.done] == [0, 0]
            assert turned.c.number == number
            assert np.array_equal(turned.c.read(), values.T)
            assert np.array_equal(back.c.read(), values)
    a = device.empty((3, 8), number)
    for more, says in (
        ({"narrow": True}, "narrow must be false for transpose, not true"),
        ({"out": device.empty((3, 8), number)}, r"out must be of shape \(8, 3\), not \(3, 8\)"),
        ({"out": device.empty((8, 3), Number.of(8, 5, False))}, "out must hold"),
    ):
        reject(device, says, "transpose", a, **more)
    square = device.empty((4, 4), number)
    reject(device, "out must not be in the memory of a", "transpose", square, out=square)
    reject(
        device,
        "a must be of numbers of a byte, not of",
        "transpose",
        device.empty((3, 4), Number.of(16, 16, True)),
    )
    plain = rig_of(UNITS["norms"]).open()
    reject(
        plain,
        "operation must be one of layer_norm, rms_norm, not 'transpose'",
        "transpose",
        plain.empty((3, 4), number),
    )


@pytest.mark.parametrize("unit", SIZED.values(), ids=SIZED)
def test_driver_vector_gathers(unit: VectorUnitSpec, rig_of: Rigs) -> None:
    """Rows of bytes, and of two, by numbers in any order; one beyond the table is told."""
    made = rig_of(unit)
    device, rng = made.open(), RNG(10)
    assert device.info.vector is not None
    numbers = device.info.vector.a[: 2 if unit.out_width > 8 else 1]
    for number in (*numbers, Number.of(8, 6, False)):
        for k, m, n in ((1, 1, 1), (5, 9, unit.length), (300, 4, 3)):
            table, rows = draw(rng, number, k, n), rng.integers(k, size=(m, 1))
            a, b = device.place(table, number), device.place(rows, INDEX)
            work = device.vector("gather", a, b=b)
            again = device.vector("gather", work.c, b=device.place(np.zeros((2, 1), int), INDEX))
            device.run([work, again])
            assert [job.alike for job in made.hardware.done] == [0, 0]
            assert work.c.number == number
            assert np.array_equal(work.c.read(), table[rows[:, 0]])
            assert np.array_equal(again.c.read(), table[rows[[0, 0], 0]])
            b.write(np.full((m, 1), k))
            with pytest.raises(JobError, match=r"job 1: index beyond the table: .* is K or more"):
                device.run([again, work])


@pytest.mark.parametrize("unit", SIZED.values(), ids=SIZED)
def test_driver_vector_gathers_wait_for_what_they_read(unit: VectorUnitSpec, rig_of: Rigs) -> None:
    """They may overlap, but not where the numbers of rows are made, or the end of a table."""
    made = rig_of(unit)
    device, byte = made.open(), Number.of(8, 8, False)
    rows, table = np.array([[3], [8], [2]]), np.arange(9)[:, None] * [1, 0, 0, 0]
    a, other, b = device.place(table, byte), device.place(table, byte), device.place(rows, INDEX)
    device.run([device.vector("gather", a, b=b) for _ in range(3)])
    assert [job.alike for job in made.hardware.done] == [2, 0, 0]
    # Rows of the table are numbers of rows.
    room = device.empty((3, 4), byte)
    first = device.vector("gather", a, room, b=b)
    second = device.vector("gather", a, b=room.within((3, 1), INDEX, 0, room.distance))
    changed = device.vector(
        "gather", other, a.within((3, 4), byte, 6 * a.distance, a.distance), b=b
    )
    third = device.vector("gather", a, b=b)
    for chain in ([first, second], [changed, third]):
        device.run(chain)
        assert [job.alike for job in made.hardware.done] == [0, 0]
    assert np.array_equal(second.c.read(), table[rows[:, 0]])
    assert np.array_equal(third.c.read(), table[[3, 2, 2]])


@pytest.mark.parametrize("unit", SIZED.values(), ids=SIZED)
def test_driver_vector_gather_rejects(unit: VectorUnitSpec, rig_of: Rigs) -> None:
    device = rig_of(unit).open()
    byte, word = Number.of(8, 8, True), Number.of(16, 16, True)
    a, b = device.empty((5, 8), byte), device.empty((3, 1), INDEX)
    for given, more, says in (
        (a, {}, "b must be numbers of rows, one column of .*, not none"),
        (a, {"b": device.empty((1, 3), INDEX)}, r"b must be numbers .*, not \(1, 3\) of"),
        (a, {"b": device.empty((3, 1), byte)}, r"b must be numbers .*, not \(3, 1\) of"),
        (a, {"b": b, "narrow": True}, "narrow must be false for gather, not true"),
        (a, {"b": b, "out": a}, r"out must be of shape \(3, 8\), not \(5, 8\)"),
        (a, {"b": b, "out": a.within((3, 8), byte, 8, 8)}, "out must not be in the memory of a"),
        (a, {"b": b, "out": device.empty((3, 8), Number.of(8, 5, False))}, "out must hold"),
        (
            device.empty((5, unit.length + 1), byte),
            {"b": b},
            rf"rows of a must be of 1\.\.{unit.length} codes, not {unit.length + 1}",
        ),
        (device.empty((5, 2), INDEX), {"b": b}, "a must be of numbers of .* bits, not of"),
    ):
        reject(device, says, "gather", given, **more)
    if unit.out_width == 8:
        reject(
            device,
            "a must be of numbers of 8 bits, not of",
            "gather",
            device.empty((5, 2), word),
            b=b,
        )


def test_driver_vector_sizes_rejects_what_hardware_would(rig_of: Rigs) -> None:
    device = rig_of(SIZED["16 bits"]).open()
    word, exponent = Number.of(16, 16, True), Number.of(8, 6, False)
    a, b = device.empty((3, 8), word), device.empty((3, 1), exponent)
    how = Requantisation(multiplier=1, shift=0)
    wide = Requantisation(multiplier=1, shift=0, high=200)
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("layer_norm", {"narrow": True}, "narrow must be false for layer_norm, not true"),
        (
            "scale",
            {"requantisation": how},
            "b must be given for add, multiply, scale, .* only, not",
        ),
        ("scale", {"b": b}, "requantisation must be given for .*scale, .* only, not for scale"),
        ("scale", {"requantisation": how, "b": a}, r"b must be of shape \(3, 1\) or \(1, 1\), not"),
        (
            "scale",
            {"requantisation": how, "b": device.empty((3, 1), word)},
            "b must be of .*high=63.*, not of",
        ),
        ("gelu", {"requantisation": wide, "narrow": True}, r"high must be -128\.\.127"),
        (
            "gelu",
            {"requantisation": how, "narrow": True, "out": device.empty((3, 8), exponent)},
            "out must hold .*bits=8, signed=True",
        ),
    )
    for operation, more, says in cases:
        reject(device, says, operation, a, **more)
    byte = device.info.a
    one, two = device.empty((2, 3), byte), device.empty((3, 2), byte)
    with pytest.raises(ValueError, match="wide must be false without requantisation, not true"):
        device.product(one, two, wide=True)
    with pytest.raises(ValueError, match=r"high must be -128\.\.127"):
        device.product(one, two, requantisation=wide)
    made = device.product(one, two, requantisation=wide, wide=True).c.number
    assert (made.bits, made.low, made.high) == (16, -1 << 15, 200)
    plain = rig_of(UNITS["16 to 12 bits"]).open()
    reject(
        plain,
        "this co-processor is built without sizes",
        "softmax",
        plain.empty((3, 8), word),
        narrow=True,
    )
    with pytest.raises(ValueError, match="this co-processor is built without sizes"):
        plain.product(plain.empty((2, 3), byte), two, requantisation=how, wide=True)
    half = copy(a)
    half.number = Number.of(4, 4, True)
    with pytest.raises(ValueError, match="numbers must be of whole bytes, not of 4 bits"):
        half.last()


def rows_of(unit: VectorUnitSpec, operation: str, values: np.ndarray) -> np.ndarray:
    """Compute C by golden."""
    found = [vector_unit(unit, operation, row.astype(np.int64)) for row in values]
    tails = [[exponent] * (operation == "softmax") for _, exponent in found]
    return np.array([[*codes, *tail] for (codes, _), tail in zip(found, tails, strict=True)])


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_driver_vector_info_and_results(unit: VectorUnitSpec, rig_of: Rigs) -> None:
    device = rig_of(unit).open()
    info = device.info.vector
    assert info is not None
    assert info.operations == spec_of(unit).vector_jobs
    for name in ("length", "width", "out_width", "signed", "scale_width", "norm_fraction"):
        assert getattr(info, name) == getattr(unit, name)
    assert [number.bits for number in info.a] == ([8, 16] if unit.width > 8 else [8])
    rng = RNG(3)
    for operation in unit.built:
        for number in info.a:
            for m, n in ((1, 1), (3, 40), (7, 5)):
                values = draw(rng, number, m, n)
                work = device.vector(operation, device.place(values, number))
                device.run([work])
                right = rows_of(unit, operation, values)
                assert np.array_equal(work.c.read(), right)
                assert np.array_equal(work.codes.read(), right[:, :n])
                assert work.c.number == info.codes(operation)
                for matrix in work.allocated:
                    matrix.free()


def test_driver_vector_among_products(rig_of: Rigs) -> None:
    """A head in small: products, softmax and norm, each of which reads the one before; twice."""
    made = rig_of(UNITS["8 bits"])
    device, spec = made.open(), made.spec
    info, rng = device.info, RNG(4)
    how, again = requantisation(rng, spec), requantisation(rng, spec)
    keys, values = draw(rng, info.b, 8, 11), draw(rng, info.b, 11, 9)
    queries = device.empty((6, 8), info.a)
    scores = device.product(queries, device.place(keys, info.b), requantisation=how)
    shares = device.vector("softmax", scores.c)
    mixed = device.product(shares.codes, device.place(values, info.b), requantisation=again)
    normed = device.vector("layer_norm", mixed.c)
    unit = spec.vector
    assert unit is not None
    for _ in range(2):
        given = draw(rng, info.a, 6, 8)
        queries.write(given)
        found = device.run([scores, shares, mixed, normed])
        assert found.macs == 6 * 8 * 11 + 6 * 11 * 9
        shared = rows_of(unit, "softmax", expected(spec, given, keys, None, how))
        assert np.array_equal(shares.c.read(), shared)
        right = expected(spec, shared[:, :11], values, None, again)
        assert np.array_equal(mixed.c.read(), right)
        assert np.array_equal(normed.c.read(), rows_of(unit, "layer_norm", right))


@pytest.mark.parametrize("unit", ELEMENTS.values(), ids=ELEMENTS)
def test_driver_vector_elements(unit: VectorUnitSpec, rig_of: Rigs) -> None:
    """Gates; sums and products with as many rows, with one row for all, and with themselves."""
    device = rig_of(unit).open()
    info, rng = device.info.vector, RNG(6)
    assert info is not None
    assert (info.lanes, info.multiplier_bits) == (unit.lanes, unit.reciprocal_width)
    for operation in [name for name in unit.built if name != "softmax"]:
        assert info.most(operation) == unit.most(operation)
        pair = operation in PAIRS
        for number in info.a:
            for m, n in ((1, 1), (3, info.most(operation)), (5, 7)):
                values = draw(rng, number, m, n)
                how = Requantisation(
                    multiplier=int(rng.integers(1 << info.multiplier_bits)),
                    shift=info.multiplier_bits - 2,
                    zero_point=int(rng.integers(-20, 20)),
                )
                a = device.place(values, number)
                found: list[tuple[np.ndarray, Matrix | None]] = [(values, None)]
                if pair:
                    one, every = (draw(rng, number, rows, n) for rows in (1, m))
                    found = [
                        (values, a),
                        (every, device.place(every, number)),
                        (np.broadcast_to(one, values.shape), device.place(one, number)),
                    ]
                for others, b in found:
                    work = device.vector(operation, a, b=b, requantisation=how)
                    device.run([work])
                    to = golden_of(how, unit)
                    right = [
                        vector_unit(
                            unit,
                            operation,
                            row.astype(np.int64),
                            to,
                            other.astype(np.int64) if pair else None,
                        )[0]
                        for row, other in zip(values, others, strict=True)
                    ]
                    assert np.array_equal(work.c.read(), right)


def test_c_driver_refuses_vector_jobs_as_the_golden_model(library: Any) -> None:
    """Also rows of the greatest length, at the end of memory, and what only products have."""
    seen = set()
    for unit in (*UNITS.values(), *ELEMENTS.values(), *SIZED.values()):
        made = Rig("c", library, spec_of(unit))
        device, spec, rng = made.open(), made.spec, RNG(3)
        assert isinstance(device, c_driver.CDevice)
        high = 1 << spec.address_width
        for _ in range(300):
            built = spec.vector_jobs
            operation = str(rng.choice([*built, *OPERATIONS][: len(built) + 1]))
            measured = operation in (*unit.built, "gather", *MAPS)
            longest = unit.most(operation) if measured else 5
            n = int(rng.choice([0, 1, 7, longest, longest + 1, 1 << 24]))
            wide, m, edge = int(rng.integers(2)), int(rng.integers(4)), int(rng.integers(-1, 2))
            how = golden.Requantisation(
                multiplier=np.array([1 << unit.reciprocal_width + edge]),
                shift=np.array([1]),
                zero_point=np.array([0]),
                low=-8,
                high=7,
            )
            scaled = operation in REQUANTISED or rng.integers(10) == 0
            row = n * (wide + 1)
            job = Job(
                a=1000,
                b=2000,
                c=3000,
                m=m,
                n=n,
                k=int(rng.choice([0, 1, 9, 1 << 24])),
                lda=row,
                ldb=row * int(rng.integers(2)),
                ldc=2 * n + 2,
                a_format=wide,
                vector=operation,
                requantisation=how if scaled else None,
            )
            changes: dict[str, Any] = rng.choice(
                np.array([
                    {},
                    {},
                    {"lda": max(row + edge, 0)},
                    {"a": high - m * row + edge},
                    {"b": min(high - row + edge, high - 1)},
                    {"b": high - 4 + edge, "ldb": 0},
                    {"ldc": max(n + edge, 0)},
                    {"block_m": 1},
                    {"accumulate": True},
                    {"b_format": 1},
                    *(
                        {"c_bytes": size, "ldc": max(2 * n + edge, 0)}
                        for size in range(4 * spec.sizes)
                    ),
                ])
            )
            job = replace(job, **changes)
            error = error_of(spec, job)
            seen.add(error)
            mode = c_driver.CMode(a_format=job.a_format, b_format=job.b_format)
            numbers = ("m", "n", "k", "lda", "ldb", "ldc", "block_m", "accumulate", "c_bytes")
            given = c_driver.CJob(
                mode=mode,
                vector=OPERATIONS[operation],
                requantise=scaled,
                shift=1,
                low=-8,
                high=7,
                multiplier=int(how.multiplier[0]),
                **{name: getattr(job, name) for name in ("a", "b", "c", *numbers)},
            )
            assert device.call("check", ctypes.byref(given)) == REFUSALS[error], (job, error)
    assert seen == REFUSALS.keys()


@pytest.mark.parametrize("unit", [UNITS["16 to 12 bits"], ELEMENTS["8 bits"], SIZED["8 bits"]])
def test_c_driver_describes_vector_jobs(library: Any, unit: VectorUnitSpec) -> None:
    """Rows at whole beats, all codes, and a part of the requantisation's numbers."""
    made = Rig("c", library, spec_of(unit))
    device, job = made.open(), c_driver.CJob()
    assert isinstance(device, c_driver.CDevice)
    for operation in [name for name in spec_of(unit).vector_jobs if name != "transpose"]:
        number, pair = OPERATIONS[operation], operation in (*PAIRS, *MAPS)
        b = {"scale": 8, "gather": 4}.get(operation, 16 * pair)
        device.call("job_init_vector", ctypes.byref(job), number, 3, 9, 1)
        assert (job.vector, job.m, job.n, job.lda, job.ldb) == (number, 3, 9, 16, b)
        width = 8 if operation in MAPS else unit.out_width
        out = 2 if width > 8 else 1
        assert job.ldc == -(-(9 + (operation == "softmax")) * out // 8) * 8
        if operation == "gather":
            assert device.call("check", ctypes.byref(job)) == 8
            job.k = 30000
        ends = (-1 << width - 1, (1 << width - 1) - 1)
        assert (job.low, job.high) == (ends if operation in REQUANTISED else (0, 0))
        assert device.call("check", ctypes.byref(job)) == 0
        before = bytes(job)
        device.call("plan", ctypes.byref(job))
        assert bytes(job) == before
        for name, value in (("zero_point", ends[1] + 1), ("low", ends[0] - 1), ("shift", 64)):
            setattr(job, name, value)
            refused = 14 if operation in REQUANTISED else 0
            assert device.call("check", ctypes.byref(job)) == refused, name
            setattr(job, name, 0)
    assert b"carrysave_vector_most" in library.carrysave_status_text(17)


def golden_of(how: Requantisation, unit: VectorUnitSpec) -> golden.Requantisation:
    """Give a requantisation to golden."""
    out = unit.scaling.out_format
    return golden.Requantisation(
        multiplier=np.array([how.multiplier]),
        shift=np.array([how.shift]),
        zero_point=np.array([how.zero_point]),
        low=out.low,
        high=out.high,
    )


def test_driver_vector_pairs_wait_for_what_they_read(rig_of: Rigs) -> None:
    made = rig_of(ELEMENTS["8 bits"])
    device, byte = made.open(), Number.of(8, 8, True)
    how = Requantisation(multiplier=1 << 10, shift=10)
    rows = [device.place(draw(RNG(7), byte, 3, 8), byte) for _ in range(4)]
    apart = [device.vector("add", rows[0], b=rows[at], requantisation=how) for at in (1, 2, 3)]
    device.run(apart)
    assert [job.alike for job in made.hardware.done] == [2, 0, 0]
    one = device.vector("add", rows[0], b=rows[1], requantisation=how)
    chain = [one, device.vector("add", rows[2], b=one.c, requantisation=how)]
    device.run(chain)
    assert [job.alike for job in made.hardware.done] == [0, 0]


def test_driver_vector_elements_rejects_what_hardware_would(rig_of: Rigs) -> None:
    device = rig_of(ELEMENTS["8 bits"]).open()
    byte = Number.of(8, 8, True)
    a, b = device.empty((3, 8), byte), device.empty((3, 8), byte)
    how = Requantisation(multiplier=1, shift=0)
    for operation, more, says in (
        ("silu", {}, "requantisation must be given for gelu, .* only, not for silu"),
        ("softmax", {"requantisation": how}, "requantisation must be given .* not for softmax"),
        ("add", {"requantisation": how}, "b must be given for add, multiply, .* only, not for add"),
        ("silu", {"requantisation": how, "b": b}, "b must be given .* not for silu"),
        (
            "add",
            {"requantisation": how, "b": device.empty((2, 8), byte)},
            r"b must be of shape \(3, 8\) or \(1, 8\), not \(2, 8\)",
        ),
        (
            "add",
            {"requantisation": Requantisation(multiplier=1 << 12, shift=0), "b": b},
            "multiplier must be of 12 bits, not 4096",
        ),
        (
            "silu",
            {"requantisation": Requantisation(multiplier=1, shift=0, relu=True)},
            "requantisation must be without relu",
        ),
        (
            "silu",
            {"requantisation": Requantisation(multiplier=1, shift=0, zero_point=128)},
            "zero_point must be",
        ),
    ):
        keywords: dict[str, Any] = more
        reject(device, says, operation, a, **keywords)
    one = copy(a)
    one.shape = (1, 8)  # the first row of what it is to be written to
    reject(device, "out must not be in the memory of b", "add", b, b=one, out=a, requantisation=how)
    reject(
        device,
        r"rows of a must be of 1\.\.32 codes, not 33",
        "add",
        device.empty((1, 33), byte),
        b=b,
        requantisation=how,
    )


def test_driver_vector_in_place(rig_of: Rigs) -> None:
    device = rig_of(UNITS["8 bits"]).open()
    info = device.info.vector
    assert info is not None
    values = draw(RNG(5), info.a[0], 4, 12)
    a = device.place(values, info.a[0])
    work = device.vector("rms_norm", a, out=a)
    device.run([work])
    assert np.array_equal(a.read(), rows_of(UNITS["8 bits"], "rms_norm", values))


def test_driver_vector_marks_what_may_overlap(rig_of: Rigs) -> None:
    made = rig_of(UNITS["8 bits"])
    device, spare = made.open(), Number.of(8, 8, True)
    first = device.vector("rms_norm", device.empty((3, 8), spare))
    others = [device.vector("rms_norm", device.empty((3, 8), spare)) for _ in range(3)]
    device.run([first, *others])
    assert [job.alike for job in made.hardware.done] == [3, 0, 0, 0]
    chain = [first, device.vector("rms_norm", first.c), device.vector("softmax", first.c)]
    device.run(chain)
    assert [job.alike for job in made.hardware.done] == [0, 0, 0]


def reject(device: Coprocessor, message: str, *arguments: Any, **more: Any) -> None:
    before = len(device._allocate.live)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=message):
        device.vector(*arguments, **more)
    assert len(device._allocate.live) == before  # type: ignore[attr-defined]


def test_driver_vector_rejects_what_hardware_would(rig_of: Rigs) -> None:
    device = rig_of(UNITS["norms"]).open()
    byte = Number.of(8, 8, True)

    def empty(m: int, n: int, number: Number = byte) -> Matrix:
        return device.empty((m, n), number)

    a = empty(3, 40)
    reject(device, "operation must be one of layer_norm, rms_norm, not 'softmax'", "softmax", a)
    reject(device, r"rows of a must be of 1\.\.40 codes, not 41", "rms_norm", empty(3, 41))
    reject(device, "a must be of .*, not of", "rms_norm", empty(3, 4, Number.of(16, 16, True)))
    reject(device, "a must be of .*, not of", "rms_norm", empty(3, 4, Number.of(8, 8, False)))
    reject(
        device, r"out must be of shape \(3, 40\), not \(3, 39\)", "rms_norm", a, out=empty(3, 39)
    )
    reject(device, "out must hold", "rms_norm", a, out=empty(3, 40, Number.of(8, 7, True)))
    softmax = rig_of(UNITS["8 bits"]).open()
    scores = softmax.empty((3, 40), byte)
    reject(
        softmax,
        r"out must be of shape \(3, 41\)",
        "softmax",
        scores,
        out=softmax.empty((3, 40), Number.of(8, 8, False)),
    )
    plain = Rig("python", None, CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), **SMALL)).open()
    reject(
        plain, "this co-processor is built without vector", "rms_norm", plain.empty((1, 1), byte)
    )


def test_matrix_first_columns(rig_of: Rigs) -> None:
    device = rig_of(UNITS["norms"]).open()
    matrix = device.place(np.arange(12).reshape(3, 4), Number.of(8, 8, True))
    part = matrix.first(3)
    assert part.read().tolist() == [[0, 1, 2], [4, 5, 6], [8, 9, 10]]
    assert (part.address, part.distance, part.shape) == (matrix.address, matrix.distance, (3, 3))
    for columns in (0, 5):
        with pytest.raises(ValueError, match=rf"columns must be 1\.\.4, not {columns}"):
            matrix.first(columns)
