"""Writes the LEF abstract of a routed die: a block with pins, and all else blocked."""

from typing import Any

__all__ = ["write_abstract"]


def write_abstract(shapes: dict[str, Any]) -> str:
    """Return LEF of :func:`carrysave.asic.routing.shapes.shapes_of`.

    Each layer with metal of the block is blocked over the whole of it; pins lie within that.
    """
    wide, high = shapes["size"]
    lines = [
        "VERSION 5.8 ;",
        'BUSBITCHARS "[]" ;',
        'DIVIDERCHAR "/" ;',
        f"MACRO {shapes['top']}",
        "  CLASS BLOCK ;",
        "  ORIGIN 0 0 ;",
        f"  SIZE {_um(wide)} BY {_um(high)} ;",
        "  SYMMETRY X Y ;",
    ]
    pins: dict[tuple[str, str, str], list[tuple[str, list[float]]]] = {}
    for name, way, use, layer, box in shapes["ports"]:
        pins.setdefault((name, way, use), []).append((layer, box))
    for (name, way, use), places in pins.items():
        lines += [f"  PIN {name}", f"    DIRECTION {way} ;", f"    USE {use} ;"]
        for layer, box in places:
            lines += ["    PORT", f"      LAYER {layer} ;", _rect(box), "    END"]
        lines.append(f"  END {name}")
    lines.append("  OBS")
    for layer in shapes["layers"]:
        lines += [f"      LAYER {layer} ;", _rect((0.0, 0.0, wide, high))]
    return "\n".join([*lines, "  END", f"END {shapes['top']}", "END LIBRARY", ""])


def _rect(box: Any) -> str:
    return f"      RECT {' '.join(map(_um, box))} ;"


def _um(length: float) -> str:
    return f"{length:.4f}".rstrip("0").rstrip(".")
