"""Search the best recipes of the designs that the project keeps them for, and write them."""

from pathlib import Path

from rich.console import Console

from carrysave import jobs
from carrysave.asic import recipes, synthesis
from carrysave.asic.liberty import cells
from carrysave.progress import Steps
from hw.catalog import Design

DESIGNS = (
    Design("systolic_os"),
    Design("systolic_os", {"pe": "mac"}),
    Design("opt1"),
    Design("mac"),
)
OBJECTIVE = "density"
HIERARCHY = "auto"
"""Not the best of all: the kept point is there to be quick, and flat arrays take minutes."""


def main() -> None:
    """Write the file of the tree that this script is in."""
    library = cells.osu018()
    found = []
    with Steps(Console(stderr=True)) as steps, jobs.session():
        steps.plan(len(DESIGNS))
        for design in DESIGNS:
            steps.step(f"search {design.module}")
            result = synthesis.synthesise_design(
                design, library, sweep=True, activity="none", objective=OBJECTIVE,
                hierarchy=HIERARCHY, progress=steps.note,
            )  # fmt: skip
            found.append(recipes.of_search(design, library, result, OBJECTIVE))
    file = Path(__file__).parents[1] / "carrysave" / "asic" / "recipes.json"
    file.write_text(recipes.dump(found))


if __name__ == "__main__":
    main()
