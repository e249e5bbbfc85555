"""Attention of a sentence, all heads, as jobs."""

from carrysave.compiler.encoder.codes import CODE, WIDE, IntegerBlock, IntegerEncoder, scaled
from carrysave.compiler.encoder.on_chip import held
from carrysave.compiler.program.jobs import Job, Product, Scale, Scaling, Softmax, Transpose
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.target.target import Target

__all__ = ["attention"]


def attention(
    memory: Memory, encoder: IntegerEncoder, layer: str, block: IntegerBlock, qkv: View,
    context: View, target: Target,
) -> list[Job]:  # fmt: skip
    """List the jobs of a sentence.

    Heads are side by side in matrices of the sentence's length, which the next sentence of the same
    length writes over; shares have a column more for each head, where the vector unit writes
    exponents. A row of all heads is as many rows of one, for the vector unit. With a scratch, that
    is where these matrices are, of some heads at a time, or of some rows of one.

    Parameters
    ----------
    memory : gets these matrices.
    encoder, block : in integers, all and this layer.
    layer : such as ``0.``.
    qkv : queries, keys and values of all sentences.
    context : where the sentence's results go.
    target : the co-processor.
    """
    assert qkv.rows is None
    assert context.rows is not None
    return _Attention(memory, encoder, layer, block, qkv, context, target).jobs()


class _Attention:
    """Lists the jobs of a sentence."""

    def __init__(
        self, memory: Memory, encoder: IntegerEncoder, layer: str, block: IntegerBlock, qkv: View,
        context: View, target: Target,
    ) -> None:  # fmt: skip
        assert context.rows is not None
        self.memory, self.encoder, self.layer, self.block = memory, encoder, layer, block
        self.qkv, self.context, self.target = qkv, context, target
        self.first = context.rows[0]
        self.length, self.width = context.rows[1] - self.first, encoder.words.shape[1]
        self.each = self.width // encoder.heads
        self.held = held(
            encoder.heads, self.length, self.each, chip=memory.chip,
            tile=target.info.stores.tile_m,
        )  # fmt: skip
        # Sums of shares times values are at most 2^most codes of 8 bits.
        most = 6 + (self.length - 1).bit_length()
        self.less = max(most + CODE.bit_length() - WIDE.bit_length(), 0)

    def jobs(self) -> list[Job]:
        """List them."""
        found: list[Job] = []
        rows = self.first, self.first + self.length
        for heads in self.held.groups(self.encoder.heads):
            turned = self._room("turned", len(heads) * self.each, self.length, 8, self.held.turned)
            own = self._columns(heads, self.width)
            keys = View(self.qkv.name, rows, own)
            found.append(Transpose(layer=f"{self.layer}scores", x=keys, c=turned))
            for chunk in self.held.chunks(self.length):
                found += self._some(heads, chunk, turned)
        return found

    def _some(self, heads: range, chunk: range, turned: View) -> list[Job]:
        """List the jobs of some heads, and some rows of these."""
        layer, length, rows, count = self.layer, self.length, len(chunk), len(heads)
        scores = self._room("scores", rows, count * length, 16, self.held.scores)
        shares = self._room("shares", rows, count * (length + 1), 8, self.held.scores)
        mixed = self._room("mixed", rows, count * self.each, 16, self.held.mixed)
        here = self.first + chunk.start, self.first + chunk.stop
        whole = self.first, self.first + length
        averaged = scaled(2.0**-self.less, WIDE)
        scored: list[Job] = []
        mixes: list[Job] = []
        for place, head in enumerate(heads):
            one, part = range(head, head + 1), (place * self.each, (place + 1) * self.each)
            q = View(self.qkv.name, here, self._columns(one, 0))
            v = View(self.qkv.name, whole, self._columns(one, 2 * self.width))
            start = place * (length + 1)
            scored.append(
                Product(layer=f"{layer}scores", a=q, b=View(turned.name, part),
                        how=self.block.scores[head], wide=True, target=self.target,
                        c=View(scores.name, None, (place * length, (place + 1) * length)))
            )  # fmt: skip
            mixes.append(
                Product(layer=f"{layer}context", b=v, how=averaged, wide=True, target=self.target,
                        a=View(shares.name, None, (start, start + length)),
                        c=View(mixed.name, None, part))
            )  # fmt: skip
        softmax = Softmax(
            layer=f"{layer}shares", x=View(scores.name, parts=count),
            c=View(shares.name, parts=count), spec=self.encoder.unit, narrow=True,
        )  # fmt: skip
        return [*scored, softmax, *mixes, *self._scales(heads, here, mixed, shares)]

    def _scales(self, heads: range, here: tuple[int, int], mixed: View, shares: View) -> list[Job]:
        """Scale rows by their exponents: of all heads at once, or of each alone."""
        length, count = self.length, len(heads)
        scaling = Scaling(scale=self.block.context * 2.0**self.less, bits=8)
        if count == self.encoder.heads:
            return [
                Scale(layer=f"{self.layer}context", x=View(mixed.name, parts=count),
                      exponents=View(shares.name, None, (length, length + 1), parts=count),
                      c=View(self.context.name, here, parts=count), scaling=scaling)
            ]  # fmt: skip
        found: list[Job] = []
        for place, head in enumerate(heads):
            last = place * (length + 1) + length
            found.append(
                Scale(layer=f"{self.layer}context", scaling=scaling,
                      x=View(mixed.name, None, (place * self.each, (place + 1) * self.each)),
                      exponents=View(shares.name, None, (last, last + 1)),
                      c=View(self.context.name, here, self._columns(range(head, head + 1), 0)))
            )  # fmt: skip
        return found

    def _columns(self, heads: range, start: int) -> tuple[int, int]:
        """Return the columns of some heads, behind others."""
        return start + heads.start * self.each, start + heads.stop * self.each

    def _room(self, name: str, rows: int, columns: int, bits: int, chip: int | None) -> View:
        """Make room that others of the name, and of the same place, have too."""
        name = f"{name}.{self.length}" if chip is None else f"{name}.{rows}x{columns}.chip{chip}"
        if name in self.memory.matrices:
            return View(name)
        return self.memory.reserve(name, rows, columns, bits, chip=chip)
