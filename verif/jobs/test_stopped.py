"""A run that is stopped, as by Ctrl-Z or with its machine, goes on where it was."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from verif.jobs.test_cluster import ROOT, content

DRIVER = """
import sys
from carrysave import jobs
from verif.jobs import work
from verif.jobs.test_jobs import job

wanted = [job(work.slow, a=a, seconds=0.2, log=sys.argv[1]) for a in range(6)]
with jobs.session(jobs.Options(jobs=2)):
    print([outcome.get()["square"] for outcome in jobs.run(wanted, ordered=True)])
"""
STOPPED = 2.0
"""Seconds: more than the second within which whoever waits looks again."""


def test_a_run_that_was_stopped_goes_on(tmp_path: Path):
    log = tmp_path / "log"
    environment = {
        **os.environ,
        "CARRYSAVE_CACHE": str(tmp_path / "cache"),
        "CARRYSAVE_STORE": str(tmp_path / "store.sqlite"),
    }
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(log)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as driver:
        try:
            assert content(log)
            driver.send_signal(signal.SIGSTOP)
            time.sleep(STOPPED)
            assert len(log.read_text().splitlines()) < 6  # some are left to be handed out
            driver.send_signal(signal.SIGCONT)
            printed, _ = driver.communicate(timeout=30)
        finally:
            driver.kill()
    assert (driver.returncode, printed) == (0, "[0, 1, 4, 9, 16, 25]\n")
