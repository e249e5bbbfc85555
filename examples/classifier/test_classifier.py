"""The classifier, with a generated array inside: its classes, and each product of the array."""

import cocotb
from cocotb.clock import Clock

import carrysave
from carrysave import testing

ENGINE = carrysave.Design("systolic_os", m=4, n=4, k_max=64)
FEATURES, TILES = 16, 8


def test_classifier(carrysave_bench):
    """Build the Verilog here with the array, and run the cocotb tests below."""
    carrysave_bench("classifier", ["classifier.v"], ENGINE)


@cocotb.test
async def classes_are_those_of_the_twin(dut):
    """Random samples, with stalls at both ends."""
    Clock(dut.clk, 10, unit="ns").start()
    engine = testing.watch(ENGINE, dut.engine, clk=dut.clk)
    weights, samples = (testing.Source(dut, name, ["data", "last"]) for name in "wx")
    classes = testing.Sink(dut, "y", ["class"])
    await testing.reset(dut.clk, dut.rst)
    rng = testing.generator()
    w = rng.integers(-128, 128, (FEATURES, 4))
    x = rng.integers(-128, 128, (4 * TILES, FEATURES))
    beats = x.reshape(TILES, 4, FEATURES).swapaxes(1, 2).reshape(-1, 4)  # a feature of 4 samples
    last = [k == FEATURES - 1 for k in range(FEATURES)]
    await weights.send(list(zip(testing.pack(w, 8), last)))
    samples.send(list(zip(testing.pack(beats, 8), last * TILES)), testing.schedule("bursts", rng))
    await classes.take(len(x), testing.schedule("long", rng))
    (found,) = classes.pop()
    assert [int(bits, 2) for bits in found] == ENGINE.multiply(x, w).argmax(axis=1).tolist()
    engine.check(tiles=TILES)
