"""No result of functions whose last bits are those of a processor, but where it is argued.

numpy's `exp` and the like have AVX-512 kernels that differ from others, those of `math` are of the
C library, `**` of floats is its `pow`, and BLAS adds in an order of its own. `golden.elementary`
and `golden.portable_product` have others. Each file that uses them anyway is here, with the reason.
The order of equal keys is that of a kernel, too, if `argsort` is not stable.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("carrysave", "golden", "hw")

_FUNCTIONS = (
    "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh"
    " cbrt cos cosh erf erfc exp exp2 expm1 float_power gamma hypot lgamma log log10 log1p log2"
    " logaddexp logaddexp2 pow power sin sinh tan tanh"
    " convolve corrcoef correlate cov dot einsum inner linalg fft matmul polyfit tensordot"
    " vdot"
)
FUNCTIONS = frozenset(_FUNCTIONS.split())
"""Of numpy and of `math`: of the processor's own kernels, or of BLAS."""
MODULES = frozenset(("np", "numpy", "math", "cmath", "jnp"))
_DRAWS = (
    "beta chisquare exponential f gamma geometric gumbel laplace logistic lognormal normal poisson"
    " standard_cauchy standard_exponential standard_gamma standard_normal standard_t"
)
DRAWS = frozenset(_DRAWS.split())
"""Of numpy's generators: by logarithms and such. Others draw integers, and scale them."""
FOREIGN = ("scipy", "sklearn", "jax")
"""Packages that compute floats by kernels of their own."""

INTEGERS = "of integers: exact in int64, or in doubles below 2^53, or in float32 below 2^24"
SEARCH = "a search by estimates: it may try other points, what it measures of each is the same"
TUNED = "networks in floats, to choose or to tune formats: a choice, or a training"
DRAWN = "operands that are rounded to codes: a last bit decides of them once in 2^40"

PLACES: dict[str, tuple[str, str]] = {
    "carrysave/data/digits.py": ("@ sklearn", INTEGERS + "; sklearn trains, its result is a file"),
    "carrysave/exploration/likelihood.py": ("@ np.exp np.log scipy", SEARCH),
    "carrysave/exploration/space.py": ("**", INTEGERS),
    "carrysave/exploration/surrogate.py": ("np.linalg scipy sklearn", SEARCH),
    "carrysave/compiler/decoder/attention.py": ("@", INTEGERS),
    "carrysave/compiler/decoder/experts.py": ("@", INTEGERS),
    "carrysave/compiler/program/on_chip_ilp.py": ("scipy", "an integer program; bytes are counted"),
    "carrysave/compiler/encoder/evaluate.py": ("scipy", "ranks; a figure of 3 digits"),
    "carrysave/compiler/run/exact_product.py": ("@", INTEGERS),
    "carrysave/compiler/run/floats.py": ("@", INTEGERS),
    "carrysave/precision/choose.py": ("scipy", "an integer program by estimates"),
    "carrysave/precision/in_jax.py": ("@ jax jnp.tanh", TUNED),
    "carrysave/precision/tuning.py": ("** jax np.cos", TUNED),
    "carrysave/precision/picture.py": ("np.log10", "a plot"),
    "carrysave/papers/layer.py": ("** @ np.log10 sklearn", "a ratio of 3 digits, in dB"),
    "carrysave/report/bars.py": ("** math.log10", "a plot"),
    "carrysave/sim/cocotb/streams.py": ("@ rng.geometric", INTEGERS + "; pauses of a bench"),
    "carrysave/sim/operands.py": ("rng.normal", DRAWN),
    "carrysave/weights/tables.py": ("sklearn", "centres are rounded; the file has them"),
    "golden/arith/recode.py": ("** @", INTEGERS),
    "golden/engine.py": ("@", INTEGERS),
    "golden/formats/product.py": ("@", INTEGERS),
    "golden/formats/recoded.py": ("@", INTEGERS),
    "golden/lut/grouped.py": ("np.matmul", INTEGERS),
    "golden/lut/over_weights.py": ("@", INTEGERS),
    "golden/lut/scale.py": ("@", INTEGERS),
    "golden/lut/table.py": ("@", INTEGERS),
    "golden/lut/ternary.py": ("@", INTEGERS),
    "golden/lut/trits.py": ("@", INTEGERS),
    "golden/npe/block_scale.py": ("**", INTEGERS),
    "golden/npe/exps.py": ("@", INTEGERS),
    "golden/npe/vector.py": ("**", INTEGERS),
    "golden/portable_product.py": ("@", INTEGERS),
    "hw/device/packing.py": ("**", INTEGERS),
    "hw/npe/activations/summed_table.py": ("**", INTEGERS),
}


def uses(tree: ast.AST) -> Iterator[str]:
    """Yield each use of such a function, operator or package."""
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
                yield "@"
            case ast.BinOp(left=base, op=ast.Pow()) | ast.AugAssign(target=base, op=ast.Pow()):
                if not _exact_base(base):
                    yield "**"
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                if (owner in MODULES and name in FUNCTIONS) or (owner == "rng" and name in DRAWS):
                    yield f"{owner}.{name}"
            case ast.Call(func=ast.Attribute(attr="argsort" | "argpartition" as name), keywords=by):
                if "kind='stable'" not in map(ast.unparse, by):
                    yield name
            case ast.ImportFrom(module=str(module), names=names, level=0):
                head = module.partition(".")[0]
                if head in FOREIGN:
                    yield head
                elif head in MODULES:
                    yield from (f"{head}.{one.name}" for one in names if one.name in FUNCTIONS)
            case ast.Import(names=names):
                heads = (one.name.partition(".")[0] for one in names)
                yield from (head for head in heads if head in FOREIGN)


def _exact_base(node: ast.AST) -> bool:
    """Return whether powers are exact: of an integer, or of 2.0, which no library rounds."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and (isinstance(node.value, int) or node.value == 2.0)


def test_each_place_is_argued() -> None:
    used: dict[str, str] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            words = sorted(set(uses(ast.parse(path.read_text()))))
            if words:
                used[str(path.relative_to(ROOT))] = " ".join(words)
    assert used == {path: words for path, (words, _) in PLACES.items()}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("np.exp(x) + math.log2(y)", ["np.exp", "math.log2"]),
        ("from math import log, sqrt", ["math.log"]),
        ("from scipy.special import erf", ["scipy"]),
        ("import jax.numpy as jnp\njnp.tanh(x)", ["jax", "jnp.tanh"]),
        ("a @ b\na @= b", ["@", "@"]),
        ("x ** 2\nx **= 2\nrows ** -0.5", ["**", "**", "**"]),
        ("2 ** x + 2.0 ** x + (-1) ** x + 10 ** 3", []),
        ("rng.normal(size=3)", ["rng.normal"]),
        (
            "np.argsort(x) + x.argpartition(3) + np.argsort(-x, kind='stable')",
            ["argpartition", "argsort"],
        ),
        ("rng.integers(3) + np.sqrt(x) + np.ldexp(x, 1) + elementary.exp(x)", []),
    ],
)
def test_what_is_found(text: str, words: list[str]) -> None:
    assert sorted(uses(ast.parse(text))) == sorted(words)
