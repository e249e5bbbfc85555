"""Exceptions of the driver."""

from .registers import ERRORS, RESPONSES

__all__ = ["CoprocessorError", "JobError", "JobTimeout", "LinkError"]


class CoprocessorError(RuntimeError):
    """The hardware is not what the driver expects, or does not respond as expected."""


class LinkError(CoprocessorError):
    """The line to the co-processor lost an access, or the device was reset and lost all it held.

    A register's access may have taken place. The link and the co-processor can be used again.
    """


class JobTimeout(CoprocessorError):
    """Jobs did not end in time; the co-processor was reset and can be used again.

    Parameters
    ----------
    done, jobs : how many ended, and how many there are.
    timeout : seconds.
    """

    def __init__(self, done: int, jobs: int, timeout: float) -> None:
        super().__init__(f"{done} of {jobs} jobs ended within {timeout:g} s")


class JobError(CoprocessorError):
    """A job was rejected or failed; the co-processor was reset and can be used again.

    If memory did not answer (a timeout in `name`), it can only be reset when memory has, see
    `lost` of the co-processor.

    Members
    -------
    code, name : the error, see the register ERROR.
    silent : memory did not answer.
    response : bus response, such as ``"SLVERR"``; ``"OKAY"`` if it was no bus error.
    address : of the failed burst; 0 if it was no error of memory.
    job : number of the job in the list that was run, from 0.
    """

    def __init__(self, code: int, response: int, address: int, job: int) -> None:
        self._given = code, response, address
        self.code = code
        self.name, meaning = ERRORS.get(code, ("unknown error", "The driver has no such code."))
        self.response = RESPONSES[response]
        self.address = address
        self.job = job
        self.silent = self.name.endswith(_SILENT)
        what = self.response if response else "no answer"
        where = f" ({what} at {address:#x})" if response or self.silent else ""
        super().__init__(f"job {job}: {self.name}{where}: {meaning}")

    def of_job(self, number: int) -> "JobError":
        """Return the same error for another job number."""
        return JobError(*self._given, number)


_SILENT = " timeout"
"""End of the names of errors of memory that did not answer."""
