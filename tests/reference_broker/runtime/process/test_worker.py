"""The worker: jobs one after another, results on the loop, and an end that is waited for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from reference_broker.runtime.process.worker import Worker

WAIT_S = 20


class Loop:
    """Stands in for the event loop: callbacks wait until they are run."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.worker = Worker("test", self.calls.put)

    def run_one(self) -> None:
        self.calls.get(timeout=WAIT_S)()


def test_results_come_back_in_order_and_not_on_the_thread() -> None:
    loop = Loop()
    results: list[object] = []
    threads: set[int] = set()

    def work(number: int) -> int:
        threads.add(threading.get_ident())
        return number * 10

    for number in range(5):
        loop.worker.submit(lambda number=number: work(number), results.append)  # type: ignore[misc]
    for _ in range(5):
        loop.run_one()
    assert results == [0, 10, 20, 30, 40]
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    loop.worker.close()


def test_an_exception_is_a_result_and_the_thread_goes_on() -> None:
    loop = Loop()
    results: list[object] = []
    error = OSError("gone")

    def broken() -> None:
        raise error

    loop.worker.submit(broken, results.append)
    loop.worker.submit(lambda: "next", results.append)
    loop.run_one()
    loop.run_one()
    assert results == [error, "next"]
    loop.worker.close()


def test_close_waits_for_the_job_under_way_and_drops_the_rest() -> None:
    loop = Loop()
    begun, go_on = threading.Event(), threading.Event()
    done: list[object] = []

    def slow() -> None:
        begun.set()
        assert go_on.wait(WAIT_S)
        done.append("slow")

    loop.worker.submit(slow, lambda _: done.append("reported"))
    loop.worker.submit(lambda: done.append("never begun"), done.append)
    assert begun.wait(WAIT_S)
    closing = threading.Thread(target=loop.worker.close)
    closing.start()
    go_on.set()
    closing.join(WAIT_S)
    assert not closing.is_alive()
    loop.worker.submit(lambda: done.append("after the end"), done.append)
    loop.worker.close()
    while not loop.calls.empty():
        loop.run_one()
    assert done == ["slow"]


def test_a_closed_loop_ends_the_thread() -> None:
    refused = threading.Event()

    def closed(callback: Callable[[], None]) -> None:
        refused.set()
        raise RuntimeError("Event loop is closed")

    worker = Worker("test", closed)
    worker.submit(lambda: None, lambda result: pytest.fail(f"{result}"))
    assert refused.wait(WAIT_S)
    worker.close()
