"""The model of cycles of language models: against the bus's bound, and by hand."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.compiler.decoder.units import VECTOR
from golden.npe.vector_unit import cycles as vector_cycles
from scripts.language.cost import MODELS, RECURRENT, Memory, _Model, cost_of, weight_bytes
from scripts.language.engines import CORES, Core

SMALL = MODELS["SmolLM2-135M"]
W4, W8 = CORES["W4A8, lut_core"], CORES["W8A8, int8"]
SLOW = Memory(gigabytes=1.333, clock_mhz=100)


def test_weights_of_a_model_have_the_bytes_that_they_have_by_hand() -> None:
    weights = 30 * (576 * (576 + 2 * 192) + 576 * 576 + 3 * 576 * 1536) + 576 * 49152
    assert weights == 134_479_872
    assert weight_bytes(SMALL, W4) == weights * 9 // 16  # 4 bits, and 16 for 32 of them
    assert weight_bytes(SMALL, replace(W4, scales=0)) == weights // 2
    assert weight_bytes(SMALL, W8) == weights * 17 // 16


def test_token_has_the_products_and_bytes_that_it_has_by_hand() -> None:
    found = cost_of(SMALL, W4, SLOW, batch=1, new=1, past=99)
    weights = weight_bytes(SMALL, replace(W4, scales=0)) * 2
    assert found.macs == weights + 30 * 9 * 2 * 64 * 100
    assert found.bytes == weight_bytes(SMALL, W4) + 30 * 2 * 192 * 100
    many = cost_of(SMALL, W4, SLOW, batch=3, new=1, past=99)
    assert many.macs == 3 * found.macs
    assert many.bytes - found.bytes == 2 * 30 * 2 * 192 * 100


def test_recurrent_model_has_the_products_of_its_form_and_no_cache() -> None:
    """Of a block: three matrices of one operand and one behind, and the feed-forward's three."""
    shape, core = RECURRENT["370 M, MatMul-free"], CORES["W1.58A8, ternary_core"]
    weights = 24 * (4 * 1024 * 1024 + 3 * 1024 * 2816) + 1024 * 32000
    assert weight_bytes(shape, core) == weights // 5 + 1  # five to a byte
    near, far = (cost_of(shape, core, SLOW, batch=1, new=1, past=past) for past in (0, 999))
    assert near == far
    assert (near.macs, near.bytes) == (weights, weights // 5 + 1)
    block = [
        cost_of(replace(shape, layers=count), core, SLOW, batch=1, new=1, past=0).cycles
        for count in (0, 1)
    ]
    rows = (("rms_norm", 1024),) * 3 + (("rms_norm", 2816), ("silu", 1024), ("silu", 2816))
    unit = sum(vector_cycles(VECTOR, [(name, np.full(size, 9))]) for name, size in rows)
    shapes = [(1024, 3072), (1024, 1024), (1024, 5632), (2816, 1024)]
    products = sum(_Model(core, SLOW).product(1, k, n, core.bits, 0)[0] for k, n in shapes)
    # Rows of other values take some cycles more or less.
    assert abs(block[1] - block[0] - products - unit) < 64


@pytest.mark.parametrize("core", CORES.values(), ids=CORES)
def test_token_alone_is_within_a_tenth_of_what_the_bus_takes(core: Core) -> None:
    found = cost_of(SMALL, core, SLOW, batch=1, new=1, past=127)
    bound = found.bytes / 1.333e9 * 100e6
    assert 1 < found.cycles / bound < (1.25 if core.bits == 2 else 1.1)
    # All of it moves, and little more than activations and parts of beats besides.
    assert found.bytes < found.traffic < 1.25 * found.bytes
    if core is W4:
        assert 11 < 100e6 / found.cycles / 1.333 < 13.2


def test_more_tokens_at_once_take_less_time_each() -> None:
    one, many = (cost_of(SMALL, W4, SLOW, batch=batch, new=1, past=15) for batch in (1, 4))
    assert one.cycles < many.cycles < 1.5 * one.cycles
    wide = cost_of(SMALL, W4, replace(SLOW, gigabytes=2.666), batch=1, new=1, past=15)
    assert 1.7 < one.cycles / wide.cycles < 2


def test_copies_share_columns_and_rows_but_wait_for_each_other() -> None:
    """A row of a norm is one's; jobs of attention of one layer are shared, of two not."""
    shape = replace(SMALL, layers=1, width=512, heads=8, shared=8, head=64, hidden=512, words=8)
    one, many = (
        cost_of(
            shape,
            W4,
            Memory(gigabytes=6.4 * copies, clock_mhz=100, copies=copies),
            batch=1,
            new=1,
            past=15,
        )
        for copies in (1, 64)
    )
    assert many.peak == 64 * one.peak
    assert one.macs == many.macs
    # Five products by weights, two of attention, three norms of one row, a softmax, a gate.
    least = 7 * 200 + 3 * vector_cycles(VECTOR, [("rms_norm", np.full(512, 9))])
    assert least < many.cycles < one.cycles
    layers = [
        cost_of(
            replace(shape, layers=count),
            W4,
            Memory(gigabytes=409.6, clock_mhz=100, copies=64),
            batch=1,
            new=1,
            past=15,
        ).cycles
        for count in (1, 2, 3)
    ]
    assert layers[2] - layers[1] == layers[1] - layers[0] > 6 * 200


def test_traffic_is_what_the_plan_moves_by_hand() -> None:
    """The product to the words alone: activations, weights and sums, each once, whole beats."""
    shape = replace(SMALL, layers=0, width=32, heads=1, shared=1, head=32, hidden=32, words=64)
    memory = Memory(gigabytes=1.6, clock_mhz=100)
    assert (memory.bus, memory.beat) == (128, 1)
    found = cost_of(shape, replace(W4, scales=0), memory, batch=4, new=1, past=15)
    assert found.traffic == 4 * 32 + 32 * 64 // 2 + 4 * 64 * 4
    assert found.bytes == 32 * 64 // 2


def test_engines_take_digits_of_wider_codes() -> None:
    """Ternary codes hold a bit of a key; rows of 8 and 15 bits are digits of 3 after the first."""
    ternary, narrow = CORES["W1.58A8, ternary_core"], CORES["W4A4, lut_core"]
    assert [W4.digit, ternary.digit] == [4, 1]
    codes = replace(ternary, trits=False)
    assert abs(5 * weight_bytes(SMALL, ternary) - 4 * weight_bytes(SMALL, codes)) < 5
    assert [W4.rows(8), W4.rows(15), narrow.rows(8), narrow.rows(15)] == [1, 2, 3, 5]
    one = cost_of(SMALL, narrow, SLOW, batch=1, new=128, past=0)
    assert one.cycles > cost_of(SMALL, W4, SLOW, batch=1, new=128, past=0).cycles
