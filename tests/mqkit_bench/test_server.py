"""mqkit_bench.server: a process that is stopped, killed and started again on the same data."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mqkit_bench.filler import fill
from mqkit_bench.ring import Ring
from mqkit_bench.server import ReferenceServer, reference_server
from mqkit_bench.session import Session

QUEUE = "bench.server"


def both_endings(server: Any) -> None:
    contestant = server.contestant
    with closing(Session(contestant.address)) as control:
        control.declare(QUEUE)
    fill(contestant, Ring.round_robin([QUEUE], 100), 300, lambda _: None)
    for end in (server.kill, server.stop):
        pid = server.contestant.pid
        end()
        with pytest.raises(ConnectionError):
            Session(server.contestant.address)
        server.start()
        assert server.contestant.pid != pid
        assert server.contestant.rss_mib() > 0
        with closing(Session(server.contestant.address)) as control:
            assert control.ready(QUEUE) == 300
    with closing(Session(server.contestant.address)) as control:
        control.delete(QUEUE)


@pytest.mark.slow
def test_the_reference_broker_comes_back(server: ReferenceServer) -> None:
    both_endings(server)


@pytest.mark.slow
@pytest.mark.rabbitmq
def test_rabbitmq_comes_back(request: pytest.FixtureRequest) -> None:
    both_endings(request.getfixturevalue("rabbitmq"))


def test_a_folder_that_cannot_be_used(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match="did not start"), reference_server(tmp_path / "file"):
        pass
    assert capfd.readouterr().err
