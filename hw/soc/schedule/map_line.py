"""Rows of a map that depthwise jobs read, and what is done with each."""

from amaranth import signed
from amaranth.lib import data

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.window_place import SIDE

__all__ = ["MapLine"]


class MapLine(data.StructLayout):
    """A row of the map that is read for a row of windows.

    Members
    -------
    void : it stands for one beyond the edges.
    first, last : of those of its windows; where rows are read once, of the ones that begin, and of
        those that end.
    shifts : it ends a step of rows of windows: sums are stored for the row after theirs.
    weight : place of its weights.
    windows : how many, less one.
    before : columns from the map's first one to the last tap of the first window.
    """

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        super().__init__({
            "void": 1,
            "first": 1,
            "last": 1,
            "shifts": int(spec.tap_rows > 1),
            "weight": range(spec.vector.beats),
            "windows": SIDE,
            "before": signed(14),
        })
