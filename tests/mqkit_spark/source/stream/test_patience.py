"""The patience with a broker that is away."""

from __future__ import annotations

import pytest

from mqkit.errors import (
    ChannelError,
    ConfigurationError,
    ConnectionLost,
    ConnectionRefused,
    MqkitError,
    Unreachable,
)
from mqkit_spark.source.stream.patience import PAUSES_TOTAL_S, patiently, pauses


class Broker:
    """Fails as often as it has errors."""

    def __init__(self, *errors: MqkitError) -> None:
        self.errors = list(errors)
        self.lost = 0
        self.waited: list[float] = []

    def act(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    def lose(self) -> None:
        self.lost += 1

    def ask(self) -> str:
        return patiently("orders", self.act, self.lose, self.waited.append)


def test_it_goes_on_where_another_connection_helps() -> None:
    broker = Broker(ConnectionLost("x"), Unreachable("x"), ConnectionRefused(320, "FORCED"))
    assert broker.ask() == "done"
    assert broker.lost == 3
    assert broker.waited == [0.1, 0.2, 0.4]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConnectionRefused(403, "ACCESS_REFUSED"), ConnectionRefused),
        (ConfigurationError("no"), ConfigurationError),
    ],
)
def test_a_refusal_is_raised_at_once(error: MqkitError, kind: type[MqkitError]) -> None:
    broker = Broker(error)
    with pytest.raises(kind):
        broker.ask()
    assert broker.waited == []


def test_a_queue_that_is_not_there_is_said_with_its_name() -> None:
    with pytest.raises(ConfigurationError, match="queue 'orders': 404 NOT_FOUND"):
        Broker(ChannelError(404, "NOT_FOUND")).ask()


def test_it_ends() -> None:
    broker = Broker(*(ConnectionLost(f"{number}") for number in range(1000)))
    with pytest.raises(ConnectionLost):
        broker.ask()
    assert PAUSES_TOTAL_S <= sum(broker.waited) < PAUSES_TOTAL_S + 10
    assert broker.waited == list(pauses())
