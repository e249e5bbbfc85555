"""Scripts of ABC: a fixed list, and words of which a search puts more together.

A sweep tries all of the list, with the ways before it and the delay targets of
:mod:`carrysave.asic.search`.
"""

__all__ = ["MAPPERS", "MAPS", "PASSES", "SIZERS", "abc_script"]


def _sized(fan_out: int) -> str:
    """Return how mapped cells get buffers and sizes."""
    return f"topo; buffer -p -N {fan_out}; upsize -D {{D}}; dnsize -D {{D}}"


# Technology mapping and sizing in ABC; {D} is the delay target in ps. `map` sees one delay for
# every cell, times fan-in^B, so what differs is the structure it is given: `dch` collects
# structural choices, `&nf` and `&syn4` restructure first, `amap -m` keeps XORs and multiplexers
# and is the smallest.
_SIZE = _sized(16)
MAPS = {
    "dch2": f"strash; ifraig; dch -f; dch -f; map -B 0.9 -D {{D}}; {_SIZE}",
    "wide": f"strash; ifraig; dch -f; dch -f; map -B 0.5 -D {{D}}; {_SIZE}",
    "nf": "strash; ifraig; &get -n; &dch -f; &nf; &put; strash; dch -f; dch -f; "
    f"map -B 0.9 -D {{D}}; {_SIZE}",
    "syn": "strash; resub -K 8; strash; ifraig; &get -n; &dch -f; &nf; &put; strash; "
    f"&get -n; &syn4; &put; dch -f; map -B 1.0 -D {{D}}; {_sized(8)}",
    "resyn": "strash; ifraig; balance; rewrite; refactor; balance; rewrite; balance; dch -f; "
    f"map -B 0.9 -D {{D}}; {_SIZE}",
    "dch": "strash; dch; map -B 0.9 -D {D}; topo; buffer -c -N 16; upsize -D {D}; dnsize -D {D}",
    "amap": f"strash; dch -f; amap -m; {_SIZE}",
}

# What a search of recipes puts together: passes, then one mapper, then one way to size.
PASSES = {
    "ifraig": "strash; ifraig",
    "balance": "strash; balance",
    "rewrite": "strash; rewrite",
    "refactor": "strash; refactor",
    "resub": "strash; resub -K 8",
    "dc2": "strash; dc2",
    "sop": "strash; if -g; strash",
    "synch": "strash; &get -n; &synch2; &put",
    "syn": "strash; &get -n; &syn4; &put",
    "nf": "strash; &get -n; &dch -f; &nf; &put; strash",
    "dch": "dch -f",
}
MAPPERS = {
    **{f"map{b}": f"map -B {b} -D {{D}}" for b in ("1.0", "0.9", "0.7", "0.5")},
    "amap": "amap -m",
}
SIZERS = {f"fan{n}": _sized(n) for n in (8, 12, 16, 24)}


def abc_script(mapping: str) -> str:
    """Return the script of a mapping: its own, or that of passes, a mapper and a way to size.

    Raises
    ------
    ValueError
        It is no mapping.
    """
    if mapping in MAPS:
        return MAPS[mapping]
    *passes, mapper, sizer = mapping.split(",") if mapping.count(",") else ("", "")
    if not {*passes} <= {*PASSES} or mapper not in MAPPERS or sizer not in SIZERS:
        raise ValueError(
            f"a mapping must be one of {', '.join(MAPS)}, or passes ({', '.join(PASSES)}), one of"
            f" {', '.join(MAPPERS)} and one of {', '.join(SIZERS)}, with commas, not {mapping!r}"
        )
    return "; ".join(["strash", *(PASSES[word] for word in passes), MAPPERS[mapper], SIZERS[sizer]])
