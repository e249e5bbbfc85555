"""Changes of Python code that are likely to be faults: an operator or a number at a time."""

import ast
import copy
import functools
import hashlib
import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

__all__ = ["Mutant", "apply", "mutants", "sample"]

_OPERATORS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A change of a module.

    Members
    -------
    module : its path.
    function : the outermost function, or method, that is changed.
    line : where.
    change : the expression before and after.
    number : of the mutants with this name, which one.
    place : of all mutants of the module, which one.
    """

    module: str
    function: str
    line: int
    change: str
    number: int
    place: int

    @property
    def name(self) -> str:
        """A name that stays when other lines come or go."""
        more = f" ({self.number})" if self.number else ""
        return f"{self.module}: {self.function}: {self.change}{more}"


def mutants(module: str, text: str) -> Iterator[Mutant]:
    """Yield all mutants of a module's functions, in order."""
    seen: dict[tuple[str, str], int] = {}
    for place, (function, node, change) in enumerate(_places(ast.parse(text))):
        was, before = ast.unparse(node), copy.copy(node.__dict__)
        change(node)
        said = f"{was} -> {ast.unparse(node)}"
        node.__dict__.clear()
        node.__dict__.update(before)
        number = seen[function, said] = seen.get((function, said), -1) + 1
        yield Mutant(module, function, node.lineno, said, number, place)


def _places(tree: ast.Module) -> Iterator[tuple[str, Any, Callable[[Any], None]]]:
    """Yield each expression that can be changed, and how: a change of the tree, in place."""
    for function, body in _functions(tree):
        for node in _expressions(body):
            for change in _changes(node):
                yield function, node, change


def sample(every: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draw mutants by a seed: which ones depends on their names alone."""

    def rank(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed}\n{mutant.name}".encode()).digest()

    chosen = {mutant.name for mutant in sorted(every, key=rank)[:count]}
    return [mutant for mutant in every if mutant.name in chosen]


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inside in node.body:
                if isinstance(inside, ast.FunctionDef):
                    yield f"{node.name}.{inside.name}", inside


def _expressions(node: ast.AST) -> Iterator[Any]:
    """Yield what is computed: no annotations, no texts of errors or formats, no assertions."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "format_spec", "args"} and (
            name != "args" or isinstance(node, ast.FunctionDef | ast.Lambda)
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Raise | ast.Assert):
                if isinstance(child, ast.expr):
                    yield child
                yield from _expressions(child)


def _changes(node: ast.expr) -> Iterator[Callable[[Any], None]]:
    """Yield what may be wrong in an expression, each a function that changes it in place."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            if other := _OPERATORS.get(type(operator)):
                yield functools.partial(_compare, place=place, other=other())
    elif isinstance(node, ast.BinOp | ast.BoolOp):
        if other := _OPERATORS.get(type(node.op)):
            yield lambda one: setattr(one, "op", other())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        # What stands alone in its place: twice "not", or plus.
        plus = ast.UAdd() if isinstance(node.op, ast.USub) else None
        yield functools.partial(_unary, operator=plus)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = node.value
        wrong = not value if isinstance(value, bool) else value + 1 if value < 3 else 2 * value
        yield lambda one: setattr(one, "value", wrong)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        name = ast.copy_location(ast.Name(_CALLS[node.func.id], ast.Load()), node.func)
        yield lambda one: setattr(one, "func", name)


def _compare(node: ast.Compare, *, place: int, other: ast.cmpop) -> None:
    node.ops = [other if at == place else operator for at, operator in enumerate(node.ops)]


def _unary(node: ast.UnaryOp, *, operator: ast.unaryop | None) -> None:
    if operator is not None:
        node.op = operator
    else:
        node.operand = ast.copy_location(ast.UnaryOp(ast.Not(), node.operand), node)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def apply(mutant: Mutant) -> None:
    """Change the function in the loaded module, for all that have it."""
    module = importlib.import_module(mutant.module.removesuffix(".py").replace("/", "."))
    live: Any = module
    for part in mutant.function.split("."):
        live = vars(live)[part]
    while not isinstance(live, FunctionType):
        live = getattr(live, "fget", None) or getattr(live, "func", None) or live.__wrapped__
    tree = ast.parse(Path(mutant.module).read_text())
    _, node, change = next(itertools.islice(_places(tree), mutant.place, None))
    change(node)
    whole = compile(tree, live.__code__.co_filename, "exec")
    live.__code__ = next(
        code
        for code in _codes(whole)
        if (code.co_qualname, code.co_firstlineno)
        == (live.__code__.co_qualname, live.__code__.co_firstlineno)
    )
