"""Registers between the steps of a rounding."""

from amaranth import Module, Signal, Value

from hw.npe.rounding.normalised import Cut

__all__ = ["registers"]


def registers(m: Module, move: Value, name: str) -> Cut:
    """Make a register place: registers without reset, enabled by `move`."""
    count = 0

    def cut(*values: Value) -> tuple[Value, ...]:
        nonlocal count
        crossed = []
        for value in values:
            register = Signal(value.shape(), name=f"{name}{count}", reset_less=True)
            with m.If(move):
                m.d.sync += register.eq(value)
            count += 1
            crossed.append(register)
        return tuple(crossed)

    return cut
