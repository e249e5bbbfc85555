"""Jobs of windows for the walk alone."""

import numpy as np

from golden.soc.window import Window, window_rows
from verif.soc.benches.windows import any_window

__all__ = ["Case"]


class Case:
    """A job of windows: its map at some address, its blocks, and the codes that are expected."""

    def __init__(self, rng: np.random.Generator, window: Window | None = None) -> None:
        drawn = window or any_window(rng, 5)
        while window is None and drawn.codes > 120:
            drawn = any_window(rng, 5)
        self.window = drawn
        self.rows = int(rng.integers(1, 10))
        self.lda = drawn.row_bytes + int(rng.integers(0, 9))
        self.image = rng.integers(0, 256, (drawn.height, drawn.row_bytes))
        self.base = int(rng.integers(1 << 31))
        self.wanted = window_rows(drawn, self.image, self.rows)
        # Code by code, a byte that may be read; the others are behind the pixels.
        places = np.arange(drawn.width)[:, None] * drawn.pixel + np.arange(drawn.channels)
        self.codes = {
            self.base + y * self.lda + int(x): int(self.image[y, x])
            for y in range(drawn.height)
            for x in places.reshape(-1)
        }
        self.down = int(rng.integers(1, self.rows + 1))
        self.taps = int(rng.integers(1, drawn.taps + 1)) if rng.integers(2) else drawn.taps
        self.columns = int(rng.integers(1, 3))
        self.by_columns = bool(rng.integers(2))

    def blocks(self) -> list[tuple[range, range, bool, bool, bool]]:
        """List blocks of A that are loaded: rows, codes, and what is known of the next one."""
        ups = [range(at, min(at + self.down, self.rows)) for at in range(0, self.rows, self.down)]
        step = self.taps * self.window.channels
        whole = self.window.codes
        alongs = [range(at, min(at + step, whole)) for at in range(0, whole, step)]
        places = [(up, column) for up in ups for column in range(self.columns)]
        if self.by_columns:
            places.sort(key=lambda place: place[1])
        found = []
        for number, (up, column) in enumerate(places):
            if len(alongs) == 1 and not self.by_columns and column:
                continue  # it is still there
            last = self.by_columns or column == self.columns - 1 or len(alongs) == 1
            for along in alongs:
                ends = along is alongs[-1]
                again = not (ends and last)
                found.append((up, along, again, not again and up is ups[-1], ends))
            assert number < len(places)
        return found
