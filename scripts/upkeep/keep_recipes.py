"""Search the best recipes of the designs that the project keeps them for, and write them.

    .venv/bin/python scripts/upkeep/keep_recipes.py                 osu018: the demo's designs
    .venv/bin/python scripts/upkeep/keep_recipes.py --liberty FILE  another library: all pairs

Those of other libraries stay. What was searched before, by this or by ``bench.py``, is not again.
"""

import argparse
import json
from pathlib import Path

from rich.console import Console

from carrysave import jobs
from carrysave.asic import recipes, synthesis
from carrysave.asic.liberty import cells
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.figures import silicon

DESIGNS = (
    Design("systolic_os"),
    Design("systolic_os", {"pe": "mac"}),
    Design("opt1"),
    Design("mac"),
)
"""Those of the default library."""
OBJECTIVE = "density"
HIERARCHY = "auto"
"""Not the best of all: the kept point is there to be quick, and flat arrays take minutes."""


def main() -> None:
    """Write the file of the tree that this script is in."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--liberty", type=Path, help="cell library; osu018 if absent")
    parser.add_argument("--only", nargs="+", metavar="MODULE", help="these designs; others stay")
    parser.add_argument("--jobs", type=int, help="how many at a time; a core each if absent")
    arguments = parser.parse_args()
    library = cells.Library.load(arguments.liberty) if arguments.liberty else cells.osu018()
    designs = silicon.designs() if arguments.liberty else DESIGNS
    known = {design.module: design for design in designs}
    for name in arguments.only or ():
        if name not in known:
            parser.error(f"--only must be of {', '.join(known)}, not {name!r}")
    wanted = [known[name] for name in arguments.only or known]
    again = [json.loads(design.key) for design in wanted]
    steps = Steps(Console(stderr=True))
    stored = [
        recipe
        for recipe in recipes.load()
        if recipe.library_sha256 != library.sha or (arguments.only and recipe.design not in again)
    ]
    file = Path(__file__).parents[2] / "carrysave" / "asic" / "recipes.json"
    with steps, jobs.session(jobs.Options(jobs=arguments.jobs)):
        steps.plan(len(wanted))
        for design in wanted:
            steps.step(f"search {design.module}")
            result = synthesis.synthesise_design(
                design,
                library,
                sweep=True,
                brief=silicon.is_array(design),
                activity="none",
                objective=OBJECTIVE,
                hierarchy=HIERARCHY,
                progress=steps.note,
            )
            stored.append(recipes.of_search(design, library, result, OBJECTIVE))
            stored.sort(
                key=lambda recipe: (recipe.library, json.dumps(recipe.design, sort_keys=True))
            )
            file.write_text(recipes.dump(stored))


if __name__ == "__main__":
    main()
