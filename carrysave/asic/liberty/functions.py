"""Compiles the Boolean functions of Liberty files."""

import functools
import re
from collections.abc import Callable

__all__ = ["Evaluate", "compile_function"]

_TOKENS, _BRACKETS = 256, 32

Evaluate = Callable[[dict[str, int]], int]


@functools.cache
def compile_function(function: str, names: frozenset[str]) -> Evaluate | None:
    """Return an evaluator of a Liberty Boolean expression.

    None if a name is not an input, or if it is no expression, or longer than any gate's.
    """
    tokens = re.findall(r"[A-Za-z_][\w\[\]]*|[01]|[!'&*|+^()]|\S", function)
    # The functions below call each other as deeply as brackets are nested.
    if len(tokens) > _TOKENS or tokens.count("(") > _BRACKETS:
        return None
    for token in tokens:
        if token[0].isalpha() and token not in names:
            return None

    def either(at: int) -> tuple[Evaluate, int]:
        left, at = both(at)
        while at < len(tokens) and tokens[at] in "|+":
            right, at = both(at + 1)
            left = functools.partial(lambda x, y, v: x(v) | y(v), left, right)
        return left, at

    def both(at: int) -> tuple[Evaluate, int]:
        left, at = differ(at)
        while at < len(tokens) and tokens[at] not in "|+)":
            right, at = differ(at + (tokens[at] in "&*"))
            left = functools.partial(lambda x, y, v: x(v) & y(v), left, right)
        return left, at

    def differ(at: int) -> tuple[Evaluate, int]:
        left, at = one(at)
        while at < len(tokens) and tokens[at] == "^":
            right, at = one(at + 1)
            left = functools.partial(lambda x, y, v: x(v) ^ y(v), left, right)
        return left, at

    def one(at: int) -> tuple[Evaluate, int]:
        token = tokens[at]
        if token not in names and token not in ("!", "(", "0", "1"):
            raise IndexError
        if token == "!":
            inner, at = one(at + 1)
            return functools.partial(lambda x, v: 1 - x(v), inner), at
        if token == "(":
            result, at = either(at + 1)
            if tokens[at] != ")":
                raise IndexError
        elif token in "01":
            result = functools.partial(lambda x, v: x, int(token))
        else:
            result = functools.partial(lambda x, v: v[x], token)
        at += 1
        while at < len(tokens) and tokens[at] == "'":
            result, at = functools.partial(lambda x, v: 1 - x(v), result), at + 1
        return result, at

    try:
        result, at = either(0)
    except IndexError:
        return None
    return result if at == len(tokens) else None
