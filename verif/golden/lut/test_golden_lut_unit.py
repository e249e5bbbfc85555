"""What goes through the streams of the LUT unit for programs of LPRE and LMMA."""

import numpy as np
import pytest

from golden.lut.execute import Machine
from golden.lut.isa import assemble
from golden.tpe.lut_core import lut_core
from golden.tpe.lut_unit import LutUnitSpec, lut_unit

SPEC = LutUnitSpec(m=3, n=4, group=3, lookups=2, planes=3, k_max=20, registers=2)


@pytest.mark.parametrize(
    ("weights", "low", "high"), [("s3", -4, 3), ("u2", 0, 3), ("o3", 0, 7), ("t2", -1, 1)]
)
def test_beats_hold_what_the_program_multiplies(weights: str, low: int, high: int) -> None:
    """Of the beats' own bits, each plane through the core's twin, the results come back."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, (2, 17)), rng.integers(low, high + 1, (17, 3))
    before = rng.integers(-1000, 1000, (2, 3))
    machine = Machine(a={5: a}, b={6: b}, c={7: before})
    words = assemble(f"""lpre.k3.int8.int t1, a5, m2, d17
        lmma.m2.n3.k3.int8.int.{weights}.int32.int32 c8, t1, b6, c7""")
    made, looked = lut_unit(SPEC, words, machine)
    assert (len(made.b), len(made.after), len(looked.a)) == (0, 0, 0)
    rows = made.a.reshape(3, SPEC.m, SPEC.k).swapaxes(0, 1).reshape(SPEC.m, -1)
    assert np.array_equal(rows[:2, :17], a)
    assert not rows[2:].any()
    assert not rows[:, 17:].any()
    planes = looked.b.reshape(-1, rows.shape[1], SPEC.n)
    assert len(planes) == int(weights[1])
    # Undo the folding: all but the last of a group are inverted where the last is set.
    groups = planes.reshape(len(planes), -1, SPEC.group, SPEC.n)
    groups = np.concatenate([groups[:, :, :-1] ^ groups[:, :, -1:], groups[:, :, -1:]], axis=2)
    total = np.zeros((SPEC.m, SPEC.n), dtype=np.int64)
    for plane in groups.reshape(planes.shape):
        own = lut_core(SPEC.core, rows, plane)
        total = total + own if weights[0] == "t" else 2 * total + own
    zero = {"s": 1, "u": 1 - (1 << int(weights[1]))}.get(weights[0], 0)
    total = total if weights[0] == "o" else total - zero * rows.sum(axis=1, keepdims=True) >> 1
    assert np.array_equal(looked.before[:, :3], before)
    assert np.array_equal(total[:2, :3] + before, looked.after)
    meant = 2 * b - 7 if weights[0] == "o" else b
    assert np.array_equal(a @ meant + before, looked.after)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lpre.k4.int8.int t0, a0, m1, d4", "operation 0: k must be 3, not 4"),
        ("lpre.k3.int4.int t0, a0, m1, d4", "a must be int8, not int4"),
        ("lpre.k3.int8.int8 t0, a0, m1, d4", "table must be int, not int8"),
        ("lpre.k3.int8.int t0, a0, m4, d4", "m must be at most 3, not 4"),
        ("lpre.k3.int8.int t0, a0, m1, d21", "depth must be at most 20, not 21"),
        ("lpre.k3.int8.int t2, a0, m1, d4", "rd must be at most 1, not 2"),
        ("lmma.m1.n5.k3.int8.int.s2.int32.int32 c0, t0, b0, c0", "n must be at most 4, not 5"),
        ("lmma.m1.n1.k3.int8.int.s4.int32.int32 c0, t0, b0, c0", "planes must be at most 3, not 4"),
        ("lmma.m1.n1.k3.int8.int.s2.int32.int32 c0, t2, b0, c0", "ra must be at most 1, not 2"),
        ("lmma.m1.n1.k3.int8.int.s2.int32.fp16 c0, t0, b0, c0", "int32 or int8, not fp16"),
        ("lmma.m1.n1.k3.int8.int.s2.int32.int32 c0, t0, b0, c0", "t0 must hold tables"),
    ],
)
def test_unit_refuses_what_is_not_its_own(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        list(lut_unit(SPEC, assemble(text), Machine()))
