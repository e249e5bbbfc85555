"""What a board says to a host that asks for memory at once."""

from carrysave.sim.cocotb.serial_line import SerialLine
from golden.soc.serial.host_link import HostLinkFormat, frame

__all__ = ["early_status"]


async def early_status(line: SerialLine) -> int:
    """Claim the board and read a byte, as soon as it can be; return the status."""
    answer = b""
    await line.wait(10)  # for the reset
    for code in (HostLinkFormat.CLAIM, HostLinkFormat.READ):
        await line.send(frame(bytes([code, 0, 0, 0, code, code == HostLinkFormat.READ, 0, 0, 0])))
        answer = await line.take(9)
    return answer[3]
