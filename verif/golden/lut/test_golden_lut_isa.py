"""LPRE and LMMA: words, text and results."""

import numpy as np
import pytest

from golden.formats.names import minifloat
from golden.lut.execute import Machine, execute
from golden.lut.isa import Lmma, Lpre, assemble, decode, disassemble, encode

PROGRAM = """
lpre.k4.int8.int t3, a1, m2, d64   # tables of a row of 64
lmma.m2.n64.k4.int8.int.o2.int32.fp32 c1, t3, b5, c0
"""


def operations(count: int) -> list[Lpre | Lmma]:
    """Draw operations that are legal."""
    rng = np.random.default_rng(1)
    found: list[Lpre | Lmma] = []
    tables = {
        "int8": ["int", "int8", "int8p"],
        "int4": ["int"],
        "int16": ["int"],
        "fp16": ["aligned", "float"],
        "bf16": ["float"],
        "e4m3": ["aligned"],
        "e5m2": ["aligned"],
    }
    while len(found) < count:
        a = str(rng.choice(list(tables)))
        table = str(rng.choice(tables[a]))
        regs = [int(x) for x in rng.integers(0, 64, 4)]
        k = int(rng.integers(2, 6))
        m, n, depth = (int(x) for x in rng.integers(1, (257, 257, 65537)))
        found.append(Lpre(k=k, a=a, table=table, rd=regs[0], rs=regs[1], m=m, depth=depth))
        weights = str(rng.choice(["s", "u", "o", "t"]))
        planes = 2 if weights == "t" else int(rng.integers(1, 9))
        integer = table == "int"
        results = ["int32", "fp32", "fp16", "int8"] if integer else ["fp32", "fp16"]
        found.append(
            Lmma(
                m=m,
                n=n,
                k=k,
                a=a,
                table=table,
                weights=weights,
                planes=planes,
                acc="int32" if integer else "fp32",
                result=str(rng.choice(results)),
                rd=regs[0],
                ra=regs[1],
                rb=regs[2],
                rc=regs[3],
            )
        )
    return found


def test_words_and_text_come_back() -> None:
    every = operations(600)
    words = [encode(operation) for operation in every]
    assert all(0 < word < 1 << 64 for word in words)
    assert [decode(word) for word in words] == every
    assert assemble(disassemble(words)) == words
    assert len(set(words)) == len(set(every))


def test_program_is_two_words() -> None:
    words = assemble(PROGRAM)
    # Opcode, k - 2, int8, int, t3, a1, rows - 1, activations - 1.
    lpre = 1 | 2 << 4 | 1 << 6 | 0 << 9 | 3 << 12 | 1 << 18 | 1 << 24 | 63 << 32
    lmma = 2 | 1 << 4 | 63 << 12 | 2 << 20 | 1 << 22 | 0 << 25 | 2 << 28 | 1 << 30 | 0 << 33
    lmma |= 1 << 34 | 1 << 36 | 3 << 42 | 5 << 48 | 0 << 54
    assert words == [lpre, lmma]
    assert disassemble(words).splitlines() == [
        line.partition("#")[0].strip() for line in PROGRAM.strip().splitlines()
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lpre.k6.int8.int t0, a0, m1, d4", "line 1: k must be 2..5 activations, not 6"),
        ("\nlpre.k4.int8.int t64, a0, m1, d4", "line 2: rd must be 0..63, not 64"),
        ("lpre.k4.fp16.int t0, a0, m1, d4", "line 1: table must be one of aligned, float for fp16"),
        ("lmma.m1.n1.k4.int8.int.t3.int32.int32 c0, t0, b0, c0", "planes must be 2 where weights"),
        ("lmma.m1.n1.k4.int8.int.s2.fp32.fp32 c0, t0, b0, c0", "acc must be int32 where table"),
        ("lmma.m1.n1.k4.fp16.float.s2.fp32.int8 c0, t0, b0, c0", "result must be fp32 or fp16"),
        ("lpre.k4.int8.int x0, a0, m1, d4", "operation must be as lpre.k4"),
    ],
)
def test_assembler_rejects(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace(".", r"\.")):
        assemble(text)


@pytest.mark.parametrize("word", [0, 3, 1 << 64, -1, 1 | 1 << 60, 2 | 1 << 63, 1 | 7 << 6])
def test_words_that_are_no_operations_are_refused(word: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        decode(word)


@pytest.mark.parametrize(
    ("kind", "low", "high", "stands"),
    [
        ("s4", -8, 7, lambda q: q),
        ("u4", 0, 15, lambda q: q),
        ("o4", 0, 15, lambda q: 2 * q - 15),
        ("s1", -1, 0, lambda q: q),
        ("o8", 0, 255, lambda q: 2 * q - 255),
        ("t2", -1, 1, lambda q: q),
    ],
)
@pytest.mark.parametrize("a", ["int4", "int8", "int16"])
def test_integers_are_exact(kind: str, low: int, high: int, stands, a: str) -> None:
    rng = np.random.default_rng(2)
    top = 1 << int(a[3:]) - 1
    machine = Machine()
    machine.a[0] = rng.integers(-top, top, (3, 22))
    machine.b[1] = rng.integers(low, high + 1, (22, 7))
    machine.c[2] = rng.integers(-1000, 1000, (3, 7))
    for k in (2, 3, 4, 5):
        program = f"""lpre.k{k}.{a}.int t0, a0, m3, d22
            lmma.m3.n7.k{k}.{a}.int.{kind}.int32.int32 c3, t0, b1, c2
            lmma.m3.n7.k{k}.{a}.int.{kind}.int32.int8 c4, t0, b1, c2
            lmma.m3.n7.k{k}.{a}.int.{kind}.int32.fp16 c5, t0, b1, c2"""
        assert execute(assemble(program), machine) == 3 * int(kind[1])
        exact = machine.a[0] @ stands(machine.b[1]) + machine.c[2]
        assert np.array_equal(machine.c[3], exact)
        assert np.array_equal(machine.c[4], np.clip(exact, -128, 127))
        with np.errstate(over="ignore"):
            assert np.array_equal(machine.c[5], exact.astype(np.float16).view(np.uint16))


def test_sums_are_kept_modulo_their_width() -> None:
    machine = Machine(
        a={0: np.array([[1]])}, b={0: np.array([[1]])}, c={0: np.array([[2**31 - 1]])}
    )
    execute(
        assemble(
            "lpre.k2.int8.int t0, a0, m1, d1\nlmma.m1.n1.k2.int8.int.u1.int32.int32 c0, t0, b0, c0"
        ),
        machine,
    )
    assert machine.c[0].tolist() == [[-(2**31)]]


@pytest.mark.parametrize("kind", ["s4", "u3", "o2", "t2"])
@pytest.mark.parametrize(
    ("a", "table", "near"),
    [
        ("int8", "int8", 0.02),
        ("int8", "int8p", 0.02),
        ("fp16", "aligned", 1e-3),
        ("e4m3", "aligned", 1e-3),
        ("fp16", "float", 2e-3),
        ("bf16", "float", 0.02),
    ],
)
def test_tables_that_are_rounded_are_near(a: str, table: str, near: float, kind: str) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 20, (2, 100))
    machine = Machine()
    if a == "int8":
        machine.a[0] = np.rint(values).astype(np.int64).clip(-128, 127)
        values = machine.a[0].astype(np.float64)
    else:
        fmt = minifloat(a)
        machine.a[0] = fmt.encode(values)
        values = fmt.to_float(machine.a[0])
    bits = int(kind[1])
    low = {"s": -(1 << bits - 1), "t": -1}.get(kind[0], 0)
    high = 1 if kind == "t2" else low + (1 << bits) - 1
    machine.b[0] = rng.integers(low, high + 1, (100, 5))
    machine.c[0] = np.full((2, 5), 0x3F800000)
    program = f"""lpre.k4.{a}.{table} t0, a0, m2, d100
        lmma.m2.n5.k4.{a}.{table}.{kind}.fp32.fp32 c1, t0, b0, c0"""
    execute(assemble(program), machine)
    stands = machine.b[0] if kind[0] != "o" else 2 * machine.b[0] - 3
    exact = values @ stands + 1
    got = machine.c[1].astype(np.uint32).view(np.float32)
    scale = (np.abs(values) @ np.abs(stands)).max()
    assert np.abs(got - exact).max() < near * scale


def test_a_row_that_is_no_number_stays_none() -> None:
    machine = Machine(
        a={0: np.array([[0x7E00, 0], [0x3C00, 0]])},
        b={0: np.array([[1], [1]])},
        c={0: np.zeros((2, 1), int)},
    )
    program = """lpre.k2.fp16.aligned t0, a0, m2, d2
        lmma.m2.n1.k2.fp16.aligned.u1.fp32.fp32 c0, t0, b0, c0"""
    execute(assemble(program), machine)
    assert machine.c[0].tolist() == [[0x7FC00000], [0x3F800000]]


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("lpre.k4.int8.int t0, a9, m1, d4", "operation 0: a9 must hold an array of shape"),
        ("lpre.k4.int8.int t0, a0, m1, d5", r"operation 0: a0 must be of shape \(1, 5\)"),
        ("lmma.m1.n1.k4.int8.int.s2.int32.int32 c0, t0, b0, c0", "t0 must hold tables"),
        (
            "lpre.k4.int8.int t0, a0, m1, d4\nlmma.m1.n1.k2.int8.int.s2.int32.int32 c0, t0, b0, c0",
            "operation 1: t0 must be of m1.k2.int8.int, not m1.k4.int8.int",
        ),
        (
            "lpre.k4.int8.int t0, a0, m1, d4\nlmma.m1.n1.k4.int8.int.s1.int32.int32 c0, t0, b0, c0",
            r"operation 1: b0 must be -1\.\.0 \(int1\), not 1",
        ),
    ],
)
def test_executor_rejects(program: str, says: str) -> None:
    machine = Machine(
        a={0: np.ones((1, 4), int)}, b={0: np.ones((4, 1), int)}, c={0: np.zeros((1, 1), int)}
    )
    with pytest.raises(ValueError, match=says):
        execute(assemble(program), machine)
