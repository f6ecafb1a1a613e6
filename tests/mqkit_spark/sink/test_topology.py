"""mqkit_spark.sink.topology: the file is applied as it is, and nothing is deleted or changed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pika
import pytest

from mqkit.errors import ConfigurationError, TransportError
from mqkit_spark.options import SinkOptions
from mqkit_spark.sink.topology import apply_topology, apply_topology_once


def described(tmp_path: Path, queue: str, arguments: str = "{}") -> str:
    path = tmp_path / "topology.yaml"
    path.write_text(
        f"exchanges:\n  {queue}.x: {{type: topic}}\n"
        f"queues:\n  {queue}:\n    arguments: {arguments}\n"
        f"    bind: [{{from: {queue}.x, key: 'a.#'}}]\n"
    )
    return str(path)


@pytest.fixture
def queue(broker_url: str) -> Iterator[str]:
    """The name of a queue that is not there yet; it and its exchange are deleted afterwards."""
    name = f"test-topology-{uuid.uuid4()}"
    yield name
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as connection:
        connection.channel().queue_delete(name)
        connection.channel().exchange_delete(f"{name}.x")


def test_the_file_is_applied_again_and_again(broker_url: str, queue: str, tmp_path: Path) -> None:
    away = "amqp://guest:guest@127.0.0.1:1/"
    options = SinkOptions(
        url=f"{away},{broker_url}", exchange=f"{queue}.x", topology=described(tmp_path, queue)
    )
    apply_topology(options)
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_publish(f"{queue}.x", "a.b", b"here", mandatory=True)
        apply_topology(options)
        assert channel.queue_declare(queue, passive=True).method.message_count == 1


def test_it_can_be_applied_where_an_event_loop_runs(
    broker_url: str, queue: str, tmp_path: Path
) -> None:
    async def in_a_notebook() -> None:
        apply_topology(SinkOptions(url=broker_url, topology=described(tmp_path, queue)))

    asyncio.run(in_a_notebook())


def test_what_differs_stays_and_is_an_error(broker_url: str, queue: str, tmp_path: Path) -> None:
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as connection:
        connection.channel().queue_declare(queue, durable=True)
        connection.channel().basic_publish("", queue, b"kept")
        path = described(tmp_path, queue, "{x-max-length: 5}")
        with pytest.raises(ConfigurationError, match=f"can't be applied: queue {queue}: .*other"):
            apply_topology(SinkOptions(url=broker_url, topology=path))
        state = connection.channel().queue_declare(queue, passive=True)
        assert state.method.message_count == 1


def test_policies_are_not_for_amqp_and_said_to_be(
    broker_url: str, queue: str, tmp_path: Path
) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(
        f"queues:\n  {queue}: {{}}\n"
        "policies:\n  short:\n    pattern: '^none$'\n    definition: {expires: 600000}\n"
    )
    with pytest.raises(ConfigurationError, match="policy short: a policy is set over the manag"):
        apply_topology(SinkOptions(url=broker_url, topology=str(path)))


def test_files_that_cannot_be_used_and_brokers_that_are_away(tmp_path: Path) -> None:
    away = SinkOptions(url="amqp://127.0.0.1:1/", topology=described(tmp_path, "q"))
    with pytest.raises(TransportError):
        apply_topology(away)
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("queues:\n  q: {typo: 1}\n")
    with pytest.raises(ConfigurationError, match="typo"):
        apply_topology(SinkOptions(url="amqp://127.0.0.1:1/", topology=str(wrong)))
    missing = SinkOptions(url="amqp://127.0.0.1:1/", topology=str(tmp_path / "missing.yaml"))
    for use in (apply_topology, apply_topology_once):
        with pytest.raises(ConfigurationError, match=r"missing\.yaml: can't be read: No such file"):
            use(missing)
    apply_topology(SinkOptions(url="amqp://127.0.0.1:1/"))  # nothing to do


def test_a_file_for_another_vhost_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text("vhost: blue\nqueues:\n  q: {}\n")
    with pytest.raises(ConfigurationError, match="is for the vhost 'blue', but the URL leads to"):
        apply_topology(SinkOptions(url="amqp://127.0.0.1:1/", topology=str(path)))


def test_once_is_once_for_a_query_and_a_file(broker_url: str, queue: str, tmp_path: Path) -> None:
    options = SinkOptions(url=broker_url, topology=described(tmp_path, queue))
    apply_topology_once(options, "checkpoint")
    with pika.BlockingConnection(pika.URLParameters(broker_url)) as connection:
        channel = connection.channel()
        channel.queue_delete(queue)
        apply_topology_once(options, "checkpoint")
        with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="404"):
            channel.queue_declare(queue, passive=True)
        apply_topology_once(options, "another checkpoint")
        connection.channel().queue_declare(queue, passive=True)


def test_without_yaml_one_line_says_what_to_do(
    without: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    code = (
        "from mqkit_spark.options import SinkOptions\n"
        "from mqkit_spark.sink.topology import apply_topology\n"
        f"apply_topology(SinkOptions(url='amqp://h/', topology={described(tmp_path, 'q')!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=without("ruamel"),
        check=False,
    )
    assert "option topology needs all of mqkit in the driver, and ruamel" in done.stderr
    assert "run pip install mqkit there, or apply the file before the job" in done.stderr
