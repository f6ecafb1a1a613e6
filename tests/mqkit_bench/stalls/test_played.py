"""mqkit_bench.stalls.played: an action on a broker, with the probe beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mqkit_bench.server import ReferenceServer, reference_server
from mqkit_bench.stalls.action import Action, Play
from mqkit_bench.stalls.catalogue import CATALOGUE, NOBODY
from mqkit_bench.stalls.neighbour import sync_beside
from mqkit_bench.stalls.played import compete, longest_turn_ms
from mqkit_bench.stalls.replaceable import ReplaceableBroker
from mqkit_bench.stalls.tenant import Tenant
from mqkit_bench.worker import Worker


@pytest.fixture
def neighbour(tmp_path: Path) -> Iterator[Worker]:
    with Worker(sync_beside, str(tmp_path)) as worker:
        worker.report()
        yield worker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ReplaceableBroker]:
    folders = iter(range(10))

    @contextmanager
    def start() -> Iterator[ReferenceServer]:
        folder = tmp_path / f"data{next(folders)}"
        folder.mkdir()
        with reference_server(folder) as server:
            yield server

    broker = ReplaceableBroker(start)
    yield broker
    broker.close()


def refused(tenant: Tenant) -> Play:
    session = tenant.session()

    def play() -> str:
        session.ready("no.such.queue")
        return ""

    return play


def never_prepared(_: Tenant) -> Play:
    raise ConnectionError("406 not like this")


@pytest.mark.slow
def test_plays_are_counted_and_refusals_are_remarks(
    broker: ReplaceableBroker, neighbour: Worker
) -> None:
    action = Action("refused", "a question for no queue", refused)
    standing = compete(broker, neighbour, action, scale=1.0, plays=2)
    assert len(standing.plays) == 2
    for play in standing.plays:
        assert play.is_answered
        assert play.transient.messages > 0
        assert "404" in play.remark


@pytest.mark.slow
def test_the_longest_turn_is_the_play_s_own(broker: ReplaceableBroker, neighbour: Worker) -> None:
    before_ms = longest_turn_ms(broker.contestant)
    assert before_ms is not None
    [play] = compete(broker, neighbour, CATALOGUE[NOBODY], scale=0.1, plays=1).plays
    assert play.longest_turn_ms is None or play.longest_turn_ms > before_ms


@pytest.mark.slow
def test_a_broker_that_could_not_be_prepared_is_replaced(
    broker: ReplaceableBroker, neighbour: Worker
) -> None:
    before = broker.contestant.pid
    standing = compete(broker, neighbour, Action("never", "", never_prepared), 1.0, 2)
    assert not standing.plays
    assert standing.why_not == "not played: ConnectionError: 406 not like this"
    assert broker.contestant.pid != before
