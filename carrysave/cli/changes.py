"""``carrysave changes``."""

import json
from math import inf
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from carrysave.cli.options import Json
from carrysave.errors import UsageError

__all__ = ["changes"]


def changes(
    before: Annotated[Path, Parameter(help="Report of `carrysave synth`, or a folder of them.")],
    after: Annotated[Path, Parameter(help="The same, later.")],
    /,
    *,
    threshold: Annotated[
        float, Parameter(help="Percent of a figure that it may be worse by.")
    ] = 2.0,
    json_: Json = False,
) -> int:
    """Print what changed between reports of `synth`, as Markdown or JSON.

    Of two folders, reports of the same file name belong together. The exit code is 1 if a figure
    is worse by more than the threshold, or is gone. So pipelines can refuse a change, and comment
    on it.

    **Examples:**

    - `carrysave changes main/mac.osu018.json build/synth/mac.osu018.json`
    - `carrysave changes main build/synth --threshold 5 > changes.md`
    - `carrysave changes main build/synth --json`
    """
    from carrysave.report.changes import data, markdown, pairs

    if not 0 <= threshold < inf:
        raise UsageError(f"--threshold must be a percentage from 0 up, not {threshold:g}")
    if json_:
        parts = [data(old, new, threshold / 100) for _, old, new in pairs(before, after)]
        count = sum(is_worse for _, is_worse in parts)
        reports = [part for part, _ in parts]
        print(
            json.dumps({"threshold": threshold / 100, "worse": count, "reports": reports}, indent=2)
        )
        return 1 if count else 0
    texts = [markdown(name, old, new, threshold / 100) for name, old, new in pairs(before, after)]
    worse = sum(is_worse for _, is_worse in texts)
    verdict = f"{worse} of {len(texts)} are worse" if worse else "none is worse"
    print(f"## Figures of synthesis: {verdict}, with {threshold:g} % allowed\n")
    print("\n".join(text for text, _ in texts), end="")
    return 1 if worse else 0
