"""Clients of one node, the queue on another: the cost of it, full windows, and a large message.

Times and CPU are printed, never asserted. ``MQKIT_REMOTE_ROUNDS`` rounds of a second compare the
CPU with that of one node; two nodes publish to each other for ``MQKIT_FULL_WINDOWS_S`` seconds (600
are promised).
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial

import pika
import pytest

from mqkit.testing import Cluster, ClusterUnavailable, cluster
from mqkit.testing.cluster_node import ClusterNode
from mqkit.wire import methods
from mqkit_bench.broker.message import Message
from mqkit_bench.broker.receiver import Receiver
from mqkit_bench.broker.scenario import Scenario, Subscription
from mqkit_bench.broker.sender import Sender
from mqkit_bench.broker.stage import consume
from mqkit_bench.broker.topology import Queue, Topology
from mqkit_bench.broker.traffic import Passed, Traffic
from mqkit_bench.contestant import Contestant
from mqkit_bench.ring import Ring
from mqkit_bench.session import Address, Session

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.timeout(1_200)]

ROUNDS = int(os.environ.get("MQKIT_REMOTE_ROUNDS", "1"))
FULL_WINDOWS_S = float(os.environ.get("MQKIT_FULL_WINDOWS_S", "5"))
WINDOW_OF_LINK_BYTES = 8 * 1024 * 1024
"""So much waits in front of a lane before publishers do."""
LARGE_BYTES = 128 * 1024 * 1024
SMALL = b"s" * 1024
STORED = pika.BasicProperties(delivery_mode=2)
LARGE_TIMEOUT_S = 120.0


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    try:
        with cluster(nodes=2, options=("--message-size-max", "128MiB")) as found:
            yield found
    except ClusterUnavailable as why:
        pytest.skip(str(why))


@dataclass(frozen=True, slots=True)
class Flow:
    """Messages of a client of the node ``at``, to a queue at ``home`` and back from it."""

    name: str
    at: ClusterNode
    home: ClusterNode
    body_bytes: int = 1024
    window: int = 2048

    def cpu_s(self) -> float:
        """The CPU seconds of the nodes that have to do with it, since they began."""
        pids = {self.at.pid, self.home.pid}
        return sum(Contestant("", _address(self.at), "", pid).cpu_s() for pid in pids)

    @contextmanager
    def traffic(self) -> Iterator[Traffic]:
        """All of it was confirmed, delivered and acked at the end of the block."""
        scenario = Scenario(
            name=self.name,
            topology=Topology((Queue(self.name),)),
            messages=(Message(routing_key=self.name, body_bytes=self.body_bytes),),
            subscriptions=(Subscription((self.name,)),),
            window=self.window,
        )
        with ExitStack() as stack:
            home = stack.enter_context(closing(Session(_address(self.home))))
            scenario.topology.declare(home)
            consumer, publisher = Session(_address(self.at)), Session(_address(self.at))
            consume(consumer, scenario.subscriptions[0])
            publisher.confirms()
            receiver = Receiver(
                consumer.detach(),
                len(scenario.delivery_frames),
                scenario.subscriptions[0].ack_every,
            )
            sender = Sender(
                publisher.detach(), Ring([each.publish_frames() for each in scenario.messages])
            )
            traffic = stack.enter_context(closing(Traffic(scenario, [sender], [receiver])))
            yield traffic
            traffic.finish()
            assert traffic.sent == traffic.confirmed == traffic.received == traffic.acked
            assert scenario.topology.ready(home) == 0
            scenario.topology.delete(home)


def _address(node: ClusterNode) -> Address:
    return Address("127.0.0.1", node.amqp_port)


@pytest.mark.parametrize("window", [64, 512, 2048, 8192])
def test_what_is_published_and_consumed_on_another_node_comes_whole(
    nodes: Cluster, window: int
) -> None:
    homes = {"local": nodes["a"], "remote": nodes["b"]}
    flows = [Flow(name, nodes["a"], home, window=window) for name, home in homes.items()]
    cost: dict[str, list[float]] = {flow.name: [] for flow in flows}
    with ExitStack() as stack:
        playing = [(flow, stack.enter_context(flow.traffic())) for flow in flows]
        for _ in range(1 + ROUNDS):
            for flow, traffic in playing:
                before = flow.cpu_s()
                messages = traffic.run(1).messages
                cost[flow.name].append(1e6 * (flow.cpu_s() - before) / messages)
    local, remote = (each[1:] for each in cost.values())  # without the one that warms up
    ratios = [there / here for there, here in zip(remote, local, strict=True)]
    print(
        f"CPU of brokers for 1 KiB, persistent, published, confirmed, consumed and acked, "
        f"{window} in flight: "
        f"{statistics.median(local):.1f} us on one node, {statistics.median(remote):.1f} us over "
        f"two: {statistics.median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f}, "
        f"{ROUNDS} rounds)"
    )


def test_two_nodes_that_publish_to_each_other_with_full_windows_both_go_on(
    nodes: Cluster,
) -> None:
    body_bytes = 16 * 1024
    window = 2 * WINDOW_OF_LINK_BYTES // body_bytes
    a, b = nodes.nodes.values()
    flows = [Flow("a to b", a, b, body_bytes, window), Flow("b to a", b, a, body_bytes, window)]
    with ExitStack() as stack:
        playing = [stack.enter_context(flow.traffic()) for flow in flows]
        threads = stack.enter_context(ThreadPoolExecutor(len(flows)))
        # One that stands still for a minute raises.
        passed: list[Passed] = list(
            threads.map(lambda traffic: traffic.run(FULL_WINDOWS_S), playing)
        )
    assert min(each.messages for each in passed) > window
    told = ", ".join(
        f"{flow.name} {each.messages} ({each.rate:.0f}/s)"
        for flow, each in zip(flows, passed, strict=True)
    )
    print(f"full windows both ways for {FULL_WINDOWS_S:.0f} s: messages of 16 KiB {told}")


def _publish_large(at: ClusterNode, queue: str) -> tuple[float, float]:
    """Publish it, and wait for the confirm: when it began, and when it was confirmed."""
    frames = Message(routing_key=queue, body_bytes=LARGE_BYTES).publish_frames()
    with closing(Session(_address(at), LARGE_TIMEOUT_S)) as session:
        session.confirms()
        began = time.monotonic()
        session.socket.sendall(frames)
        session.expect(methods.BasicAck)
        return began, time.monotonic()


@pytest.mark.parametrize(
    ("home", "at"),
    [("a", "b"), ("b", "a"), ("b", "b")],
    ids=["with the confirms", "with the publishes", "not over the link"],
)
def test_small_messages_are_confirmed_beside_a_large_one(
    nodes: Cluster, home: str, at: str
) -> None:
    """Those from a to b; what is behind the large one in its lane has to wait for it."""
    with ExitStack() as stack:
        channels = {}
        for name, node in nodes.nodes.items():
            connection = pika.BlockingConnection(pika.URLParameters(node.url))
            stack.callback(connection.close)
            channels[name] = connection.channel()
        channels[home].queue_declare("large", durable=True)
        channels["b"].queue_declare("small", durable=True)
        channels["a"].confirm_delivery()
        waits: list[tuple[float, float]] = []

        def publish() -> None:
            began = time.monotonic()
            channels["a"].basic_publish("", "small", SMALL, STORED)
            waits.append((began, time.monotonic()))

        threads = stack.enter_context(ThreadPoolExecutor(1))
        for _ in range(100):
            publish()
        large = threads.submit(partial(_publish_large, nodes[at], "large"))
        while not large.done():
            publish()
        began, ended = large.result()
        for queue, messages in (("large", 1), ("small", len(waits))):
            assert channels["b"].queue_delete(queue).method.message_count == messages
    alone = [end - begin for begin, end in waits if end < began]
    beside = sorted(end - begin for begin, end in waits if began < end and begin < ended)
    assert len(beside) > 1, "they were all confirmed after it"
    print(
        f"1 KiB confirmed beside 128 MiB from {at} to {home}, in {ended - began:.1f} s: "
        f"{len(beside)}, median {_ms(statistics.median(beside))}, longest {_ms(beside[-1])} and "
        f"{_ms(beside[-2])}; without it {_ms(statistics.median(alone))}, longest {_ms(max(alone))}"
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"
