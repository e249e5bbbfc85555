"""The way of attention that takes fewer cycles, of those that a co-processor has."""

from carrysave.compiler.encoder.attention import Attention
from carrysave.compiler.encoder.codes import IntegerEncoder
from carrysave.compiler.lowered.heads import ONE_PASS, ROWS
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target

__all__ = ["WAYS", "attention_cycles", "chosen_way"]

WAYS = (ONE_PASS, ROWS)


def chosen_way(
    encoder: IntegerEncoder, length: int, target: Target, chip: int | None, asked: str | None
) -> str:
    """Return the way that is asked for, or the one of fewer cycles.

    Parameters
    ----------
    encoder : in integers.
    length : tokens of a sentence.
    target : the co-processor.
    chip : bytes on chip that are used; None: all.
    asked : one of :data:`WAYS`; None: whichever takes fewer cycles by the cost model.

    Raises
    ------
    ValueError
        It is asked for, and the co-processor lacks what it takes.
    """
    unit = target.spec.vector
    built = unit is not None and unit.builds(["exps"]) and target.spec.shares
    if asked == ONE_PASS and not built:
        raise ValueError("attention must be rows where shares, or exps and divide, are not built")
    if asked is not None or not built:
        return asked or ROWS
    cycles = {way: attention_cycles(encoder, length, target, way, chip) for way in WAYS}
    return min(WAYS, key=cycles.__getitem__)


def attention_cycles(
    encoder: IntegerEncoder, length: int, target: Target, way: str, chip: int | None = None
) -> int:
    """Return the cycles of the first layer's attention of a sentence, by the cost model."""
    image, width = Image(target), encoder.words.shape[1]
    qkv = image.reserve("qkv", length, 3 * width, 8)
    context = image.reserve("context", length, width + (way == ONE_PASS), 8)
    context = context.part(None, (0, width))
    Attention(image, encoder, "0.", encoder.blocks[0], qkv, context, chip, way=way).add()
    return sum(step.cycles for step in image.steps if isinstance(step, Start))
