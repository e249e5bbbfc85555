"""The model of cycles of language models: against the bus's bound, and by hand."""

from dataclasses import replace

import pytest

from carrysave.language.cost import CORES, MODELS, Core, Memory, cost_of, weight_bytes

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


@pytest.mark.parametrize("core", CORES.values(), ids=CORES)
def test_token_alone_is_within_a_tenth_of_what_the_bus_takes(core: Core) -> None:
    found = cost_of(SMALL, core, SLOW, batch=1, new=1, past=127)
    bound = found.bytes / 1.333e9 * 100e6
    assert 1 < found.cycles / bound < (1.2 if core.bits == 2 else 1.1)
    if core is W4:
        assert 11 < 100e6 / found.cycles / 1.333 < 13.2


def test_more_tokens_at_once_take_less_time_each() -> None:
    one, many = (cost_of(SMALL, W4, SLOW, batch=batch, new=1, past=15) for batch in (1, 4))
    assert one.cycles < many.cycles < 1.5 * one.cycles
    wide = cost_of(SMALL, W4, replace(SLOW, gigabytes=2.666), batch=1, new=1, past=15)
    assert 1.7 < one.cycles / wide.cycles < 2
