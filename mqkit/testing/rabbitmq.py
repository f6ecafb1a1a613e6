"""Finds a RabbitMQ for tests: one that is named, a container, or a private node of its own.

Tried in this order; the first that answers is used, and the reasons of the others are kept:

1. ``MQKIT_TEST_RABBITMQ_URL`` (with ``MQKIT_TEST_RABBITMQ_MANAGEMENT_URL``): a broker that
   somebody else runs. It is used as it is, and left as it is.
2. testcontainers, where it is installed and Docker answers.
3. a local ``rabbitmq-server``, started in a temporary folder on free ports of 127.0.0.1, with an
   epmd of its own (see :mod:`mqkit.testing.rabbitmq_node`).

In a test suite::

    @pytest.fixture(scope="session")
    def rabbitmq_url():
        try:
            with mqkit.testing.rabbitmq() as broker:
                yield broker.url
        except mqkit.testing.RabbitMQUnavailable as why:
            pytest.skip(str(why))
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module

from mqkit.errors import Unreachable
from mqkit.testing.rabbitmq_node import (
    POLL_INTERVAL_S,
    Node,
    NodeFailed,
    is_up,
    server_script,
    start_node,
)
from mqkit.url import redact

URL_VARIABLE = "MQKIT_TEST_RABBITMQ_URL"
MANAGEMENT_URL_VARIABLE = "MQKIT_TEST_RABBITMQ_MANAGEMENT_URL"

START_TIMEOUT_S = 90.0
"""A node is up in about 8 s on an idle machine; a loaded CI machine has needed 40."""

DOCKER_PING_TIMEOUT_S = 3
"""A Docker that doesn't answer a ping in this time will not start a container either."""

CONTAINER_IMAGE = "rabbitmq:3-management"


class RabbitMQUnavailable(Unreachable):
    """No RabbitMQ could be found or started. The message says, per place, why: skip with it."""


class Source(StrEnum):
    """The origin of a RabbitMQ."""

    ENVIRONMENT = "environment"
    CONTAINER = "container"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class RabbitMQ:
    """A RabbitMQ that is up.

    ``management_url`` is its HTTP API (``http://host:port``), or ``None`` where it is not known.
    ``beam_pid`` is the process id of its Erlang VM, for CPU time; ``None`` unless this program
    started it as a process of this machine.
    """

    url: str
    management_url: str | None
    beam_pid: int | None
    source: Source

    def __repr__(self) -> str:
        return (
            f"RabbitMQ(url={redact(self.url)!r}, management_url={self.management_url!r},"
            f" beam_pid={self.beam_pid}, source={self.source.value!r})"
        )


@contextmanager
def rabbitmq(
    *,
    timeout_s: float = START_TIMEOUT_S,
    environ: Mapping[str, str] = os.environ,
    statistics_every_s: float | None = None,
) -> Iterator[RabbitMQ]:
    """A RabbitMQ for the time of the block.

    Whatever had to be started is ended at the end of the block, and its folder removed; a broker
    that was only named by the environment is left alone. Each call starts a node of its own: use
    it as a session-wide fixture.

    ``statistics_every_s`` makes the counts of the management API of a local node that young: tests
    that wait for RabbitMQ's own, which are up to 5 s old, take a tenth of the time with 0.5. Other
    sources keep theirs.

    Raises :exc:`RabbitMQUnavailable` when there is none, within about ``timeout_s`` seconds.
    """
    with ExitStack() as stack:
        yield _find(stack, timeout_s, environ, statistics_every_s)


def _find(
    stack: ExitStack,
    timeout_s: float,
    environ: Mapping[str, str],
    statistics_every_s: float | None,
) -> RabbitMQ:
    named = environ.get(URL_VARIABLE)
    if named:
        return RabbitMQ(named, environ.get(MANAGEMENT_URL_VARIABLE), None, Source.ENVIRONMENT)
    reasons = [f"{URL_VARIABLE} is not set"]
    why = _docker_missing()
    if why is None:
        try:
            return stack.enter_context(_container(timeout_s))
        except Exception as error:  # noqa: BLE001 - whatever Docker says, the next place is tried
            why = f"the container {CONTAINER_IMAGE} did not start ({type(error).__name__}: {error})"
    reasons.append(why)
    script = server_script(environ)
    if script is None:
        reasons.append("there is no rabbitmq-server on this machine")
    else:
        try:
            node = stack.enter_context(
                start_node(script, timeout_s=timeout_s, statistics_every_s=statistics_every_s)
            )
        except NodeFailed as error:
            reasons.append(str(error))
        else:
            return _local(node)
    raise RabbitMQUnavailable("no RabbitMQ for this test: " + "; ".join(reasons))


def _local(node: Node) -> RabbitMQ:
    return RabbitMQ(
        url=f"amqp://guest:guest@127.0.0.1:{node.amqp_port}/",
        management_url=f"http://127.0.0.1:{node.management_port}",
        beam_pid=node.beam_pid,
        source=Source.LOCAL,
    )


def _docker_missing() -> str | None:
    """The reason why no container can be had, or ``None`` when Docker answers."""
    try:
        docker = import_module("docker")
        import_module("testcontainers.core.container")
    except ImportError:
        return "testcontainers is not installed"
    try:
        with closing(docker.from_env(timeout=DOCKER_PING_TIMEOUT_S)) as client:
            client.ping()
    except Exception:  # noqa: BLE001 - the docker package raises errors of four libraries here
        return "Docker does not answer"
    return None


@contextmanager
def _container(timeout_s: float) -> Iterator[RabbitMQ]:
    from testcontainers.core.container import DockerContainer

    deadline = time.monotonic() + timeout_s
    with DockerContainer(CONTAINER_IMAGE).with_exposed_ports(5672, 15672) as container:
        host = container.get_container_host_ip()
        amqp_port = int(container.get_exposed_port(5672))
        management_port = int(container.get_exposed_port(15672))
        while not is_up(host, amqp_port, management_port):
            if time.monotonic() >= deadline:
                raise TimeoutError(f"not up after {timeout_s:.0f} s")
            time.sleep(POLL_INTERVAL_S)
        yield RabbitMQ(
            url=f"amqp://guest:guest@{host}:{amqp_port}/",
            management_url=f"http://{host}:{management_port}",
            beam_pid=None,
            source=Source.CONTAINER,
        )
