"""The words of a job that say what its windows are."""

from amaranth.lib import data

__all__ = ["WindowLayout"]


class WindowLayout(data.StructLayout):
    """Windows of a map, in the words A_SCALES and B_SCALES of a job.

    Sizes are less one, but for ``channels``. ``top`` and ``left`` are the row and the column of
    the first tap, 0 or less, of whose two's complement the sign is not there: it is set if any bit
    is. Steps are down and across (``s``) from window to window, and (``d``) from tap to tap.
    """

    def __init__(self):
        super().__init__({
            "height": 16,
            "width": 16,
            "across": 16,
            "channels": 16,
            "kh": 8,
            "kw": 8,
            "top": 8,
            "left": 8,
            "sy": 4,
            "sx": 4,
            "dy": 4,
            "dx": 4,
            "fill": 8,
            "none": 8,
        })
