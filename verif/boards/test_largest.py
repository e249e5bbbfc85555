"""Designs that do not fit: what of them does."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carrysave.boards import build as builds
from carrysave.boards import largest as sizes
from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.build import TooLargeError, build
from verif.support.cases import long


def quiet(text: str) -> None:
    """Say nothing."""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Count look-up tables by MACs, in place of mapping."""

    def sized(board: Any, given: Mapping[str, str], **more: Any) -> Any:
        design = design_of(board, given, **more)
        inside = design.spec.inside
        module = f"_m{inside.m}_n{inside.n}"
        return SimpleNamespace(module=module, spec=design.spec, component=design.component)

    def mapping(board: Any, module: str, *rest: Any) -> tuple[dict[str, float], dict[str, int]]:
        m, n = map(int, re.findall(r"\d+", module))
        limit = board.part.capacity["luts"]
        taken = dict.fromkeys(board.part.capacity, 0.0) | {"luts": 3000.0 + 500 * m * n}
        if taken["luts"] > limit:
            raise TooLargeError(f"{module}: {taken['luts']:,.0f} luts of {limit:,}", taken)
        return taken, {}

    def given() -> None:
        for module in (builds, sizes):
            monkeypatch.setattr(module, "map_whole", mapping)
            monkeypatch.setattr(module, "design_of", sized)
            monkeypatch.setattr(module, "verilog_of", lambda design: "")
            monkeypatch.setattr(module, "top", lambda *rest, **more: "")

    return given


@pytest.mark.parametrize("mapped", [False, *long([True])])
def test_design_that_is_too_large(
    tmp_path: Path, counted: Callable[[], None], mapped: bool
) -> None:
    """Says by how much, and what fits; in the short run with counts in place of mapping."""
    board = BOARDS["ice40_hx8k_b_evn"]
    if not mapped:
        counted()
    with pytest.raises(TooLargeError) as caught:
        build(board, {"m": "9", "n": "9", "sums": "128"}, tmp_path, quiet)
    assert re.search(r"[\d,]+ luts of 7,680.*; m=\d, n=\d fits", str(caught.value))
    if not mapped:
        assert str(caught.value).endswith("m=3, n=3 fits")  # 7,500 look-up tables, of 7,680
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("9", "39,000 luts of 24,288; m=5, n=8 fits"),
        ("6", "27,000 luts of 24,288; m=5, n=8 fits"),
    ],
)
def test_too_large_with_columns_that_must_stay(
    tmp_path: Path, counted: Callable[[], None], rows: str, says: str
) -> None:
    """Eight requantisers are of eight columns: fewer rows are tried."""
    counted()
    given = {"m": rows, "n": "8", "sums": "1152", "requantisers": "8"}
    with pytest.raises(TooLargeError) as caught:
        build(BOARDS["ulx3s_25f"], given, tmp_path, quiet)
    assert str(caught.value).endswith(says)


def test_smallest_design_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no other to try."""

    def refuse(*rest: Any) -> None:
        raise TooLargeError("too large", {"luts": 9999})

    monkeypatch.setattr(builds, "_built", refuse)
    with pytest.raises(TooLargeError, match=r"^too large; there is no smaller one$"):
        build(BOARDS["ice40_hx8k_b_evn"], {}, tmp_path, quiet)
