"""The small build of each design that pages show."""

from hw.catalog import CATALOG, Design

__all__ = ["command_of", "sample"]

_SIZES = {"m": 2, "n": 2}


def sample(name: str) -> Design:
    """Return a design with sides of 2, where it has sides; else as it is by default."""
    entry = CATALOG[name]
    kinds = entry.parameters if entry.engine is None else CATALOG[_engine(name)].parameters
    for chosen in (_SIZES, {"n": 2}, {"m": 2}):
        texts = {side: str(value) for side, value in chosen.items() if side in kinds}
        try:
            design = Design.parse(name, texts)
            design.component()
        except ValueError:
            continue
        return design
    return Design(name)


def _engine(name: str) -> str:
    """Return the engine that a design holds by default."""
    engine = Design(name).engine
    assert engine is not None
    return engine.name


def command_of(design: Design) -> str:
    """Return the arguments of a command that name a design, such as ``mac -p a_width=4``."""
    words = (
        f"-p '{key}={value}'" if "(" in str(value) else f"-p {key}={value}"
        for key, value in design.changed.items()
    )
    return " ".join([design.name, *words])
