"""Rules of AXI4-Lite and AXI4-Stream."""

from collections.abc import Mapping
from typing import ClassVar

from amaranth import Module, Signal, Value

from carrysave.sim.rules.rules import AXI, Rule, Rules, handshake

__all__ = ["AxiLiteRules", "AxiStreamRules"]


class AxiLiteRules(Rules):
    """Rules of AXI4-Lite.

    Parameters
    ----------
    outstanding : accesses under way that are counted, writes and reads each; more are reported.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        *(rule for channel in ("aw", "w", "ar") for rule in handshake(channel, "manager")),
        *(rule for channel in ("b", "r") for rule in handshake(channel, "subordinate")),
        *(
            Rule(f"{channel}_many", "manager", "the rules' own limit", f"No more {name} are under"
                 " way than are counted: 14 unless said otherwise.")
            for channel, name in (("aw", "addresses"), ("w", "data"), ("ar", "reads"))
        ),
        Rule("b_after", "subordinate", f"{AXI} A3.3.1", "A response comes after its address and its"
             " data, not with them; one for each write."),
        Rule("b_okay", "subordinate", f"{AXI} B1.1.1", "No response is EXOKAY."),
        Rule("r_asked", "subordinate", f"{AXI} A3.3.1", "Data come after their address, not with"
             " it; once for each read."),
        Rule("r_okay", "subordinate", f"{AXI} B1.1.1", "No data are EXOKAY."),
    )  # fmt: skip

    def __init__(self, members: Mapping[str, int], *, outstanding: int = 14, armed: bool = False):
        self.outstanding = outstanding
        super().__init__(members, armed=armed)

    def watch(self, m: Module) -> None:
        """Claim every rule."""
        for channel in ("aw", "w", "b", "ar", "r"):
            self.shake(m, channel)
        self.owed = {
            name: self._owed(m, name, answer)
            for name, answer in (("aw", "b"), ("w", "b"), ("ar", "r"))
        }
        # What is taken in this very cycle is too late for an answer in it.
        writes, data, reads = (self.owed[name] != 0 for name in ("aw", "w", "ar"))
        self.claim("b_after", ~self.port("bvalid") | (writes & data))
        self.claim("r_asked", ~self.port("rvalid") | reads)
        for channel in ("b", "r"):
            okay = self.port(f"{channel}resp") != 1
            self.claim(f"{channel}_okay", ~self.port(f"{channel}valid") | okay)

    def _owed(self, m: Module, asked: str, answer: str) -> Value:
        """Count what was asked for, and not yet answered, wide enough to see one too many."""
        count = Signal(range(2 * self.outstanding + 2), name=f"owed_{asked}")
        under_way = count + self.port(f"{asked}valid")
        self.claim(f"{asked}_many", under_way <= self.outstanding)
        m.d.sync += count.eq(count + self.taken(asked) - self.taken(answer))
        return count


class AxiStreamRules(Rules):
    """Rules of AXI4-Stream: who receives has none to keep."""

    RULES: ClassVar[tuple[Rule, ...]] = handshake("t", "manager", stream=True)

    def watch(self, m: Module) -> None:
        """Claim every rule."""
        self.shake(m, "t")
