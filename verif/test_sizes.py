"""What counts the sizes of files and functions."""

from pathlib import Path

from verif.support import sizes


def test_sizes_are_counted(tmp_path: Path) -> None:
    """Of methods without their object, with docstrings, whatever is nested."""
    body = "\n".join(f"        x = {number}" for number in range(60))
    text = f"class A:\n    def f(self, a, b, /, c, *d, e, f, g, **h):\n{body}\n"
    for room in sizes.ROOMS:
        (tmp_path / room).mkdir()
    (tmp_path / "hw" / "a.py").write_text(text + "    def g(self, a, b, c, d, e, f, g, h): ...\n")
    (tmp_path / "golden" / "b.py").write_text(
        "def f(a, b, c, d, e, f, g, h, i): ...\n" + 250 * "\n"
    )
    assert sizes.larger(tmp_path) == {
        "file_lines": {"golden/b.py": 251},
        "function_lines": {"hw/a.py:f": 61},
        "parameters": {"golden/b.py:f": 9},
    }
