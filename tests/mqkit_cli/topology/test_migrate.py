"""`mqkit topology migrate`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pika
import pytest


@dataclass(frozen=True, slots=True)
class Place:
    """A queue of a broker, and a file that wants it otherwise."""

    mqkit: Any
    queue: str
    file: Path
    channel: Any
    options: tuple[str, ...]

    def migrate(self, *more: str) -> Any:
        return self.mqkit(
            *("topology", "migrate", self.queue, "-f", str(self.file), *self.options, *more)
        )


@pytest.fixture
def place(mqkit: Any, broker: Any, unique: Callable[[str], str], tmp_path: Path) -> Iterator[Place]:
    queue = unique("q")
    file = tmp_path / "topology.yaml"
    file.write_text(f"queues:\n  {queue}: {{type: quorum}}\n")
    options = ("--url", broker.url, "--management-url", broker.management_url, "--settle", "100ms")
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare(queue, durable=True)
        yield Place(mqkit, queue, file, channel, options)


def test_it_tells_each_step_and_the_sum(place: Place) -> None:
    place.channel.basic_publish("", place.queue, b"x")
    answer = place.migrate()
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert lines[0].startswith("declare  declare the temporary queue")
    assert len(lines) == 15
    assert lines[-1] == f"{place.queue} is as {place.file} says; 2 moves of messages"
    assert (place.file.parent / f"topology.{place.queue}.migration.jsonl").exists()
    again = place.migrate()
    assert (again.returncode, again.stdout) == (
        0,
        f"{place.queue} is as {place.file} says: nothing to do\n",
    )


def test_a_dry_run_changes_nothing_and_exits_with_2(place: Place) -> None:
    answer = place.migrate("--dry-run")
    assert answer.returncode == 2
    assert "x-queue-type: is not set, wanted 'quorum'" in answer.stdout
    assert len(answer.stdout.splitlines()) == 15
    assert not list(place.file.parent.glob("*.jsonl"))
    shown = json.loads(place.migrate("--dry-run", "--json").stdout)
    assert (len(shown["steps"]), shown["refusals"]) == (14, [])
    place.migrate()
    answer = place.migrate("--dry-run")
    assert (answer.returncode, answer.stdout) == (0, f"{place.queue}: nothing to do\n")


def test_what_is_refused_exits_with_1_and_changes_nothing(place: Place) -> None:
    place.file.write_text(f"queues:\n  {place.queue}: {{max_length: 1, overflow: drop-head}}\n")
    for _ in range(2):
        place.channel.basic_publish("", place.queue, b"x")
    # Counts that are old say that there is nothing: wait until both are counted.
    while "would be thrown away" not in (answer := place.migrate("--dry-run")).stderr:
        assert answer.returncode == 2
    assert answer.returncode == 1
    answer = place.migrate()
    assert answer.returncode == 1
    assert "nothing was changed" in answer.stderr
    assert answer.stdout == ""


def test_a_stop_says_what_to_do_and_the_same_command_goes_on(place: Place) -> None:
    place.channel.basic_publish("", place.queue, b"x")
    method, _, _ = place.channel.basic_get(place.queue)
    answer = place.migrate("--wait", "200ms", "--json")
    assert answer.returncode == 1
    assert "stopped at step empty" in answer.stderr
    assert json.loads(answer.stdout)["outcome"] == "stopped"
    rest = place.migrate("--dry-run")
    assert rest.returncode == 2
    assert "under way (forward)" in rest.stdout
    place.channel.basic_ack(method.delivery_tag)
    answer = place.migrate("--json")
    assert (answer.returncode, json.loads(answer.stdout)["outcome"]) == (0, "finished")


def test_an_abort_goes_back(place: Place) -> None:
    place.channel.basic_publish("", place.queue, b"x")
    method, _, _ = place.channel.basic_get(place.queue)
    assert place.migrate("--wait", "200ms").returncode == 1
    place.channel.basic_nack(method.delivery_tag)
    answer = place.migrate("--abort")
    assert answer.returncode == 0
    assert answer.stdout.splitlines()[-1].startswith(f"{place.queue} is as it was;")
    place.channel.queue_declare(place.queue, durable=True)  # with no arguments, as before
    assert "is finished" in place.migrate("--abort").stderr


def test_without_a_broker_or_amqp_it_says_so(place: Place, broker: Any) -> None:
    file = ("-f", str(place.file))
    answer = place.mqkit("topology", "migrate", place.queue, *file)
    assert (answer.returncode, "--url" in answer.stderr) == (1, True)
    http = ("--management-url", broker.management_url)
    answer = place.mqkit("topology", "migrate", place.queue, *file, *http)
    assert (answer.returncode, "give --url too" in answer.stderr) == (1, True)
