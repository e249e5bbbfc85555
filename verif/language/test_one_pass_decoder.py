"""Decoders that attend in one pass: near floats, whatever is computed at a time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.one_pass import (
    BLOCK,
    LEAST,
    MOST,
    OnePassDecoder,
    digits_of,
    one_pass_unit,
    score_scale,
    side_of,
    value_power,
)
from carrysave.compiler.front.checkpoint import load_checkpoint
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.weights.gguf import read_gguf
from golden.npe.exps import exps
from verif.language.reference_decoder import logits
from verif.language.test_chat import write
from verif.language.test_families import TEXT, error
from verif.language.tiny_models import config_of, weights_of, write_checkpoint
from verif.soc.driver.conftest import library as library

CACHE = 40
TOKENS = np.arange(35) * 5 % 7
"""More than a block of keys."""
POWER = -9
"""Of values."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("model")
    return load(read_gguf(write(folder / "m.gguf", matrices="Q4_0")))


def family(kind: str, folder: Path, **changes: Any) -> Model:
    config = config_of(kind, **changes)
    return load_checkpoint(write_checkpoint(folder / kind, config, weights_of(config)), 8)[0]


def golden(model: Model, tokens: np.ndarray = TOKENS, cache: int = CACHE) -> np.ndarray:
    """Return logits, of tokens one by one."""
    decoder = OnePassDecoder(model, cache=cache)
    return np.concatenate([decoder.step(tokens[at : at + 1]) for at in range(len(tokens))])


@pytest.fixture(scope="module")
def wanted(model: Model) -> np.ndarray:
    """Return logits of all tokens, each alone."""
    return golden(model)


def test_rows_together_are_rows_one_by_one(model: Model, wanted: np.ndarray) -> None:
    """Whatever is computed at a time: a row has no blocks of keys behind its own."""
    assert np.array_equal(OnePassDecoder(model, cache=CACHE).step(TOKENS), wanted)
    decoder = OnePassDecoder(model, cache=CACHE)
    parts = [decoder.step(part) for part in np.split(TOKENS, [3, 30])]
    assert np.array_equal(np.concatenate(parts), wanted)


def test_it_goes_on_where_it_stopped(model: Model, wanted: np.ndarray) -> None:
    first, then = OnePassDecoder(model, cache=CACHE), OnePassDecoder(model, cache=CACHE)
    first.step(TOKENS[:34])
    then.restore(34, {name: one.astype(np.float64) for name, one in first.state().items()})
    assert np.array_equal(then.step(TOKENS[34:]), wanted[34:])


@pytest.mark.sample(4)
@pytest.mark.parametrize("spread", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("keys", [1, 31, 33, 256, 5000])
def test_sums_are_near_a_softmax_of_floats(keys: int, spread: float, model: Model) -> None:
    """Of scores of a deviation, against float64: as near for many blocks as for one."""
    decoder, (rng, size) = OnePassDecoder(model, cache=64), (np.random.default_rng(keys), 32)
    decoder._unit = one_pass_unit(keys)
    shift = score_scale(model).shift
    scores = rng.normal(0, spread, (1, 2, 1, keys)).astype(np.float32)
    values = rng.normal(0, 1, (1, keys, size)).astype(np.float32)
    digits = np.concatenate(digits_of(values, POWER), axis=-1)[None, None]
    decoder._digits = np.repeat(digits, model.shape.layers, axis=0).astype(np.int8)
    shares = decoder._exps(model.layers[0], np.ldexp(scores, -shift), np.array([keys - 1]))
    sums, ones = decoder._added_up(0, shares)
    weights = np.exp(scores[0, :, 0].astype(np.float64))
    right = weights / weights.sum(axis=1, keepdims=True) @ values[0].astype(np.float64)
    made = np.ldexp(sums / ones, POWER)[0, :, 0]
    assert error(made, right) < 0.03


def test_a_row_has_no_shares_of_keys_behind_its_own_block(model: Model) -> None:
    """Nor of those behind it: the least score is no share beside another."""
    decoder = OnePassDecoder(model, cache=64)
    shares = decoder._exps(model.layers[0], np.zeros((1, 2, 2, 64), np.float32), np.array([5, 63]))
    assert not shares.codes[:, :, 0, 6:].any()
    assert shares.codes[:, :, 1].all()


def test_values_are_of_two_digits() -> None:
    """All of 15 bits; both digits have a sign, and what is beyond is the greatest."""
    values = np.ldexp(np.arange(-127 * 129, 127 * 129 + 1), POWER)
    high, low = digits_of(values, POWER)
    assert np.array_equal(np.ldexp(128 * high + low, POWER)[127:-127], values[127:-127])
    assert max(abs(high).max(), abs(low).max()) <= 127
    assert [int(one[0]) for one in digits_of(np.array([1e9]), POWER)] == [127, 127]


def test_no_value_is_beyond_its_digits(model: Model, tmp_path: Path) -> None:
    """Rows that are as those of the matrix they make the greatest values."""
    for one in (model, family("qwen2", tmp_path)):
        layer = one.layers[0]
        matrix, gain = layer.matrices["attn_v"], layer.attention_gain
        assert gain is not None
        rows = matrix.floats(np.arange(matrix.shape[2])) * gain
        decoder = OnePassDecoder(one, cache=4)
        signs = np.sign(layer.biases.get("attn_v", np.ones(len(rows))))[:, None]
        normed = decoder._normed(rows * signs, gain)
        (values,) = decoder._products(layer, normed, "attn_v")
        most = np.abs(values).max()
        limit = 2.0 ** value_power(one, layer) * 127 * 128
        assert limit / 8 < most < limit


def test_shares_of_the_least_scores_are_floats() -> None:
    """No exponent is that of no number, and sums of all keys are below the greatest float."""
    unit = one_pass_unit(1 << 17)
    made = exps(unit, np.array([[LEAST], [MOST]]))
    least, most = made.exponents[:, 0].tolist()
    assert least >= -126
    bits = np.log2(127.0 * 127 * 128 * (1 << 17)) + most
    assert bits < 127
    assert side_of(48) == 16
    assert side_of(128) == BLOCK


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("kind", "changes"),
    [("llama", {}), ("gemma2", {"sliding_window": 8}), ("qwen3", {}), ("granite", {})],
)
def test_families_are_near_floats(kind: str, changes: dict[str, Any], tmp_path: Path) -> None:
    """Of a reference that knows nothing of carrysave: windows, caps, norms of heads, factors."""
    config = config_of(kind, **changes)
    weights = weights_of(config)
    model = family(kind, tmp_path, **changes)
    made = OnePassDecoder(model, cache=32).step(TEXT)
    assert error(made, logits(config, weights, TEXT)) < 0.03
