"""Where a figure comes from: the revision of the source, the machine, and how far it was taken."""

import functools
import os
import platform
from collections.abc import Mapping
from getpass import getuser
from pathlib import Path
from socket import gethostname
from typing import Any

import carrysave
from carrysave.jobs.job import source_digest
from carrysave.jobs.options import cores
from hw.emit import tools

__all__ = ["TIERS", "machine", "revision", "tier_of", "who"]

TIERS = ("mapped", "placed", "routed", "timed", "simulated", "bounded")
"""How far a figure was taken: timed is Fmax of what is placed and routed, bounded is a model's."""
_PATIENCE = 10.0  # seconds that git may take
_PACKAGES = ("carrysave", "golden", "hw")


@functools.cache
def revision() -> str:
    """Return the commit of a checkout, or the version of an installed package.

    Changes of the checkout's source that are not committed follow as ``+`` and the digest of all
    source, so that two of them differ.
    """
    root = Path(carrysave.__file__).parents[1]
    if not (root / ".git").exists():
        return carrysave.__version__
    asked = ("status", "--porcelain=v2", "--branch", "--", *_PACKAGES)
    try:
        done = tools.run(["git", *asked], cwd=root, deadline=_PATIENCE)
    except (OSError, tools.MissingToolError):
        return carrysave.__version__
    if done.code != 0:  # a checkout that git does not trust
        return carrysave.__version__
    lines = done.output.splitlines()
    commits = [line.split()[-1] for line in lines if line.startswith("# branch.oid ")]
    changed = any(not line.startswith("#") for line in lines)
    return f"{commits[0]}+{source_digest()[:12]}" if changed else commits[0]


@functools.cache
def machine() -> str:
    """Return the processor, and how many cores of it this process may use."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {cores()} cores"


def tier_of(facts: Mapping[str, Any]) -> str | None:
    """Return how far the figures of a result were taken, one of :data:`TIERS`; None if not known.

    A result that does not say so is that of a synthesis.
    """
    if facts.get("tier") in TIERS:
        return str(facts["tier"])
    if facts.get("fmax_mhz") is not None:
        return "timed"
    if facts.get("routed"):
        return "routed"
    if facts.get("placed"):
        return "placed"
    mapped = ("area_um2", "area_ge", "luts")
    return "mapped" if any(facts.get(name) is not None for name in mapped) else None


def who() -> str:
    """Return user@host."""
    try:
        user = getuser()
    except (KeyError, OSError):  # as in a container, for a user without a name
        user = str(os.getuid())
    return f"{user}@{gethostname()}"
