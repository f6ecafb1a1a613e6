"""Calls into the broker's thread."""

from __future__ import annotations

import threading

import pytest

from mqkit.testing.in_process.broker_thread import BrokerThread
from reference_broker.core.broker import Broker


def fail(_: object = None) -> None:
    raise LookupError("nothing there")


def test_a_step_runs_on_the_thread_and_returns() -> None:
    thread = BrokerThread.of_process()
    assert thread.run(threading.current_thread).name == "mqkit broker"
    assert thread.perform(lambda broker: broker.node_name).startswith("mqkit@")


def test_an_error_of_a_step_is_its_callers() -> None:
    thread = BrokerThread.of_process()
    with pytest.raises(LookupError):
        thread.run(fail)
    with pytest.raises(LookupError):
        thread.perform(fail)
    assert thread.run(lambda: 1) == 1


def test_there_is_one_in_a_process() -> None:
    assert BrokerThread.of_process() is BrokerThread.of_process()


def test_a_longer_step_is_waited_for() -> None:
    thread = BrokerThread.of_process()
    thread.perform(lambda broker: broker.add_vhost("for a moment"))

    def delete(broker: Broker, done: object) -> None:
        assert callable(done)
        broker.delete_vhost("for a moment", done)

    thread.begin(delete)
    assert thread.perform(lambda broker: "for a moment" not in broker.vhosts)
