"""Command-line output for designs: catalogue, files, packed weights, verification."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from hw.catalog import CATALOG, Design

if TYPE_CHECKING:
    from carrysave.sim.runner import Result

__all__ = [
    "catalogue",
    "print_catalogue",
    "print_files",
    "print_operand",
    "print_packed_model",
    "print_packing",
    "print_line",
    "verification",
    "print_verification",
]


def catalogue() -> list[dict[str, Any]]:
    """Describe every design."""
    return [
        {
            "design": name,
            "stage": entry.stage,
            "summary": entry.summary,
            "parameters": {
                key: {"default": kind.default, "legal": kind.legal, "meaning": kind.doc}
                for key, kind in entry.parameters.items()
            },
            "verified_by": list(entry.evidence),
        }
        for name, entry in CATALOG.items()
    ]


def print_catalogue(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print the designs, each with its parameters."""
    from rich.table import Table  # slow to load, and used here only

    for row in rows:
        console.print(
            f"[bold]{row['design']}[/bold]  {row['summary']}", highlight=False, soft_wrap=True
        )
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        table.add_column("  parameter", no_wrap=True)
        for column in ("default", "legal", "meaning"):
            table.add_column(column, overflow="fold")
        for key, kind in row["parameters"].items():
            default = str(kind["default"]).lower()
            table.add_row(f"  {key}", default, kind["legal"], kind["meaning"])
        console.print(table)
        console.print("  verified by", highlight=False)
        for evidence in row["verified_by"]:
            console.print(f"    {evidence}", highlight=False, soft_wrap=True)
        console.print()


def print_files(
    console: Console, files: Sequence[Path], manifest: dict[str, Any], blocks: str | None
) -> None:
    """Print files: those beside the first one, folders, and which blocks the design takes."""
    root = files[0].parent
    sizes: dict[str, list[int]] = {}
    for path in files:
        inside = path.relative_to(root).parts
        name = f"{root / inside[0]}{'/' if len(inside) > 1 else ''}"
        sizes.setdefault(name, []).append(path.stat().st_size)
    width = max(map(len, sizes))
    for name, sizes_of in sizes.items():
        count = f", {len(sizes_of)} files" if len(sizes_of) > 1 else ""
        print_line(console, f"{name:{width}}  {sum(sizes_of):>9,} bytes{count}")
    print_line(
        console,
        f"{manifest['module']}: latency {manifest['latency_cycles']} cycles,"
        f" {manifest['throughput']['operations_per_cycle']} operations per cycle,"
        f" {len(manifest['modules'])} generated modules",
    )
    if blocks is not None:
        print_line(console, blocks)


def print_packing(console: Console, files: Sequence[Path], manifest: dict[str, Any]) -> None:
    """Print the files written, and the sections of the image."""
    width = max(len(str(path)) for path in files)
    for path in files:
        print_line(console, f"{path!s:{width}}  {path.stat().st_size:>9,} bytes")
    layout = manifest["layout"]
    print_line(
        console,
        f"{manifest['k']} x {manifest['n']} weights, {manifest['levels']}, {layout['bits']} bits,"
        f" {manifest['groups']} groups of {layout['group']}, scales {manifest['scale_format']};"
        f" {layout['layout']}, keys of {layout['fold']}, beats of {layout['k']} x {layout['n']}",
    )
    _print_sections(console, manifest)


def print_codebook(console: Console, files: Sequence[Path], manifest: dict[str, Any]) -> None:
    """Print the files written, the table, and the sections of the image."""
    for path in files:
        print_line(console, f"{path!s}  {path.stat().st_size:>9,} bytes")
    print_line(
        console,
        f"{manifest['k']} x {manifest['n']} weights, codebook {manifest['codebook']}, table"
        f" {' '.join(map(str, manifest['table']))}; {manifest['groups']} groups of"
        f" {manifest['group']}; relative error (rms) {manifest['relative_error']:.4f}",
    )
    _print_sections(console, manifest)


def print_operand(console: Console, files: Sequence[Path], manifest: dict[str, Any]) -> None:
    """Print the files written, what B is, and the sections of the image."""
    for path in files:
        print_line(console, f"{path!s}  {path.stat().st_size:>9,} bytes")
    what = {"zeros": "with zero points", "bitmap": "without zeros"}
    print_line(
        console,
        f"{manifest['k']} x {manifest['n']} weights of {manifest['bits']} bits,"
        f" {what.get(manifest['operand'], 'with masks')}, {manifest['zero_weights']:.1%} of them 0;"
        f" {manifest['groups']} groups of {manifest['group']}; relative error (rms)"
        f" {manifest['relative_error']:.4f}",
    )
    _print_sections(console, manifest)


def _print_sections(console: Console, manifest: dict[str, Any]) -> None:
    weights = manifest["k"] * manifest["n"]
    for name, section in manifest["sections"].items():
        share = 8 * section["bytes"] / weights
        print_line(
            console,
            f"  {name:14}at {section['offset']:>9,}  {section['bytes']:>9,} bytes"
            f"  {share:.3f} bits per weight",
        )


def print_packed_model(console: Console, files: Sequence[Path], index: dict[str, Any]) -> None:
    """Print where a model's images are, and how large they are by their bits."""
    print_line(console, f"{len(files)} files in {files[-1].parent}; index {files[-1].name}")
    for bits in sorted({one["bits"] for one in index["tensors"].values()}):
        tensors = [one for one in index["tensors"].values() if one["bits"] == bits]
        weights, size = (
            sum(values)
            for values in zip(
                *((one["k"] * one["n"], one["bytes"]) for one in tensors), strict=True
            )
        )
        print_line(
            console,
            f"  {len(tensors):>4} matrices of {bits} bits: {weights:>13,} weights,"
            f" {size:>13,} bytes, {8 * size / weights:.3f} bits per weight",
        )


def print_line(console: Console, text: str) -> None:
    """Print a line unwrapped; a terminal may wrap it."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def verification(design: Design, result: "Result", of: str = "verilog") -> dict[str, Any]:
    """Describe one run of a bench, of generated Verilog or of something else."""
    return {
        "design": design.module,
        "of": of,
        "ok": result.ok,
        "tests": result.tests,
        "failures": list(result.failed),
        "seconds": round(result.seconds, 3),
        "seed": result.seed,
        "junit": str(result.xml),
        "log": str(result.log),
        "waves": str(result.waves) if result.waves else None,
    }


def print_verification(
    console: Console, design: Design, result: "Result", of: str, failures: Sequence[str]
) -> None:
    """Print the outcome of a bench, and what is said of its failures."""
    of = "" if of == "verilog" else f" ({of})"
    style, word = ("green", "passed") if result.ok else ("red", "FAILED")
    console.print(
        f"[{style}]{word}[/{style}]  {design.module}{of}: {result.tests - result.failures} of"
        f" {result.tests} tests, {result.seconds:.1f} s, seed {result.seed}",
        highlight=False,
        soft_wrap=True,
    )
    for line in failures:
        print_line(console, f"          {line}" if line.startswith(" ") else f"  failed: {line}")
    for label, path in (("junit", result.xml), ("log", result.log), ("waves", result.waves)):
        if path is not None:
            print_line(console, f"  {label:6} {path}")
