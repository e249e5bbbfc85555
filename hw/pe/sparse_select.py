"""Choice of codes of A by masks of B, in front of multipliers."""

from amaranth import C, Cat, Module, Signal, Value

from golden.formats.sparse import SparseFormat

__all__ = ["SparseSelect"]


class SparseSelect:
    """Chooses a code of A for each kept code of B, for a mask of each group along K.

    A kept code has a select line for each place that it can have, of which one is set, or none in a
    cycle without operands: see :class:`golden.formats.sparse.SparseFormat`. Lines are decoded once
    for a column, and codes of A chosen on the way to their registers, so that a multiplier has the
    whole cycle: there is no gate between these and it.

    Parameters
    ----------
    sparse : SparseFormat
        What: the groups.
    count : int
        What: kept codes, of whole groups.

    Members
    -------
    lines_width : int
        Select lines of all codes.
    """

    def __init__(self, sparse: SparseFormat, count: int):
        self.sparse = sparse
        self.count = count
        self.lines_width = count * (sparse.reach + 1)

    def decode(self, m: Module, valid: Value, b: Value, width: int) -> Value:
        """Decode a column's codes, each with its share of a mask above its `width` bits.

        Parameters
        ----------
        m : where the gates go.
        valid : whether there are operands; else no line is set.
        b : the codes.
        width : of a code without its share.

        Returns
        -------
        The codes, and above them the select lines, of the first code lowest.
        """
        sparse = self.sparse
        words = [b.word_select(at, width + sparse.share) for at in range(self.count)]
        lines: list[Value] = []
        for group in range(0, self.count, sparse.count):
            mask = Cat(word[width:] for word in words[group : group + sparse.count])
            lines += self._lines(m, mask, group)
        return Cat(*(word[:width] for word in words), *(line & valid for line in lines))

    def _lines(self, m: Module, mask: Value, group: int) -> list[Value]:
        """Make the lines of a group: bit p of the mask is 1, and j of those below it."""
        sparse = self.sparse
        # ones[j]: j bits are 1 of those so far.
        ones: list[Value] = [C(1, 1), *[C(0, 1)] * (sparse.count - 1)]
        lines: list[list[Value]] = [[] for _ in range(sparse.count)]
        for place in range(sparse.group - 1):
            bit = mask[place]
            for rank in range(sparse.count):
                if 0 <= place - rank < sparse.reach:
                    line = Signal(name=f"at{place}_{group + rank}")
                    m.d.comb += line.eq(bit & ones[rank])
                    lines[rank].append(line)
            ones = [
                (ones[rank] & ~bit) | (ones[rank - 1] & bit if rank else 0)
                for rank in range(sparse.count)
            ]
        for rank, of_code in enumerate(lines):
            last = Signal(name=f"last_{group + rank}")
            m.d.comb += last.eq(~Cat(of_code).any())
            of_code.append(last)
        return [line for of_code in lines for line in of_code]

    def choose(self, m: Module, a: Value, lines: Value) -> Value:
        """Choose the codes of A of all kept codes.

        Parameters
        ----------
        m : where the gates go.
        a : all codes, of any encoding, the first lowest.
        lines : of :meth:`decode`.
        """
        sparse = self.sparse
        reach = sparse.reach + 1
        width = len(a) // (self.count * sparse.share)
        chosen = []
        for at in range(self.count):
            group, rank = divmod(at, sparse.count)
            first = group * sparse.group + rank
            places = [a.word_select(first + far, width) for far in range(reach)]
            code = Signal(width, name=f"chosen{at}")
            terms = [
                line.replicate(width) & place
                for line, place in zip(lines.word_select(at, reach), places, strict=True)
            ]
            m.d.comb += code.eq(_any(terms))
            chosen.append(code)
        return Cat(chosen)

    def held(self, m: Module, enable: Value, a: Value, lines: Value) -> Value:
        """Return the codes that were chosen a cycle before, see :meth:`choose`."""
        chosen = self.choose(m, a, lines)
        held = Signal(len(chosen), name="held_a", reset_less=True)
        with m.If(enable):
            m.d.sync += held.eq(chosen)
        return held


def _any(terms: list[Value]) -> Value:
    """Return the bits that are 1 in any of the terms."""
    total = terms[0]
    for term in terms[1:]:
        total = total | term
    return total
