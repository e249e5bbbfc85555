"""Driver of the matmul co-processor: numpy in, numpy out. It needs only numpy, from Python 3.10 on.

For a board, :func:`carrysave.ip.driver_sources.python` writes this package without the
generators.
"""

from .coprocessor import Coprocessor
from .descriptor import descriptor, descriptors
from .device_info import Counters, Info, VectorInfo
from .errors import CoprocessorError, JobError, JobTimeout, LinkError
from .job import Job, Requantisation
from .maps import Maps
from .matrix import Matrix, Product
from .mode import Mode
from .number import Number
from .stream import CoprocessorStream
from .vector import VectorWork
from .window import Window

__all__ = [
    "Coprocessor",
    "CoprocessorError",
    "CoprocessorStream",
    "Counters",
    "Info",
    "Job",
    "JobError",
    "JobTimeout",
    "LinkError",
    "Maps",
    "Matrix",
    "Mode",
    "Number",
    "Product",
    "Requantisation",
    "VectorInfo",
    "VectorWork",
    "Window",
    "descriptor",
    "descriptors",
]
