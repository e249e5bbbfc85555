"""The matmul co-processor between streams."""

from typing import Any

from golden.soc.spec import CoprocessorStreamSpec
from hw.soc.coprocessor import Coprocessor

__all__ = ["CoprocessorStream"]


class CoprocessorStream(Coprocessor):
    """Multiplies matrices that stream through it: C = requantise(A x B + bias).

    Computes :func:`golden.soc.coprocessor_stream.coprocessor_stream`. Rows come and leave in the
    order of :func:`golden.soc.coprocessor_stream.rows`; there is no ring.

    Parameters
    ----------
    spec : CoprocessorStreamSpec
        What: engine, streams, stores.
    engine, number, digest
        As :class:`Coprocessor`'s.

    Members
    -------
    s_axi, interrupt
        As :class:`Coprocessor`'s.
    s_axis_a, s_axis_b : In(Axi4Stream)
        A and its scales; biases, requantisations, B and its scales.
    m_axis_c : Out(Axi4Stream)
        C.
    """

    SPEC = CoprocessorStreamSpec
    SUMMARY = "matmul co-processor around any engine, between AXI4-Streams of A, of B and of C"
    BENCH = "tb_coprocessor_stream"
    EVIDENCE = ("cocotb against numpy: random jobs, every beat; stalls, resets, illegal jobs",)
    ENGINE = "systolic_os"
    """The engine by default."""

    def __init__(self, spec: CoprocessorStreamSpec, **more: Any):
        if not isinstance(spec, CoprocessorStreamSpec):
            raise TypeError(f"spec must be a CoprocessorStreamSpec, not {spec!r}")
        super().__init__(spec, **more)
