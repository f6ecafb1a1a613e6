"""mqkit_bench.worker: reports, failures, and an end in any case."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection

import pytest

from mqkit_bench.worker import Worker, WorkerFailed


def echo(pipe: Connection, prefix: str) -> None:
    while (word := pipe.recv()) != "end":
        pipe.send((os.getpid(), prefix + word))


def fail(_: Connection) -> None:
    raise ValueError("so it is")


def test_a_task_reports_from_another_process() -> None:
    with Worker(echo, "> ") as worker:
        worker.tell("one")
        worker.tell("two")
        pid, first = worker.report()
        assert (first, worker.report()) == ("> one", (pid, "> two"))
        assert pid != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_error_comes_with_the_report() -> None:
    with Worker(fail) as worker, pytest.raises(WorkerFailed, match="fail: ValueError: so it is"):
        worker.report()


def test_no_report_in_time_and_none_at_all() -> None:
    with Worker(echo, "") as worker:
        with pytest.raises(WorkerFailed, match="reported nothing for 0 s"):
            worker.report(timeout_s=0.01)
        worker.tell("end")
        with pytest.raises(WorkerFailed, match="ended without a report"):
            worker.report()
