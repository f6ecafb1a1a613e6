"""The commands about the nodes of a cluster, at brokers on their own; in a cluster they are tested
with its processes (tests/reference_broker/runtime/cluster/whole)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pika
import pytest

from mqkit_cli.connection import TIMEOUT_S
from mqkit_cli.ctl.arguments import parse
from mqkit_cli.ctl.exits import UsageError
from mqkit_cli.ctl.main import COMMANDS, run
from mqkit_cli.ctl.members import PATIENCE_S, shown

Ctl = Callable[..., tuple[int, str]]


@pytest.fixture
def ctl(broker: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ctl:
    """Run a command: its exit code, and what it printed."""
    monkeypatch.setenv("MQKIT_MANAGEMENT_URL", broker.management_url)
    monkeypatch.delenv("MQKIT_URL", raising=False)

    def ctl(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = run(words)
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return ctl


def test_a_node_may_be_named_without_its_head() -> None:
    assert (shown("a"), shown("mqkit@a"), shown("rabbit@a")) == ("mqkit@a", "mqkit@a", "rabbit@a")


def test_a_broker_is_one_node(ctl: Ctl) -> None:
    assert ctl("await_online_nodes", "1", "-q") == (0, "")
    code, said = ctl("await_online_nodes", "2", "--timeout", "0.1", "-q")
    assert (code, said) == (70, "Error:\ntimed out while waiting: 1 of 2 nodes are online\n")
    for text in ("0", "many"):
        assert ctl("await_online_nodes", text)[0] == 64


def test_a_broker_on_its_own_forgets_nobody(ctl: Ctl) -> None:
    code, said = ctl("forget_cluster_node", "b", "--accept-data-loss")
    assert (code, "is in no cluster of mqkit's" in said) == (69, True)


def test_a_broker_is_drained_and_revived(ctl: Ctl, broker: Any) -> None:
    if not broker.is_reference:
        code, said = ctl("drain")
        assert (code, "only the reference broker" in said) == (69, True)
        return
    connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    assert ctl("drain", "-q") == (0, "")
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as closed:
        connection.process_data_events(time_limit=10)
    assert closed.value.reply_text == "CONNECTION_FORCED - node is being put into maintenance"
    assert ctl("revive", "-q") == (0, "")
    pika.BlockingConnection(pika.URLParameters(broker.url)).close()


def test_how_long_a_request_waits() -> None:
    def waits(*words: str) -> float:
        line = parse(words, {name: each.options for name, each in COMMANDS.items()})
        return COMMANDS[line.command].timeout_s(line)

    assert waits("list_queues") == TIMEOUT_S
    assert waits("list_queues", "--timeout", "2") == 2
    assert waits("drain") == waits("forget_cluster_node", "b") == PATIENCE_S > TIMEOUT_S
    assert waits("drain", "-t", "2") == 2
    assert waits("await_online_nodes", "3", "--timeout", "0.1") == TIMEOUT_S
    with pytest.raises(UsageError, match="'soon' is not a number of seconds"):
        waits("drain", "--timeout", "soon")
