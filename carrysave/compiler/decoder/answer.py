"""An answer of a language model, token by token."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from carrysave.compiler.decoder.blocks import Blocks
from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.decoder.sampling import chosen
from carrysave.compiler.decoder.state import Stopped

if TYPE_CHECKING:
    from carrysave.compiler.decoder.compile import ProgramDecoder

__all__ = ["Answer", "behind"]


class Answer:
    """Tokens, each of which is chosen by those before it.

    Parameters
    ----------
    decoder : has had the first of the tokens, as many as its length says.
    tokens : of prompts and answers so far; those of the answer come behind them.
    options : how tokens are chosen, and how many at most: `tokens`.
    ends : tokens that end an answer.
    now : a clock.

    Members
    -------
    written : tokens so far.
    ended : why there are no more: ``end``, ``tokens`` or ``cache``.
    seconds : by the clock, when each token was there.
    """

    def __init__(
        self,
        decoder: "Blocks | ProgramDecoder",
        tokens: list[int],
        options: ChatOptions,
        ends: frozenset[int],
        now: Callable[[], float],
    ) -> None:
        self.written: list[int] = []
        self.ended = "tokens"
        self.seconds: list[float] = []
        self._decoder, self._tokens, self._options, self._ends = decoder, tokens, options, ends
        self._now = now

    def numbers(self) -> Iterator[int]:
        """Yield the tokens as they come."""
        decoder, tokens = self._decoder, self._tokens
        while len(self.written) < self._options.tokens:
            fresh = np.array(tokens[decoder.length :])
            if decoder.length + len(fresh) > decoder.cache:
                self.ended = "cache"
                return
            number = chosen(self._options, decoder.step(fresh, last=True)[-1], tokens)
            self.seconds.append(self._now())
            tokens.append(number)
            if number in self._ends:
                self.ended = "end"
                return
            self.written.append(number)
            yield number

    def stopped(self, decoder: Blocks, before: int) -> Stopped:
        """Return what is left of the chat.

        Parameters
        ----------
        decoder : of the answer.
        before : tokens that the answer had already.
        """
        return Stopped(
            tokens=self._tokens,
            length=decoder.length,
            answer=before + len(self.written),
            ended=self.ended,
            arrays=decoder.state(),
        )


def behind(
    words: Callable[[Iterator[int]], Iterator[str]], before: Sequence[int], numbers: Iterator[int]
) -> Iterator[str]:
    """Yield the text of tokens as they come, which go on behind others that are not yielded."""
    left = sum(map(len, words(iter(before))))
    for piece in words(chain(before, numbers)):
        if piece[left:]:
            yield piece[left:]
        left = max(left - len(piece), 0)
