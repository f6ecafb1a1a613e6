"""mqkit.testing.rabbitmq: which broker is taken, and that nothing is left of a started one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pika
import pytest

from mqkit.testing import RabbitMQ, RabbitMQUnavailable, Source, rabbitmq
from mqkit.testing.rabbitmq_node import NodeFailed, server_script, start_node

NEEDS_LOCAL = pytest.mark.skipif(
    server_script(os.environ) is None, reason="there is no rabbitmq-server on this machine"
)


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for this test's temporary folders that the user rabbitmq can reach."""
    with tempfile.TemporaryDirectory(prefix="mqkit-test-") as name:
        place = Path(name)
        place.chmod(0o755)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield place


def groups_running() -> dict[int, str]:
    """The command of each process, by its process group."""
    found: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text()
            found[os.getpgid(int(folder.name))] = command
        except (OSError, ProcessLookupError):
            continue
    return found


def test_a_named_broker_is_taken_as_it_is() -> None:
    environ = {
        "MQKIT_TEST_RABBITMQ_URL": "amqp://me:secret@somewhere:5672/",
        "MQKIT_TEST_RABBITMQ_MANAGEMENT_URL": "http://somewhere:15672",
    }
    with rabbitmq(environ=environ) as broker:
        assert broker == RabbitMQ(
            "amqp://me:secret@somewhere:5672/", "http://somewhere:15672", None, Source.ENVIRONMENT
        )
        assert "secret" not in repr(broker)


def test_where_there_is_none_the_error_says_why_for_each_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mqkit.testing.rabbitmq_node.PACKAGED_SCRIPTS", ())
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(RabbitMQUnavailable) as error, rabbitmq(environ={"PATH": "/nowhere"}):
        pass
    words = str(error.value)
    assert "MQKIT_TEST_RABBITMQ_URL is not set" in words
    assert "Docker does not answer" in words or "testcontainers is not installed" in words
    assert "there is no rabbitmq-server on this machine" in words


@pytest.mark.slow
@pytest.mark.rabbitmq
@NEEDS_LOCAL
def test_a_private_node_serves_amqp_and_http_and_leaves_nothing(folders: Path) -> None:
    script = server_script(os.environ)
    assert script is not None
    before = groups_running()
    with start_node(script, timeout_s=90, statistics_every_s=0.2) as node:
        parameters = pika.URLParameters(f"amqp://guest:guest@127.0.0.1:{node.amqp_port}/")
        with pika.BlockingConnection(parameters) as connection:
            connection.channel().queue_declare("alive", auto_delete=True)
        api, login = f"http://127.0.0.1:{node.management_port}/api", ("guest", "guest")
        assert httpx.get(f"{api}/overview", auth=login).json()["product_name"] == "RabbitMQ"
        # The counts' age is in both files, and the node has read both.
        while "config_files" not in (row := httpx.get(f"{api}/nodes", auth=login).json()[0]):
            pass  # it tells about itself by the same clock
        files = {Path(each).name: Path(each).read_text() for each in row["config_files"]}
        assert "collect_statistics_interval = 200\n" in files["rabbitmq.conf"]
        assert "{quorum_tick_interval, 200}" in files["advanced.config"]
        assert "beam" in Path(f"/proc/{node.beam_pid}/comm").read_text()
        assert len(list(folders.iterdir())) == 1
    assert list(folders.iterdir()) == []
    started = {group: c for group, c in groups_running().items() if group not in before}
    assert [c for c in started.values() if "epmd" in c or str(folders) in c] == []


@NEEDS_LOCAL
def test_a_node_that_ends_at_once_is_reported_with_its_words(tmp_path: Path, folders: Path) -> None:
    script = folders / "rabbitmq-server"
    script.write_text("#!/bin/sh\necho 'the disk is a lemon'\nexit 3\n")
    script.chmod(0o755)
    words = pytest.raises(NodeFailed, match=r"(?s)ended with 3: .*lemon")
    with words, start_node(str(script), timeout_s=60):
        pass
    script.unlink()
    assert list(folders.iterdir()) == []
