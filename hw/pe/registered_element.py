"""Operand registers in front of an element, from which its neighbours take theirs."""

from amaranth import Signal
from amaranth.lib import data
from amaranth.lib.wiring import Out

from hw.lib.shared_module import SharedModule
from hw.pe.element import SumModule

__all__ = ["RegisteredElement"]


class RegisteredElement(SharedModule):
    """An element with operand registers, from which its neighbours take their operands.

    Parameters
    ----------
    element : SumModule
        The element behind the registers.

    Members
    -------
    en, o_done, o : as the element's
    i_a, i_b, i_clear : In
        As the element's, one cycle earlier.
    o_a, o_b, o_clear : Out
        The same, one cycle later.
    """

    ahead = 0
    """As of :class:`SumModule`: all of ``i_b`` comes at once."""

    en: Signal
    i_a: Signal
    i_b: Signal
    i_clear: Signal
    o_a: Signal
    o_b: Signal
    o_clear: Signal
    o_done: Signal
    o: data.View

    def __init__(self, element: SumModule):
        self.element = element
        self.module = element.module
        self.layout = element.layout
        self.pipeline = element.pipeline
        a, b = len(element.i_a), len(element.i_b)
        super().__init__({
            **element.signature.members,
            "o_a": Out(a),
            "o_b": Out(b),
            "o_clear": Out(1),
        })

    def elaborate(self, platform):
        element = self.element
        m = element.elaborate(platform)
        with m.If(self.en):
            m.d.sync += [
                self.o_a.eq(self.i_a),
                self.o_b.eq(self.i_b),
                self.o_clear.eq(self.i_clear),
            ]
        m.d.comb += [
            element.en.eq(self.en),
            element.i_a.eq(self.o_a),
            element.i_b.eq(self.o_b),
            element.i_clear.eq(self.o_clear),
            self.o_done.eq(element.o_done),
            self.o.as_value().eq(element.o.as_value()),
        ]
        return m
