"""A broker and a Spark session for the tests of this folder; each skips with its reason."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pika
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _missing() -> str | None:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no Java on this machine (Spark needs 17 or later)"
    for package in ("pyspark", "pyarrow", "pandas"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed (pip install 'mqkit[spark]')"
    return None


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local session with two cores; a task may fail twice."""
    why = _missing()
    if why is not None:
        pytest.skip(f"Spark tests are skipped: {why}")
    # Without these a worker may be another python3 from PATH, which has no pyarrow.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2,3]")
        .appName("mqkit tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def broker_url(broker: Any) -> str:
    """The brokers that the tests publish to, in turn."""
    url: str = broker.url
    return url


@dataclass
class Target:
    """A queue of the test's own on the broker, and what came into it."""

    channel: pika.adapters.blocking_connection.BlockingChannel
    name: str = field(default_factory=lambda: f"test-spark-{uuid.uuid4()}")

    def count(self) -> int:
        """The number of ready messages."""
        return int(self.channel.queue_declare(self.name, passive=True).method.message_count)

    def get_all(self) -> list[tuple[bytes, bool]]:
        """Every message, in the queue's order: body, and whether it was redelivered. Messages that
        are on their way back count: RabbitMQ's own count may leave them out for a moment."""
        got: list[tuple[bytes, bool]] = []
        while (found := self.channel.basic_get(self.name, auto_ack=True))[0] is not None:
            got.append((found[2], found[0].redelivered))
        return got

    def consume_all(self) -> list[tuple[str, bytes, pika.BasicProperties]]:
        """Every message that is ready, in the queue's order: routing key, body, properties."""
        waiting = self.count()
        got: list[tuple[str, bytes, pika.BasicProperties]] = []
        if waiting:
            for method, properties, body in self.channel.consume(self.name, auto_ack=True):
                got.append((method.routing_key, body, properties))
                if len(got) == waiting:
                    break
            self.channel.cancel()
        return got


@pytest.fixture
def make_queue(broker_url: str) -> Iterator[Callable[..., Target]]:
    """Makes queues that are deleted after the test."""
    parameters = pika.URLParameters(broker_url)
    parameters.heartbeat = 0  # nobody serves the connection while Spark works
    with pika.BlockingConnection(parameters) as connection:
        made: list[Target] = []

        def make(arguments: dict[str, object] | None = None) -> Target:
            target = Target(connection.channel())
            target.channel.queue_declare(target.name, durable=True, arguments=arguments)
            made.append(target)
            return target

        yield make
        for target in made:
            connection.channel().queue_delete(target.name)


def kill_writer_once(url: str, queue: str, marker: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for ``mapInArrow``, before the sink. Once, and ``marker`` is a file that is there
    from then on, it kills the Python workers that have a connection to the broker (so the one that
    publishes this partition) by SIGKILL, at a moment when some of it is in the queue."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import signal
        from pathlib import Path

        yield from batches
        if Path(marker).exists():
            return
        parameters = pika.URLParameters(url)
        with pika.BlockingConnection(parameters) as connection:
            channel = connection.channel()
            for method, _, _ in channel.consume(queue, inactivity_timeout=20):
                assert method is not None, "nothing of the first attempt was published"
                break  # it goes back to the queue with the channel
        Path(marker).touch()
        remote = f":{parameters.port:04X} 01 "
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
                inodes = {os.readlink(each) for each in (process / "fd").iterdir()}
            except OSError:
                continue
            if b"pyspark.daemon" not in command or int(process.name) == os.getpid():
                continue
            sockets = Path("/proc/net/tcp").read_text().splitlines()
            if any(remote in line and f"socket:[{line.split()[9]}]" in inodes for line in sockets):
                os.kill(int(process.name), signal.SIGKILL)

    return run


@pytest.fixture
def kill_once(broker_url: str, tmp_path: Path) -> Callable[[str], Callable[..., Any]]:
    """See :func:`kill_writer_once`; the marker is ``killed`` in the test's folder."""
    return lambda queue: kill_writer_once(broker_url, queue, str(tmp_path / "killed"))


@pytest.fixture
def target(make_queue: Callable[..., Target]) -> Target:
    """One such queue."""
    return make_queue()
