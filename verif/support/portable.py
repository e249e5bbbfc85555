"""Results that must be of the same bytes on every processor: `python -m verif.support.portable`.

It prints a digest of each, of which the right ones are in `portable.sha256` beside this file. They
are of golden models, of vectors of formats, of figures in manifests, and of a small language model
and a text encoder, by ways that numpy and BLAS have kernels for: sorts, sums and products of
doubles, conversions, powers, exponentials.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.perplexity import losses
from carrysave.compiler.decoder.units import rotated, turns
from carrysave.compiler.encoder.floats import encode
from carrysave.compiler.front.decoder import CACHE_BITS
from carrysave.compiler.front.gguf import load
from carrysave.vectors.package import files_of
from carrysave.weights.gguf import read_gguf
from golden import elementary
from golden.engine import EngineSpec, matmul
from golden.formats.block import BlockFormat, Blocks
from golden.formats.element import ElementFormat
from golden.formats.names import parse
from golden.gemm import GemmSpec, gemm
from golden.lut.quantise import QuantiseSpec, quantise
from golden.npe.norms import norm
from golden.npe.requantiser import dyadic
from golden.npe.vector import VectorUnitSpec, softmax
from golden.pe.chances import normal_below
from golden.pe.laconic import LaconicSpec
from golden.pe.opt3 import Opt3Spec
from golden.portable_product import product
from verif.language.test_chat import write
from verif.networks.encoder.test_integers import both, sentences

__all__ = ["BASELINE", "DIGESTS", "baseline", "digests"]

DIGESTS = Path(__file__).with_suffix(".sha256")

BASELINE = {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Variables for BLAS without AVX, and one thread."""


def baseline() -> dict[str, str]:
    """Return variables that leave numpy and BLAS none of the kernels that they select."""
    dispatched = import_module("numpy._core._multiarray_umath").__cpu_dispatch__
    return BASELINE | {"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched)}


def digests() -> Iterator[tuple[str, str]]:
    """Yield name and digest of each result."""
    for name, data in _results():
        yield name, hashlib.sha256(data).hexdigest()


def _results() -> Iterator[tuple[str, bytes]]:
    for name in ("int8", "e4m3", "posit8e1", "fp16", "mx_e4m3", "nvfp4"):
        for _, file, data in files_of(parse(name)):
            yield f"vectors/{file}", data
    rng = np.random.default_rng(53)
    wide = EngineSpec(a_width=16, b_width=16, k_max=4096)
    a, b = (rng.integers(-(1 << 15), 1 << 15, shape) for shape in ((33, 4096), (4096, 17)))
    yield "integers", _bytes(matmul(wide, a, b))
    for name, accumulation in (
        ("e4m3", "exact"),
        ("fp16", "fp32"),
        ("e5m2", "aligned"),
        ("posit16e1", "exact"),
        ("mx_e4m3", "fp32"),
        ("nvfp4", "exact"),
    ):
        fmt = parse(name)
        spec = GemmSpec(a_format=fmt, b_format=fmt, accumulation=accumulation)
        left, right = _drawn(rng, fmt, (9, 96), -1), _drawn(rng, fmt, (96, 7), 0)
        yield f"gemm/{name}/{accumulation}", _bytes(gemm(spec, left, right))
    weights = rng.integers(-(1 << 20), 1 << 20, (256, 24)) / 3.0
    for scheme, bits in (
        ("symmetric", 4),
        ("asymmetric", 3),
        ("odd", 1),
        ("ternary", 2),
        ("bcq", 3),
    ):
        for scales in ("fp16", "fp32"):
            made = quantise(QuantiseSpec(scheme=scheme, bits=bits, scale_format=scales), weights)
            yield f"quantise/{scheme}/{scales}", _bytes(made.codes, made.scales, made.values())
    yield "requantise", _bytes(*dyadic(np.abs(weights.reshape(-1)) / (1 << 30)))
    unit = VectorUnitSpec()
    rows = rng.integers(-100, 100, (8, 64))
    yield "softmax", _bytes(*softmax(unit, rows))
    yield "norm", _bytes(norm(unit, rows, centred=True))
    yield from _floats()
    yield from _models()
    for width in (4, 8, 12):
        figures = [
            Opt3Spec(a_width=width, b_width=8, k=16).expected_cycles(rows) for rows in (1, 8)
        ]
        figures.append(LaconicSpec(a_width=width, b_width=8).operations_per_cycle)
        yield f"figures/{width}", " ".join(map(float.hex, figures)).encode()


def _floats() -> Iterator[tuple[str, bytes]]:
    """Yield results of what is computed in floats, and makes codes or decisions later."""
    rng = np.random.default_rng(54)
    x = np.ldexp(rng.integers(-(1 << 52), 1 << 52, 4000) / 3.0, rng.integers(-70, -44, 4000))
    for name in ("cos", "exp", "expm1", "sigmoid", "sin", "tanh"):
        yield f"elementary/{name}", _bytes(getattr(elementary, name)(x))
    for name in ("log", "log1p"):
        yield f"elementary/{name}", _bytes(getattr(elementary, name)(np.abs(x)))
    yield "elementary/power", _bytes(elementary.power(np.abs(x), np.arange(4000) % 25 / 3 - 4))
    yield "elementary/normal_below", _bytes(normal_below(x))
    left, right = x[:3840].reshape(5, -1), x[-2304:].reshape(-1, 3)
    yield "product", _bytes(product(left, right))
    heads = x[:3584].reshape(2, 28, 64).astype(np.float32)
    frequencies = elementary.power(10000.0, np.arange(0, 64, 2) / -64)
    yield "rotated", _bytes(rotated(heads, turns(np.arange(28), frequencies)))


def _models() -> Iterator[tuple[str, bytes]]:
    """Yield logits of a language model, and codes and vectors of a text encoder."""
    with tempfile.TemporaryDirectory() as folder:
        model = load(read_gguf(write(Path(folder) / "model.gguf")))
        encoder, integers = both(Path(folder))
    tokens = np.arange(40) * 7 % 250
    for bits in CACHE_BITS:
        decoder = Decoder(model, cache=64, bits=bits)
        logits = np.concatenate([decoder.step(part) for part in np.split(tokens, [33, 34])])
        yield f"chat/{bits}", _bytes(logits, losses(logits[:-1], tokens[1:]))
    for number, block in enumerate(integers.blocks):
        layers = (block.qkv, block.out, block.up, block.down)
        yield f"embed/{number}", _bytes(*(layer.weights for layer in layers))
    yield "embed", _bytes(encode(encoder, sentences(3)))


def _drawn(
    rng: np.random.Generator, fmt: ElementFormat | BlockFormat, shape: tuple[int, int], axis: int
) -> np.ndarray | Blocks:
    """Make codes of numbers of many sizes, by integers alone."""
    size, place = rng.integers(-1000, 1000, shape), rng.integers(-6, 6, shape)
    values = np.ldexp(size.astype(np.float64), place - 8)
    if isinstance(fmt, BlockFormat):
        return fmt.quantise(values, axis=axis)
    return fmt.encode(values)


def _bytes(*arrays: np.ndarray) -> bytes:
    return b"".join(np.ascontiguousarray(one).tobytes() for one in arrays)


def main() -> None:
    """Print the digests, in lines as of `sha256sum`."""
    for name, digest in digests():
        print(f"{digest}  {name}", flush=True)


if __name__ == "__main__":
    main()
