"""A model between two passes as text, a node a line, and as a picture."""

from collections.abc import Iterator
from html import escape

from onnx import NodeProto, helper

from carrysave.compiler.graph.code_table import CodeTable
from carrysave.compiler.graph.graph import DOMAIN
from carrysave.compiler.graph.names import key
from carrysave.compiler.lowered.lowered import Lowered
from carrysave.compiler.lowered.operands import Operands
from hw.emit.user_files import shown

__all__ = ["picture", "text"]

_LINE, _WIDTH, _LEFT, _MARGIN = 22, 460, 24, 12
"""Pixels: a node's height, its width, room on the left for numbers, and around all."""
_COLOURS = {"block": "#2b6cb0", "table": "#2f855a", "host": "#c05621"}


def text(lowered: Lowered) -> str:
    """Return a line for each input, node and output, in the order in which they run."""
    graph = lowered.now
    lines = [f"input   {shown(name, 200)}  {_of(lowered, name)}" for name in graph.inputs]
    for node in graph.nodes:
        names = [shown(name, 200) if name else "-" for name in node.input]
        made = [f"{shown(name, 200)} {_of(lowered, name)}".strip() for name in node.output if name]
        facts = "; ".join(_facts(lowered, node))
        line = f"{_where(lowered, node):<7} {_operator(lowered, node)} {shown(key(node), 200)}"
        line += f"  {', '.join(names)} -> {', '.join(made)}"
        lines.append(f"{line}  {{{facts}}}" if facts else line)
    lines += [f"output  {shown(name, 200)}" for name in graph.outputs]
    return "\n".join(lines) + "\n"


def picture(lowered: Lowered, title: str) -> str:
    """Draw the nodes in the order in which they run, and what goes from one to another, as SVG.

    Nodes of the block, tables and those of the host have colours of their own. What goes on to the
    next node is a short line; what goes further, an arc.
    """
    graph = lowered.now
    rows = [f"input {name}" for name in graph.inputs]
    kinds = ["" for _ in rows]
    at = {name: row for row, name in enumerate(graph.inputs)}
    links: list[tuple[int, int]] = []
    for node in graph.nodes:
        links += [(at[name], len(rows)) for name in dict.fromkeys(node.input) if name in at]
        at |= dict.fromkeys(filter(None, node.output), len(rows))
        rows.append(f"{_operator(lowered, node)} {key(node)}")
        kinds.append(_where(lowered, node))
    for name in graph.outputs:
        links += [(at[name], len(rows))] if name in at else []
        rows.append(f"output {name}")
        kinds.append("")
    reach = max((end - start for start, end in links), default=1)
    width = _LEFT + _WIDTH + 40 + min(400, 7 * reach)
    height = 2 * _MARGIN + _LINE * (len(rows) + 1)
    shapes = [f'<text x="{_MARGIN}" y="{_MARGIN + 8}" font-weight="bold">{escape(title)}</text>']
    legend = "".join(f'<tspan fill="{colour}"> {name}</tspan>' for name, colour in _COLOURS.items())
    shapes.append(f'<text x="{_LEFT + _WIDTH}" y="{_MARGIN + 8}" text-anchor="end">{legend}</text>')
    shapes += [line for start, end in links for line in _link(start, end)]
    for row, (words, kind) in enumerate(zip(rows, kinds, strict=True)):
        y = _top(row)
        stroke = _COLOURS.get(kind, "currentColor")
        shapes.append(
            f'<rect x="{_LEFT}" y="{y}" width="{_WIDTH}" height="{_LINE - 6}" rx="3"'
            f' fill="none" stroke="{stroke}"/>'
        )
        shapes.append(f'<text x="{_LEFT + 6}" y="{y + 12}">{escape(shown(words, 66))}</text>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        ' font-family="monospace" font-size="11" fill="currentColor" class="page-colours">'
    )
    return "\n".join([head, *shapes, "</svg>"]) + "\n"


def _top(row: int) -> int:
    return _MARGIN + _LINE * (row + 1)


def _link(start: int, end: int) -> Iterator[str]:
    """Yield the line from one row to another."""
    first, last = _top(start) + _LINE - 6, _top(end)
    style = 'fill="none" stroke="currentColor" stroke-opacity="0.5"'
    if end == start + 1:
        x = _LEFT + _WIDTH // 2
        yield f'<path d="M{x} {first} V{last}" {style}/>'
        return
    x, out = _LEFT + _WIDTH, 20 + min(400, 7 * (end - start))
    first, last = first - 8, last + 8
    yield f'<path d="M{x} {first} C{x + out} {first} {x + out} {last} {x} {last}" {style}/>'


def _where(lowered: Lowered, node: NodeProto) -> str:
    if node.domain != DOMAIN:
        return "host"
    table = lowered.of(node)
    is_table = isinstance(table, CodeTable) and table.rule is None
    return "table" if is_table else "block"


def _operator(lowered: Lowered, node: NodeProto) -> str:
    content = lowered.of(node)
    return shown(content.operator if isinstance(content, Operands) else node.op_type, 60)


def _facts(lowered: Lowered, node: NodeProto) -> Iterator[str]:
    """Yield what a node is besides its operator."""
    content = lowered.of(node)
    if isinstance(content, Operands):
        if content.weights is not None:
            yield f"weights {' x '.join(map(str, content.weights.shape))}"
        if content.windows is not None:
            sizes = content.windows
            yield f"kernel {sizes.kernel}, strides {sizes.strides}, dilations {sizes.dilations}"
        return
    if isinstance(content, CodeTable):
        entries = f"{content.values.size} entries of {content.values.dtype}"
        yield entries if content.rule is None else f"{content.rule.operation} of maps"
        return
    for one in node.attribute:
        if one.type not in (one.TENSOR, one.TENSORS, one.GRAPH, one.GRAPHS):
            value = helper.get_attribute_value(one)
            plain = value.decode(errors="replace") if isinstance(value, bytes) else value
            yield f"{one.name} {plain}"


def _of(lowered: Lowered, name: str) -> str:
    """Say of which type and shape a tensor is, where that is known."""
    kind, shape = lowered.graph.types.get(name), lowered.graph.shapes.get(name)
    sizes = (
        "" if shape is None else f"[{', '.join('?' if one is None else str(one) for one in shape)}]"
    )
    return " ".join(filter(None, ("" if kind is None else kind.name, sizes)))
