"""Generators of matrix-multiply hardware: Verilog, numpy twins, regressions and figures.

    >>> import carrysave
    >>> design = carrysave.Design("systolic_os", m=8, n=8)

Everything public is loaded when it is first used.

Design       A design of the catalogue with its parameters: writes, verifies, multiplies, simulates.
Verilog      Somebody's module: files, top, clock.
synthesise   Area, timing and power of a design, or of somebody's Verilog; ``Design.synthesise``.
compare      Designs and Verilog side by side, by one search.
estimate     Area, period and power of a design before anything is built.
explore      Search designs and parameters for the best in several figures at once.
run          Run a quantised network on a co-processor: its products, and the rest beside it.
FormatProduct   What ``Design.multiply`` returns for formats: codes, values, what is no number.
SynthesisOptions   How ``synthesise`` works; its fields may be given by name instead.
VerifyOptions      The same of ``Design.verify``.
CompareOptions     The same of ``compare``.
ExploreOptions     The same of ``explore``.
RunOptions         The same of ``run``.
Files        What ``Design.generate`` returns: the files, and the manifest.
Verification What ``Design.verify`` returns: the tests that ran.
Synthesis    What ``synthesise`` returns: figures, conditions, critical path, netlist.
Comparison   What ``compare`` returns: each with its ratios to the first.
Estimate     What ``estimate`` returns: figures with intervals.
Exploration  What ``explore`` returns: what was measured, and the front.
NetworkRun   What ``run`` returns: outputs, products with their cycles, how they compare.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from carrysave.api.comparison import CompareOptions as CompareOptions
    from carrysave.api.comparison import Comparison as Comparison
    from carrysave.api.comparison import compare as compare
    from carrysave.api.design import Design as Design
    from carrysave.api.estimate import Estimate as Estimate
    from carrysave.api.estimate import estimate as estimate
    from carrysave.api.exploration import Exploration as Exploration
    from carrysave.api.exploration import ExploreOptions as ExploreOptions
    from carrysave.api.exploration import explore as explore
    from carrysave.api.files import Files as Files
    from carrysave.api.network import NetworkRun as NetworkRun
    from carrysave.api.network import run as run
    from carrysave.api.options import RunOptions as RunOptions
    from carrysave.api.options import VerifyOptions as VerifyOptions
    from carrysave.api.simulation import FormatProduct as FormatProduct
    from carrysave.api.synthesis import Synthesis as Synthesis
    from carrysave.api.synthesis import SynthesisOptions as SynthesisOptions
    from carrysave.api.synthesis import Verilog as Verilog
    from carrysave.api.synthesis import synthesise as synthesise
    from carrysave.api.verification import Verification as Verification

__version__ = "0.1.0"

_PUBLIC = {
    "Design": "design",
    "Verilog": "synthesis",
    "synthesise": "synthesis",
    "SynthesisOptions": "synthesis",
    "compare": "comparison",
    "CompareOptions": "comparison",
    "Files": "files",
    "Verification": "verification",
    "VerifyOptions": "options",
    "Synthesis": "synthesis",
    "Comparison": "comparison",
    "estimate": "estimate",
    "Estimate": "estimate",
    "explore": "exploration",
    "ExploreOptions": "exploration",
    "Exploration": "exploration",
    "run": "network",
    "RunOptions": "options",
    "NetworkRun": "network",
    "FormatProduct": "simulation",
}
"""What is public, and its module in ``carrysave.api``."""

__all__ = ["__version__", *_PUBLIC]

if not Path(__file__).with_name("hw").is_dir():
    from carrysave import checkout

    checkout.install()


def __getattr__(name: str) -> Any:
    """Load what is public when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    member = getattr(import_module(f"{__name__}.api.{_PUBLIC[name]}"), name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    """List what is public."""
    return sorted({*globals(), *_PUBLIC})
