"""Names that tools, shells and terminals take for something else."""

__all__ = ["MARK", "NAMES", "TOUCH"]

MARK = "hostile_mark"
"""A file that every one of the names below would make, were it run."""
TOUCH = f"touch {MARK}"
NAMES = (
    "a b", "a  b", " a", "a ", "a\tb", "a\nb", "a\rb", "a\x1b[31mb", "a\x07b", "a'b", 'a"b', "a`b",
    "''", '""', "a\\b", "\\", "a;b", "a#b", "a//b#", "a&b", "a|b", "a>b", "a<b", "a*b", "a?b",
    "a[b]", "[1]", "a{b}", "a}b", "{}", "a(b)", "$a", "${HOME}", "$HOME", "%a", "a%s", "{0}", "!a",
    "~", "~root", "-a", "--help", "-", "@a", "a=b", "a,b", "a:b", "a+b", "ä", "Größe", "数", "😀",
    "a\u202eb", "x" * 200,
    f"$({TOUCH})", f"`{TOUCH}`", f"; {TOUCH} ;", f"x ; exec -- {TOUCH} ; #", f"x\n!{TOUCH}",
    f"| {TOUCH}", f"&& {TOUCH}", f"a}}}} {{}}; exec {TOUCH}; {{", f"[exec {TOUCH}]",
    f"\\c}};{{*}}exec\\x20{TOUCH}",
)  # fmt: skip
