"""How convolutions of few columns go onto the engine: by the cycles of their jobs."""

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.mapping import choose
from carrysave.compiler.timing.products import product_cycles
from hw.catalog import Design

TARGET = Target(Design.parse("coprocessor", {"engine": "systolic_os(m=8,n=8)", "data_width": "64"}))
GROUPS, SIZE, KERNEL = 64, 14, 3


def test_patches_are_whole_and_take_the_fewest_cycles() -> None:
    """Of a convolution of single channels; others would take a few less, with more to gather."""
    windows = Windows(kernel=(KERNEL, KERNEL), strides=(1, 1), dilations=(1, 1), pads=(1, 1, 1, 1))
    found = choose(
        TARGET, windows, (GROUPS, KERNEL**2, 1), (1, GROUPS, SIZE, SIZE),
        terms=1, scales=GROUPS, turns=False,
    )  # fmt: skip
    assert found is not None
    assert not found[1]

    def cycles(size: tuple[int, int]) -> int:
        wide = size[0] * size[1]
        deep, bundle = (KERNEL - 1 + size[0]) * (KERNEL - 1 + size[1]), max(1, 8 // wide)
        rows = -(-SIZE // size[0]) * -(-SIZE // size[1])
        shape = rows, bundle * deep, bundle * wide
        scales, count = min(GROUPS, bundle * wide), GROUPS // bundle
        return product_cycles(TARGET, shape, scales=scales, bias=True, count=count)

    whole = [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert found[0].size in whole
    assert cycles(found[0].size) == min(map(cycles, whole))
    assert cycles((1, 3)) < cycles(found[0].size) < 1.1 * cycles((1, 3))
