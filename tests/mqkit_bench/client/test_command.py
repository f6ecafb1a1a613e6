"""mqkit_bench.client: on which broker, with whom, and a run of the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from mqkit_bench.client.command import chosen_names, target_of, versions
from mqkit_bench.client.contestant import CONTESTANTS
from mqkit_bench.client.rounds import ClientStanding
from mqkit_bench.client.scenario import Scenario
from mqkit_bench.session import Address


def test_another_broker_is_a_name_and_a_url() -> None:
    target = target_of("RabbitMQ=amqp://me:secret@127.0.0.1:5673/")
    assert (target.name, target.url) == ("RabbitMQ", "amqp://me:secret@127.0.0.1:5673/")
    assert target.address == Address("127.0.0.1", 5673, "me", "secret")


@pytest.mark.parametrize(
    ("against", "said"),
    [
        ("amqp://127.0.0.1/", "expected NAME=URL"),
        ("=amqp://127.0.0.1/", "expected NAME=URL"),
        ("x=http://127.0.0.1/", "starts with amqp"),
        ("x=amqps://me:secret@127.0.0.1/", "it has to be amqp://"),
        ("x=amqp://127.0.0.1/other", "the vhost /"),
    ],
)
def test_a_broker_that_cannot_be_used(against: str, said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said) as refused:
        target_of(against)
    assert "secret" not in str(refused.value)


def test_all_contestants_or_those_that_are_named() -> None:
    assert chosen_names([]) == [each.name for each in CONTESTANTS]
    assert chosen_names(["pika", "aio-pika"]) == ["aio-pika", "pika"]
    with pytest.raises(typer.BadParameter, match=r"no contestant 'mqkit', but these: mqkit, nat"):
        chosen_names(["mqkit"])


def test_versions_are_said_once() -> None:
    names = {"pika": "1.4", "pika, unconfirmed": "1.4", "kombu": None, "aio-pika": "10.2"}
    standings = [ClientStanding(Scenario.PUBLISH_1, *each, "") for each in names.items()]
    assert versions(standings) == "pika 1.4, aio-pika 10.2"


@pytest.mark.slow
def test_the_command_prints_a_table_and_writes_its_rounds(tmp_path: Path, broker: Any) -> None:
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "mqkit_cli", "bench", "client", "--messages", "100"]
    command += ["--rounds", "1", "--scenario", "publish-1000", "--json", str(file)]
    command += ["--contestant", "mqkit, native", "--contestant", "pika"]
    command += ["--contestant", "aio-pika", "--against", f"here={broker.url}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("On here; 1,024 B bodies")
    assert "| publish-1000 | pika | - | - | - | - | - | - | waits for each confirm" in result.stdout
    rows = json.loads(file.read_text())
    assert [(row["name"], len(row["rounds"])) for row in rows] == [
        ("mqkit, native", 1),
        ("aio-pika", 1),
        ("pika", 0),
    ]
    assert rows[0]["rounds"][0]["messages"] == 100
