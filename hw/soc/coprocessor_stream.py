"""The matmul co-processor between streams."""

from typing import Any, ClassVar

from golden.check import Parameter
from golden.soc.spec import CoprocessorStreamSpec
from hw.soc.coprocessor import Coprocessor

__all__ = ["CoprocessorStream"]


class CoprocessorStream(Coprocessor):
    """Multiplies matrices from streams: C = requantise(A x B + bias).

    Computes :func:`golden.soc.coprocessor_stream.coprocessor_stream`. Rows enter and leave in
    the order of :func:`golden.soc.coprocessor_stream.rows`; there is no ring.

    Parameters
    ----------
    spec : CoprocessorStreamSpec
        What: engine, streams, stores.
    engine, number, digest
        As in :class:`~hw.soc.coprocessor.Coprocessor`.

    Members
    -------
    s_axi, interrupt
        As in :class:`~hw.soc.coprocessor.Coprocessor`.
    s_axis_a, s_axis_b : In(Axi4Stream)
        A and its scales; biases, requantisations, B and its scales.
    m_axis_c : Out(Axi4Stream)
        C.

    Examples
    --------
    >>> from hw.catalog import Design
    >>> block = Design("coprocessor_stream", {"engine": "systolic_os(m=4,n=4)"}).component()
    >>> sorted(block.signature.members)
    ['interrupt', 'm_axis_c', 's_axi', 's_axis_a', 's_axis_b']
    """

    SPEC = CoprocessorStreamSpec
    SUMMARY = "matmul co-processor, any engine inside, with AXI4-Streams for A, B and C"
    BENCH = "tb_coprocessor_stream"
    EVIDENCE = ("cocotb against numpy: random jobs, every beat; stalls, resets, illegal jobs",)
    ENGINE = "systolic_os"
    """The default engine."""
    VECTOR = None
    """Rows of vector jobs are in memory."""

    # Without the parameters of m_axi.
    BUILD: ClassVar[dict[str, Parameter]] = {
        name: kind for name, kind in Coprocessor.BUILD.items() if name != "id_width"
    }

    def __init__(self, spec: CoprocessorStreamSpec, **more: Any):
        if not isinstance(spec, CoprocessorStreamSpec):
            raise TypeError(f"spec must be a CoprocessorStreamSpec, not {spec!r}")
        super().__init__(spec, **more)
