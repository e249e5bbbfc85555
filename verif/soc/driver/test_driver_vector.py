"""The driver's vector jobs, on a co-processor in software."""

from copy import copy
from typing import Any

import numpy as np
import pytest

from carrysave.driver import Coprocessor, Matrix, Number, Requantisation
from golden.npe import requantiser as golden
from golden.npe.vector import PAIRS, VectorUnitSpec
from golden.npe.vector_unit import vector_unit
from golden.soc.coprocessor import CoprocessorSpec
from golden.tpe.systolic_os import SystolicOsSpec
from verif.soc.driver.driver_checks import draw, expected, requantisation
from verif.soc.driver.driver_rig import RNG, SMALL, Rig

UNITS = {
    "8 bits": VectorUnitSpec(length=40, signed=True),
    "4 to 16 bits": VectorUnitSpec(length=40, width=4, out_width=16),
    "16 to 12 bits": VectorUnitSpec(length=40, width=16, out_width=12),
    "norms": VectorUnitSpec(length=40, operations="layer_norm,rms_norm"),
}


ELEMENTS = {
    "8 bits": VectorUnitSpec(
        length=40, lanes=4, operations="softmax,gelu,silu,add,multiply", scale_width=5
    ),
    "12 bits": VectorUnitSpec(length=40, operations="silu,add,multiply", width=12, out_width=11),
}


def rig_of(unit: VectorUnitSpec, **more: Any) -> Rig:
    engine = SystolicOsSpec(m=4, n=4)
    return Rig("python", None, CoprocessorSpec(engine=engine, vector=unit, **SMALL), **more)


def rows_of(unit: VectorUnitSpec, operation: str, values: np.ndarray) -> np.ndarray:
    """Compute C by golden."""
    found = [vector_unit(unit, operation, row.astype(np.int64)) for row in values]
    tails = [[exponent] * (operation == "softmax") for _, exponent in found]
    return np.array([[*codes, *tail] for (codes, _), tail in zip(found, tails, strict=True)])


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_driver_vector_info_and_results(unit: VectorUnitSpec) -> None:
    device = rig_of(unit).open()
    info = device.info.vector
    assert info is not None
    assert info.operations == tuple(unit.operations.split(","))
    for name in ("length", "width", "out_width", "signed", "scale_width", "norm_fraction"):
        assert getattr(info, name) == getattr(unit, name)
    assert [number.bits for number in info.a] == ([8, 16] if unit.width > 8 else [8])
    rng = RNG(3)
    for operation in info.operations:
        for number in info.a:
            for m, n in ((1, 1), (3, 40), (7, 5)):
                values = draw(rng, number, m, n)
                work = device.vector(operation, device.place(values, number))
                device.run([work])
                right = rows_of(unit, operation, values)
                assert np.array_equal(work.c.read(), right)
                assert np.array_equal(work.codes.read(), right[:, :n])
                assert work.c.number == info.codes(operation)
                for matrix in work.kept:
                    matrix.free()


def test_driver_vector_among_products() -> None:
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
def test_driver_vector_elements(unit: VectorUnitSpec) -> None:
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
                    shift=info.multiplier_bits - 2, zero_point=int(rng.integers(-20, 20)),
                )  # fmt: skip
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


def golden_of(how: Requantisation, unit: VectorUnitSpec) -> golden.Requantisation:
    """Give a requantisation to golden."""
    out = unit.scaling.out_format
    return golden.Requantisation(
        multiplier=np.array([how.multiplier]), shift=np.array([how.shift]),
        zero_point=np.array([how.zero_point]), low=out.low, high=out.high,
    )  # fmt: skip


def test_driver_vector_pairs_wait_for_what_they_read() -> None:
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


def test_driver_vector_elements_rejects_what_hardware_would() -> None:
    device = rig_of(ELEMENTS["8 bits"]).open()
    byte = Number.of(8, 8, True)
    a, b = device.empty((3, 8), byte), device.empty((3, 8), byte)
    how = Requantisation(multiplier=1, shift=0)
    for operation, more, says in (
        ("silu", {}, "requantisation must be given for gelu, .* only, not for silu"),
        ("softmax", {"requantisation": how}, "requantisation must be given .* not for softmax"),
        ("add", {"requantisation": how}, "b must be given for add and multiply only, not for add"),
        ("silu", {"requantisation": how, "b": b}, "b must be given .* not for silu"),
        ("add", {"requantisation": how, "b": device.empty((2, 8), byte)},
         r"b must be of shape \(3, 8\) or \(1, 8\), not \(2, 8\)"),
        ("add", {"requantisation": Requantisation(multiplier=1 << 12, shift=0), "b": b},
         "multiplier must be of 12 bits, not 4096"),
        ("silu", {"requantisation": Requantisation(multiplier=1, shift=0, relu=True)},
         "requantisation must be without relu"),
        ("silu", {"requantisation": Requantisation(multiplier=1, shift=0, zero_point=128)},
         "zero_point must be"),
    ):  # fmt: skip
        keywords: dict[str, Any] = more
        reject(device, says, operation, a, **keywords)
    one = copy(a)
    one.shape = (1, 8)  # the first row of what it is to be written to
    reject(device, "out must not be in the memory of b", "add", b, b=one, out=a, requantisation=how)
    reject(device, r"rows of a must be of 1\.\.32 codes, not 33", "add",
           device.empty((1, 33), byte), b=b, requantisation=how)  # fmt: skip


def test_driver_vector_in_place() -> None:
    device = rig_of(UNITS["8 bits"]).open()
    info = device.info.vector
    assert info is not None
    values = draw(RNG(5), info.a[0], 4, 12)
    a = device.place(values, info.a[0])
    work = device.vector("rms_norm", a, out=a)
    device.run([work])
    assert np.array_equal(a.read(), rows_of(UNITS["8 bits"], "rms_norm", values))


def test_driver_vector_marks_what_may_overlap() -> None:
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


def test_driver_vector_rejects_what_hardware_would() -> None:
    device = rig_of(UNITS["norms"]).open()
    byte = Number.of(8, 8, True)

    def empty(m: int, n: int, number: Number = byte) -> Matrix:
        return device.empty((m, n), number)

    a = empty(3, 40)
    reject(device, "operation must be one of layer_norm, rms_norm, not 'softmax'", "softmax", a)
    reject(device, r"rows of a must be of 1\.\.40 codes, not 41", "rms_norm", empty(3, 41))
    reject(device, "a must be of .*, not of", "rms_norm", empty(3, 4, Number.of(16, 16, True)))
    reject(device, "a must be of .*, not of", "rms_norm", empty(3, 4, Number.of(8, 8, False)))
    reject(device, r"out must be of shape \(3, 40\), not \(3, 39\)", "rms_norm", a,
           out=empty(3, 39))  # fmt: skip
    reject(device, "out must hold", "rms_norm", a, out=empty(3, 40, Number.of(8, 7, True)))
    softmax = rig_of(UNITS["8 bits"]).open()
    scores = softmax.empty((3, 40), byte)
    reject(softmax, r"out must be of shape \(3, 41\)", "softmax", scores,
           out=softmax.empty((3, 40), Number.of(8, 8, False)))  # fmt: skip
    plain = Rig("python", None, CoprocessorSpec(engine=SystolicOsSpec(m=4, n=4), **SMALL)).open()
    reject(
        plain, "this co-processor is built without vector", "rms_norm", plain.empty((1, 1), byte)
    )


def test_matrix_first_columns() -> None:
    device = rig_of(UNITS["norms"]).open()
    matrix = device.place(np.arange(12).reshape(3, 4), Number.of(8, 8, True))
    part = matrix.first(3)
    assert part.read().tolist() == [[0, 1, 2], [4, 5, 6], [8, 9, 10]]
    assert (part.address, part.distance, part.shape) == (matrix.address, matrix.distance, (3, 3))
    for columns in (0, 5):
        with pytest.raises(ValueError, match=rf"columns must be 1\.\.4, not {columns}"):
            matrix.first(columns)
