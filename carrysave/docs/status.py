"""The page that says, of each design, engine, format, operator and target, what proves it."""

from collections.abc import Iterator
from pathlib import Path

from carrysave.boards.board import BOARDS
from carrysave.compiler.graph.bit_weights import MATMUL_N_BITS
from carrysave.compiler.graph.bnb4_weights import MATMUL_BNB4
from carrysave.compiler.graph.graph import MICROSOFT
from carrysave.compiler.graph.host_attention import ATTENTIONS
from carrysave.compiler.graph.host_operators import OPERATORS
from carrysave.compiler.graph.host_versions import BY_EVALUATOR, BY_RUNTIME
from carrysave.compiler.graph.kernels import FLOAT_PRODUCTS, TRANSPOSED
from carrysave.compiler.lowered import recurrent
from carrysave.compiler.passes import expand, match_products
from carrysave.docs.evidence import KINDS, kinds_of, tests_of, tests_with
from carrysave.docs.figures import tiers_of
from carrysave.docs.markdown import table
from carrysave.docs.reference import BLOCKS, NAMED
from golden.formats.block import BlockFormat
from golden.formats.names import parse
from hw import device
from hw.catalog import CATALOG, STAGES, engines

__all__ = ["status"]

_ORACLES = ("ml_dtypes", "gfloat", "universal", "fractions")
"""Others' arithmetic that tests compare with."""


def status(figures: Path) -> str:
    """Write what proves each design, engine, format, operator and target.

    Parameters
    ----------
    figures : the folder with the pages of figures.
    """
    parts = [
        "# Status",
        "What proves each part, made from the code: the catalogue, the lists of formats, operators"
        " and devices, and the tests, by the files that name it. Nothing was tried on silicon or on"
        " a board.",
        "## Designs",
        "Evidence is the catalogue's; the tier is of what was measured, in the tables of figures."
        " Cell libraries take every design; the devices named are those of whose own blocks it can"
        " be built.",
    ]
    heads = ("design", *KINDS, "figures", "blocks of", "engine", "files of tests")
    for stage, inside in STAGES.items():
        parts += [f"### {stage}", table(heads, [_design(name, figures) for name in inside])]
    parts += [
        "## Engines of co-processors",
        "Each is an engine of `coprocessor`, `coprocessor_stream` and `coprocessor_uart`, with the"
        " same bench there: whole jobs against numpy.",
        table(("engine", "operands", "blocks of", "tests in a co-processor"),
              map(_engine, engines())),
        "## Number formats",
        "Designs are those with a parameter that takes the name; of a format of blocks, the name of"
        " its scale.",
        table(("format", "kind", "designs", "files of tests"), map(_format, (*NAMED, *BLOCKS))),
        "Codecs and exact sums are tested for every format of a kind:",
        table(("kind", "tests", "arithmetic of others in them"),
              map(_kind, dict.fromkeys(map(kind_of, (*NAMED, *BLOCKS))))),
        "## Operators of networks",
        "Products run on the co-processor, all else on the host. Outputs are compared with"
        " onnxruntime, each product also on the simulated block with golden.",
        table(("operator", "domain", "runs", "files of tests"), _operators()),
        f"The host runs these of ONNX, in the versions that were compared with onnxruntime:"
        f" {', '.join(f'`{name}`' for name in reference_operators())}.",
        "## Targets",
        table(("target", "place and route", "multiplier block", "designs of its blocks", "boards",
               "files of tests"), _targets()),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _names(paths: Iterator[Path]) -> str:
    """Name up to three files, and count the rest."""
    names = [f"`{path}`" for path in paths]
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest or "none"


def _devices(name: str) -> list[str]:
    """Return the devices of whose blocks a design can be built."""
    target = CATALOG[name].parameters.get("target")
    return [one for one in getattr(target, "options", ()) if one != device.GENERIC]


def _design(name: str, figures: Path) -> tuple[object, ...]:
    """Return the row of a design."""
    has = kinds_of(CATALOG[name].evidence)
    return (
        f"[{name}](designs/{name}.md)",
        *("yes" if kind in has else "" for kind in KINDS),
        ", ".join(tiers_of(name, figures)),
        ", ".join(_devices(name)),
        "yes" if name in engines() else "",
        len(list(tests_of(name))),
    )


def _engine(name: str) -> tuple[str, ...]:
    """Return the row of an engine."""
    kinds = CATALOG[name].parameters
    words = [
        f"{side} {kinds[key].legal}"
        for side, key in (("A", "a_width"), ("B", "b_width"))
        if key in kinds
    ]
    if "formats" in kinds:
        words = [kinds["formats"].legal]
    tests = tests_with(rf"engine\W{{1,6}}{name}\b")
    return (
        f"[{name}](designs/{name}.md)",
        "; ".join(words),
        ", ".join(_devices(name)),
        _names(tests),
    )


def takes(name: str) -> Iterator[str]:
    """Yield the designs with a parameter that takes the name of a format."""
    for design in STAGES["pe"] | STAGES["tpe"] | STAGES["npe"]:
        for key, kind in CATALOG[design].parameters.items():
            try:
                if kind.parse(key, name) == name or key == "formats":
                    yield design
                    break
            except (TypeError, ValueError):
                continue


def kind_of(name: str) -> str:
    """Return the class of a format."""
    return type(parse(name)).__name__


def _format(name: str) -> tuple[str, ...]:
    """Return the row of a format."""
    fmt = parse(name)
    taken = name
    if isinstance(fmt, BlockFormat):
        # As designs name it: of scales without a sign, NaN is all ones.
        taken = fmt.scale_format.name.removesuffix("nan")
    return (
        f"`{name}`",
        f"`{kind_of(name)}`",
        ", ".join(f"[{one}](designs/{one}.md)" for one in takes(taken)),
        _names(tests_with(rf"[\"',= ]{name}[\"',: ]")),
    )


def _kind(kind: str) -> tuple[str, str, str]:
    """Return the row of a kind of formats: its tests, and packages of others in them."""
    tests = [path for path in tests_with(rf"\b{kind}\b") if "golden" in path.parts]
    others = {path: set(tests_with(rf"\b{path}\b")) for path in _ORACLES}
    return (
        f"`{kind}`",
        ", ".join(f"`{path}`" for path in tests),
        ", ".join(one for one, paths in others.items() if paths & set(tests)),
    )


def _operators() -> Iterator[tuple[str, ...]]:
    """Yield the rows of all operators but those of ONNX' own evaluator."""
    block = {
        **dict.fromkeys(match_products.QUANTISED_PRODUCTS, "block, and requantised there"),
        **dict.fromkeys(match_products.INTEGER_PRODUCTS, "block"),
        **{
            ("", name): "block, between QuantizeLinear and DequantizeLinear"
            for name in (*FLOAT_PRODUCTS, TRANSPOSED)
        },
        (MICROSOFT, MATMUL_N_BITS): "block, a product for each block of B",
        (MICROSOFT, MATMUL_BNB4): "block, a product for each block of B",
        **dict.fromkeys(
            (("", "LSTM"), ("", "GRU"), (MICROSOFT, recurrent.KIND)),
            "products on the block, gates on the host",
        ),
        (
            "",
            "LinearAttention",
        ): "products on the block, of codes, linear or gated",
        ("", "CausalConvWithState"): "block, of codes",
    }
    host = {
        **{
            (MICROSOFT, name): f"host, as {to} of floats"
            for name, to in (expand.BINARY | expand.UNARY | {expand.CONCAT: "Concat"}).items()
        },
        **{(one.op_domain, one.__name__): "host, by an evaluator of ours" for one in OPERATORS},
        **{(MICROSOFT, one.__name__): "host, by onnxruntime" for one in ATTENTIONS},
    }
    for (domain, name), runs in ({**host, **block}).items():
        yield f"`{name}`", domain or "ai.onnx", runs, _names(tests_with(rf"\b{name}\b"))


def reference_operators() -> list[str]:
    """Return the operators of ONNX that the host runs."""
    return sorted({*BY_EVALUATOR, *BY_RUNTIME})


def _targets() -> Iterator[tuple[object, ...]]:
    """Yield the rows of all targets."""
    for name, said, placed in (
        ("osu018", "Debian's library", "placed"),
        ("generic", "gates of our own", "mapped only"),
        ("--liberty", "any Liberty file", "placed"),
    ):
        tests = tests_with(rf"[\"' ]{name}[\"', =]")
        yield f"`{name}`: {said}", placed, "", "", "", _names(tests)
    for name in device.NAMES:
        family = device.family(name)
        blocks = family.flow.counts["dsps"]
        yield (
            f"`{name}`: {family.title}",
            family.flow.nextpnr or "mapped only",
            ", ".join(f"`{one}`" for one in blocks),
            ", ".join(one for one in CATALOG if name in _devices(one)),
            len([one for one in BOARDS.values() if one.family == name]),
            _names(tests_with(rf"[\"' =]{name}[\"', )]")),
        )
