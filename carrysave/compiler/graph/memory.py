"""Limits on the memory that a model takes, kept by us and by the system."""

import contextlib
import resource
from collections.abc import Callable, Iterator, Sequence
from math import prod
from pathlib import Path

from hw.emit.user_files import TENSORS, limit_of, raised

__all__ = ["check_size", "limited"]

_WHOLE = 2
"""All that is taken at a time, in largest tensors."""
_PAGE = resource.getpagesize()


def check_size(where: Callable[[], str], shape: Sequence[int], bits: int) -> None:
    """Refuse a tensor before memory is taken for it.

    Parameters
    ----------
    where : names the tensor, for the error.
    shape, bits : of the tensor, and of each of its numbers.

    Raises
    ------
    ValueError
        It has more bytes than the limit of :data:`hw.emit.user_files.TENSORS`.
    """
    size, limit = -(-prod(shape) * bits // 8), limit_of(TENSORS)
    if size > limit:
        raise ValueError(
            f"{where()} must be at most {limit:,} bytes, not {size:,}; {raised(limit)}"
        )


_limits = 0
"""Of :func:`limited`, that are around what runs now."""


@contextlib.contextmanager
def limited(what: str) -> Iterator[None]:
    """Limit what may be taken inside, also by libraries that do not know of a limit.

    Not around other programs: they get the same limit.

    Parameters
    ----------
    what : is done, for the error.

    Raises
    ------
    ValueError
        More is asked for than twice the limit of a tensor.
    """
    limit = _WHOLE * limit_of(TENSORS)
    global _limits
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if not _limits:  # else what is around it has set one
        taken = limit  # macOS, which does not count data, has room for the loaded
        with contextlib.suppress(OSError):
            taken = int(Path("/proc/self/statm").read_text().split()[5]) * _PAGE
        legal = [one for one in (taken + limit, soft, hard) if one != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min(legal), hard))
    _limits += 1
    try:
        yield
    except MemoryError:
        text = f"{what}: must take at most {limit:,} bytes of memory; {raised(limit // _WHOLE)}"
        raise ValueError(text) from None
    finally:
        _limits -= 1
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
