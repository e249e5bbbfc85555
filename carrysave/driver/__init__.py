"""Driver of the matmul co-processor: numpy in, numpy out. It needs numpy alone, on Python 3.10.

For a board, :func:`carrysave.integration.driver_sources.python` writes this package without the
generators.
"""

from .codes import Number
from .coprocessor import Coprocessor
from .errors import CoprocessorError, JobError, JobTimeout
from .info import Counters, Info
from .job import Job, Requantisation, descriptor
from .matrix import Matrix, Product
from .mode import Mode
from .stream import CoprocessorStream

__all__ = [
    "Coprocessor",
    "CoprocessorError",
    "CoprocessorStream",
    "Counters",
    "Info",
    "Job",
    "JobError",
    "JobTimeout",
    "Matrix",
    "Mode",
    "Number",
    "Product",
    "Requantisation",
    "descriptor",
]
