"""FuseSoC generator: makes a design with the parameters of a core file.

FuseSoC runs it with the name of a YAML file, in the folder where it then looks for core files.
"""

import sys
from pathlib import Path

from carrysave.errors import UsageError, check_positive
from carrysave.ip import has_pack, package
from hw.catalog import Design
from hw.emit import files
from hw.emit.user_files import parsing, read_text

__all__ = ["main"]


def main(request: Path, folder: Path) -> None:
    """Execute a request.

    Raises
    ------
    UsageError, ValueError, TypeError
        The request is invalid.
    """
    import yaml  # FuseSoC brings it

    text = read_text(request)
    with parsing(request):
        asked = dict(yaml.safe_load(text))
    given = dict(asked.get("parameters") or {})
    name = given.pop("design", "coprocessor")
    values = {key: str(value) for key, value in (given.pop("parameters", None) or {}).items()}
    period = float(given.pop("period", 10.0))
    if given:
        raise UsageError(f"parameters are design, parameters, period, not {', '.join(given)}")
    check_positive("period", period, " ns")
    design = Design.parse(name, values)
    generate = package.generate if has_pack(design) else files.generate
    generate(design, folder, period_ns=period, name=asked["vlnv"])


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path.cwd())
    except (UsageError, ValueError, TypeError) as error:
        sys.exit(f"carrysave: {error}")
