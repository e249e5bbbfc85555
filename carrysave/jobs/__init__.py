"""The one way to run a long list of jobs: in this machine, or on a cluster of dask.distributed.

A job is a function of a module and plain arguments. Its key is the digest of all that the result
depends on, so what was done once, by whomever, is not done again: a run that was interrupted goes
on when it is called again. Results go to the cache of the worker, before it says that it is done,
and then to one store (:mod:`carrysave.jobs.store`), a row each.

    from carrysave import jobs

    wanted = [
        jobs.Job(
            function=measure,                       # module level; returns plain data (JSON)
            arguments={"design": "mac", "width": w},  # plain data, and jobs.File(path)
            tools=(yosys.version, sta.version),     # versions: of the key, and the same on workers
            label=f"mac, {w} bits",
            facts={"design": "mac", "parameters": {"width": w}, "kind": "explore"},
        )
        for w in range(2, 9)
    ]
    with jobs.session(jobs.Options(scheduler=None, jobs=2, progress=steps.jobs)):
        for outcome in jobs.run(wanted):            # as they come; ordered=True: as listed
            if outcome.failure:
                print(outcome.failure, outcome.failure.log)
            else:
                use(outcome.value)                  # or outcome.get(), which raises

- A result that is a dict with ``design parameters target recipe versions`` and figures fills the
  columns of its row; `facts` add to them.
- ``content=None`` makes all of carrysave's source part of the key; give ``content=[...]`` if you
  know better what the result depends on.
- Without a session, `run` makes one for itself. Inner sessions are the outer one.
- The worker's function may itself call `run`: its jobs are then done in its own process.
- A job is killed, with all processes that it started, when it meets a limit of time or memory
  (``Options.seconds``, ``.memory``; ``Job.seconds``, ``.memory``), when its worker dies, and when
  nobody wants it any more. ``CancelledError`` and the like never reach the caller.
- Functions of ``__main__`` are refused: workers could not find them.

``jobs.select(path, where)`` reads the store, and ``jobs.reading(path)`` a part at a time;
``jobs.default_path()`` is where it is.
"""

from carrysave.jobs.job import File, Job, Tool, source_digest
from carrysave.jobs.options import Options, cores
from carrysave.jobs.outcome import Failure, Outcome
from carrysave.jobs.reader import Reader, reading, select
from carrysave.jobs.runner import run, session
from carrysave.jobs.store import Store, default_path, place_of
from carrysave.jobs.window import ATTEMPTS
from carrysave.progress import Tally

__all__ = [
    "ATTEMPTS",
    "Failure",
    "File",
    "Job",
    "Options",
    "Outcome",
    "Reader",
    "Store",
    "Tally",
    "Tool",
    "cores",
    "default_path",
    "place_of",
    "reading",
    "run",
    "select",
    "session",
    "source_digest",
]
