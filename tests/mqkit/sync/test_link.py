"""mqkit.sync.link: connecting, the topology at each connect, and the thread that does it."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mqkit.sync
from mqkit.errors import ConfigurationError, ConnectionRefused
from mqkit.outcome import Outcome, Unknown

SOON_S = 0.001


def link_of(app: mqkit.sync.App) -> Any:
    return app._own.caller._link


@pytest.fixture
def topology(tmp_path: Path, name: str, direct: Any) -> Path:
    file = tmp_path / "topology.yaml"
    file.write_text(f"exchanges:\n  {name}: {{type: topic}}\nqueues:\n  {name}:\n"
                    f"    bind: [{{from: {name}, key: '#'}}]\n")  # fmt: skip
    return file


def soon(url: str) -> mqkit.Settings:
    return mqkit.Settings.load(urls=url, reconnect_first_s=0.01, reconnect_max_s=0.05)


def test_nothing_is_opened_before_the_first_publish(faults: Any, name: str, direct: Any) -> None:
    with mqkit.sync.App(faults.url) as app:
        assert faults.accepted == 0
        assert link_of(app).describe() == "connecting"
        assert app.publish("", name, b"x")
        assert link_of(app).describe() == "ready"
    assert faults.accepted == 1


@pytest.mark.parametrize("transport", ["native", "pika"])
def test_the_topology_is_declared_at_each_connect(
    faults: Any,
    direct: Any,
    name: str,
    topology: Path,
    transport: str,
    until: Callable[[Callable[[], bool]], None],
) -> None:
    with mqkit.sync.App(settings=soon(faults.url), topology=topology, transport=transport) as app:
        assert app.publish(name, "k", b"x")
        direct.exchange_delete(name)
        faults.act("cut")
        until(lambda: link_of(app).describe() != "ready")
        assert app.publish(name, "k", b"y")
    direct.exchange_delete(name)


def test_what_the_broker_will_not_declare_is_told_and_the_rest_goes_on(
    faults: Any, direct: Any, name: str, topology: Path, caplog: pytest.LogCaptureFixture
) -> None:
    direct.exchange_declare(name, "fanout", durable=True)
    with mqkit.sync.App(settings=soon(faults.url), topology=topology) as app:
        assert app.publish("", name, b"x")
    told = [record.getMessage() for record in caplog.records]
    assert any(f"{name} is not declared: 406" in line for line in told), told
    direct.exchange_delete(name)


def test_the_next_host_is_asked_where_one_does_not_answer(
    faults: Any, direct: Any, name: str, unused_port: int
) -> None:
    with mqkit.sync.App([f"amqp://127.0.0.1:{unused_port}/", faults.url]) as app:
        assert app.publish("", name, b"x")


def test_a_refused_login_is_raised_at_once_and_asked_for_again_later(
    broker_url: str, name: str
) -> None:
    wrong = broker_url.replace("guest:guest", "guest:wrong")
    with mqkit.sync.App(settings=soon(wrong)) as app:
        for _ in range(2):
            with pytest.raises(ConnectionRefused, match="403"):
                app.publish("", name, b"x")


def test_nobody_tries_to_connect_while_nobody_publishes(
    faults: Any, name: str, until: Callable[[Callable[[], bool]], None]
) -> None:
    faults.act("refuse")
    with mqkit.sync.App(settings=soon(faults.url)) as app:
        assert isinstance(app.publish("", name, b"x", deadline=0.05), Unknown)
        until(lambda: link_of(app)._mender is None)


def test_failed_attempts_are_told_a_few_times(
    faults: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    faults.act("refuse")
    with mqkit.sync.App(settings=soon(faults.url)) as app:
        app.publish("", name, b"x", deadline=0.5)
    lines = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert faults.accepted > 3
    assert len([r for r in lines if "can't connect, trying again" in r.getMessage()]) == 3


def test_a_closed_channel_is_opened_again(
    faults: Any, direct: Any, name: str, until: Callable[[Callable[[], bool]], None]
) -> None:
    with mqkit.sync.App(settings=soon(faults.url)) as app:
        for _ in range(5):
            assert not app.publish(f"{name}-missing", "k", b"x")
        assert app.publish("", name, b"x")
        until(lambda: all(lane.channel.is_open for lane in link_of(app)._lanes))
        until(lambda: link_of(app)._mender is None)
    assert faults.accepted == 1


def test_a_signal_handler_may_publish_wherever_it_comes(
    faults: Any, direct: Any, name: str
) -> None:
    """It is told so where it has interrupted the connection itself, and nothing hangs."""
    app = mqkit.sync.App(faults.url)
    outcomes: list[Outcome | None] = []

    def publish(*_: object) -> None:
        try:
            outcomes.append(app.publish("", name, b"signal", deadline="10s"))
        except ConfigurationError:
            outcomes.append(None)
        signal.setitimer(signal.ITIMER_REAL, SOON_S)

    assert app.publish("", name, b"x")
    before = signal.signal(signal.SIGALRM, publish)
    signal.setitimer(signal.ITIMER_REAL, SOON_S)
    try:
        while len(outcomes) < 100:
            assert app.publish("", name, b"main", deadline="20s")
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        app.close()
    assert all(outcome is None or outcome for outcome in outcomes)
    assert any(outcomes)
