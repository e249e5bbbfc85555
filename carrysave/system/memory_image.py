"""What is in the SDRAM of a simulated system: as files that the simulator reads, and writes.

LiteDRAM's model has a memory for each bank, of words as wide as the data bus. Addresses go row by
row, within a row bank by bank, within that column by column.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from carrysave import cache

__all__ = ["LAST", "Banks", "with_dump"]

LAST = "sdram_last.hex"
"""File with the number of the last word of each bank that the simulator writes at its end."""


@dataclass(frozen=True, kw_only=True)
class Banks:
    """The banks of a simulated SDRAM.

    Members
    -------
    files : hexadecimal words of each bank, before the simulation.
    columns : words of a row of a bank.
    width : bytes of a word.
    every : words of the model for one that it uses.
    """

    files: Sequence[str]
    columns: int
    width: int
    every: int = 1

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "Banks":
        """Return those of a system, by the facts of :mod:`carrysave.system.litex_soc`."""
        sizes = {name: facts[name] for name in ("columns", "width", "every")}
        return cls(files=tuple(facts["files"]), **sizes)

    def write(self, memory: np.ndarray, folder: Path) -> None:
        """Write bytes from address 0 on, for the simulator to begin with; the rest is 0."""
        words = self._split(memory)
        for name, bank in zip(self.files, words, strict=True):
            cache.write(folder / name, _hex(bank))
        cache.write(folder / LAST, f"{words.shape[1] - 1:x}\n")

    def read(self, count: int, folder: Path) -> np.ndarray:
        """Return bytes from address 0 on that the simulator left."""
        banks = np.stack([
            _words((folder / _after(name)).read_text(), self.width)[:: self.every].reshape(-1)
            for name in self.files
        ])
        rows = banks.reshape(len(self.files), -1, self.columns * self.width)
        memory: np.ndarray = rows.swapaxes(0, 1).reshape(-1)[:count]
        return memory

    def _split(self, memory: np.ndarray) -> np.ndarray:
        """Return the words of each bank, each as its bytes."""
        row = self.columns * self.width * len(self.files)
        padded = np.zeros(-(-memory.size // row) * row, np.uint8)
        padded[: memory.size] = memory
        rows = padded.reshape(-1, len(self.files), self.columns, self.width)
        words = rows.swapaxes(0, 1).reshape(len(self.files), -1, self.width)
        spread = np.zeros((len(self.files), self.every * words.shape[1], self.width), np.uint8)
        spread[:, :: self.every] = words
        return spread


def with_dump(verilog: str, banks: Banks) -> str:
    """Let a system's Verilog write its SDRAM into files.

    It does so when the simulation ends, and when the pin `sim_trace` of LiteX's simulations rises.
    """
    dump = ["begin"]
    for name in banks.files:
        array = re.search(rf'\$readmemh\("{re.escape(name)}", (\w+)\)', verilog)
        assert array, name
        dump.append(f'    $writememh("{_after(name)}", {array[1]}, 0, sdram_last[0]);')
    dump.append("end")
    lines = ["reg [31:0] sdram_last [0:0];", f'initial $readmemh("{LAST}", sdram_last);']
    body = "\n".join([*lines, "always @(posedge sim_trace)", *dump, "final", *dump, ""])
    start, end = verilog.rsplit("endmodule", 1)
    return f"{start}{body}endmodule{end}"


def _after(name: str) -> str:
    """Return the file that a bank is written into."""
    return f"{name}.after"


def _hex(words: np.ndarray) -> str:
    """Return words as $readmemh takes them, from their bytes, the lowest first."""
    text = words[:, ::-1].tobytes().hex()
    digits = np.frombuffer(text.encode(), f"S{2 * words.shape[1]}")
    return b"\n".join(digits.tolist()).decode() + "\n"


def _words(text: str, width: int) -> np.ndarray:
    """Return the bytes of words that $writememh wrote, words x bytes."""
    plain = "".join(line for line in text.splitlines() if not line.startswith(("@", "//")))
    raw = np.frombuffer(bytes.fromhex(plain), np.uint8).reshape(-1, width)
    return raw[:, ::-1]
