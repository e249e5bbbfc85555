"""The SPI flash of a board: an image of memory behind the bitstream, and how it is written."""

from dataclasses import dataclass
from pathlib import Path

from carrysave.boards.board import Board
from carrysave.errors import ArgumentError
from golden.soc.serial.flash_image import flash_image
from hw.catalog import Design

__all__ = ["FLASHES", "Flash", "check_bitstream", "flash_of", "image_of", "programs"]


@dataclass(frozen=True, kw_only=True)
class Flash:
    """The SPI flash of a board.

    Members
    -------
    bytes : of it, as LiteX's target of the board names the chip, or the board's maker.
    address : of the image; behind a bitstream that is not compressed, block RAM with it.
    bitstream : where the FPGA's configuration begins.
    loader : how openFPGALoader reaches it; a word in capitals is the user's to fill in.
    """

    bytes: int
    address: int
    bitstream: int = 0
    loader: str


_ULX3S = {
    f"ulx3s_{size}f": Flash(bytes=1 << 24, address=address, loader="-b ulx3s")
    for size, address in ((12, 1 << 20), (25, 1 << 20), (45, 2 << 20), (85, 3 << 20))
}
# Behind the bootloader and its bitstream; which writes no other place by its USB.
_ORANGECRAB = {
    f"orangecrab_{size}f": Flash(
        bytes=1 << 24, address=3 << 20, bitstream=1 << 19, loader="-c CABLE"
    )
    for size in (25, 85)
}
FLASHES = {
    **_ULX3S,
    **_ORANGECRAB,
    "colorlight_i5": Flash(bytes=1 << 21, address=1 << 20, loader="-b colorlight-i5"),
    "colorlight_i9": Flash(bytes=1 << 23, address=1 << 21, loader="-b colorlight-i9"),
}
"""By names of :data:`carrysave.boards.board.BOARDS`."""

WITHOUT = {
    **dict.fromkeys(
        ("ecpix5_45f", "ecpix5_85f"),
        "amaranth-boards and litex-boards name its two wires of data the other way round",
    ),
    **dict.fromkeys(
        ("tang_nano_9k", "tang_nano_20k"), "its pins are those by which the FPGA is configured"
    ),
}
"""Why boards with a flash have none here."""


def flash_of(board: str) -> Flash:
    """Return the flash of a board, by its name.

    Raises
    ------
    UsageError
        No design reads it: says why.
    """
    if board in FLASHES:
        return FLASHES[board]
    raise ArgumentError(
        "flash must be left out on {_board}: {_why}; it is read on {_others}",
        _board=board,
        _why=WITHOUT.get(board, "no design reads its flash"),
        _others=", ".join(FLASHES),
    )


def image_of(board: Board, design: Design, memory: bytes) -> bytes:
    """Return the image of a design's memory, for its board's flash.

    Raises
    ------
    UsageError
        Flash has no room for it: says the bytes that are needed, and those that are there.
    """
    room = flash_of(board.name).bytes - design.spec.flash
    image = flash_image(int(design.digest, 16), memory)
    if len(image) > room:
        raise ArgumentError(
            "the image of {model} needs {_needed:,} bytes of flash, and {_board} has {_room:,}"
            " from {_at:#x} on",
            _needed=len(image),
            _board=board.name,
            _room=max(room, 0),
            _at=design.spec.flash,
        )
    return image


def check_bitstream(board: Board, design: Design, size: int) -> None:
    """Check that a bitstream ends before the image.

    Raises
    ------
    UsageError
        It does not.
    """
    end = flash_of(board.name).bitstream + size
    if end > design.spec.flash:
        raise ArgumentError(
            "flash must be {_end:#x} or more on {_board}, where the bitstream ends, not {_at:#x}",
            _end=end,
            _board=board.name,
            _at=design.spec.flash,
        )


def programs(board: Board, design: Design, image: Path) -> str:
    """Return the command that writes an image into the board's flash."""
    loader = flash_of(board.name).loader
    return f"openFPGALoader {loader} -f -o {design.spec.flash:#x} {image}"
