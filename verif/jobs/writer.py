"""Writes to a store, as a driver of its own: ``python -m verif.jobs.writer STORE FIRST COUNT``."""

import sys

from carrysave import jobs
from verif.jobs import work

__all__ = ["write"]


def write(store: str, first: int, count: int) -> None:
    """Write results of numbers from `first` on, with new columns on the way."""
    with jobs.Store(store) as database:
        for number in range(first, first + count):
            job = jobs.Job(function=work.add, arguments={"a": number, "b": 0}, content=["writer"])
            value = {"number": number, f"figure{number % 37}": number, "design": "adder"}
            outcome = jobs.Outcome(job=job, key=f"key{number}", value=value, who="me@here")
            database.add(outcome)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
