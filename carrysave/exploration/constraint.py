"""Constraints of a space: expressions of other people, bounded in size and time."""

import ast
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from carrysave.errors import UsageError

__all__ = ["CONSTRAINTS", "STEPS", "Constraint"]

CONSTRAINTS = 100
"""Of a space."""
STEPS = 20_000_000
"""Of all constraints in all combinations of a space: a minute."""


@dataclass(frozen=True)
class Constraint:
    """An expression that must be true, over parameters and figures.

    Members
    -------
    names : that it uses.
    steps : of names, numbers and operators.
    """

    text: str
    names: frozenset[str]
    steps: int

    @classmethod
    def parse(cls, text: object) -> "Constraint":
        """Read an expression of comparisons, arithmetic, ``and``, ``or``, ``not``.

        Raises
        ------
        UsageError
            It is none, or does more than that.
        """
        try:
            if not isinstance(text, str):
                raise SyntaxError
            if len(text) > _CHARACTERS:
                raise UsageError(
                    f"constraint must have at most {_CHARACTERS:,} characters, not {len(text):,}"
                )
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise UsageError(f"constraint must be an expression, not {text!r}") from None
        for node in ast.walk(tree):
            if not isinstance(node, _PLAIN):
                what = type(node).__name__
                raise UsageError(
                    f"constraint must be of names, numbers and operators: {text!r} has {what}"
                )
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        return cls(text, frozenset(names), sum(1 for _ in ast.walk(tree)))

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Return whether it is true of values; where one is None or missing, it is not.

        Raises
        ------
        UsageError
            Its operators are not for these values.
        """
        from simpleeval import DEFAULT_OPERATORS, EvalWithCompoundTypes, InvalidExpression

        if any(values.get(name) is None for name in self.names):
            return False
        try:
            return bool(
                EvalWithCompoundTypes(
                    names=dict(values), functions={}, operators=DEFAULT_OPERATORS | _bounded()
                ).eval(self.text)
            )
        except ZeroDivisionError:
            return False
        except (InvalidExpression, TypeError, ValueError, OverflowError, MemoryError) as error:
            raise UsageError(f"constraint {self.text!r}: {error}") from None


_CHARACTERS = 1000
"""Of a constraint."""
_BITS = 4096
"""Of each number in between: a product of few long ones would take all memory."""
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def _bounded() -> dict[type[ast.operator], Callable[[Any, Any], Any]]:
    """Return arithmetic of numbers alone, none of them longer than a space needs."""

    def of(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        for value in (a, b):
            if not isinstance(value, int | float):
                raise TypeError(f"arithmetic must be of numbers, not of {value!r:.40}")
            if isinstance(value, int) and value.bit_length() > _BITS:
                raise ValueError(f"numbers must have at most {_BITS:,} bits")
        return function(a, b)

    return {kind: functools.partial(of, function) for kind, function in _ARITHMETIC.items()}


_PLAIN = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Add,
    ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Compare, ast.Eq, ast.NotEq, ast.Lt,
    ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Name, ast.Load, ast.Constant, ast.Tuple,
    ast.List,
)  # fmt: skip
