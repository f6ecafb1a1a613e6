"""Numbers of connections: only what is newer than all before is let in."""

from __future__ import annotations

import pytest

from reference_broker.cluster.link.connection_numbers import ConnectionNumbers
from reference_broker.cluster.link.handshake import Role
from reference_broker.errors import LinkError
from reference_broker.testing.link_pair import HELLOS

HELLO = HELLOS[Role.DIALER]


def test_newer_connections_and_newer_runs_are_let_in() -> None:
    numbers = ConnectionNumbers()
    for run, connection in [(3, 1), (3, 2), (3, 9), (4, 1), (7, 0)]:
        numbers.admit(HELLO._replace(run=run, connection=connection))


@pytest.mark.parametrize("connection", [6, 7])
def test_an_older_connection_of_the_same_run_is_refused(connection: int) -> None:
    numbers = ConnectionNumbers()
    numbers.admit(HELLO)
    with pytest.raises(LinkError, match=f"connection {connection} of node 'a' is not newer than"):
        numbers.admit(HELLO._replace(connection=connection))
    numbers.admit(HELLO._replace(connection=8))


def test_an_older_run_is_refused_whatever_its_number() -> None:
    numbers = ConnectionNumbers()
    numbers.admit(HELLO)
    with pytest.raises(LinkError, match="node 'a' comes from its run 2, and is in run 3 already"):
        numbers.admit(HELLO._replace(run=2, connection=99))


def test_nodes_count_for_themselves_and_can_be_forgotten() -> None:
    numbers = ConnectionNumbers()
    numbers.admit(HELLO)
    numbers.admit(HELLO._replace(node="c", connection=1))
    numbers.admit(HELLO._replace(purpose=1, connection=1))
    numbers.admit(HELLO._replace(disk="an empty one", run=1, connection=1))
    numbers.forget("a")
    numbers.forget("a")
    numbers.admit(HELLO._replace(connection=1))
