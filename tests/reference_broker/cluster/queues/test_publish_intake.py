"""publish_intake: publishes of another node are taken in their order, and answered when they are
safe; what can't be taken waits with those behind it."""

from __future__ import annotations

from collections.abc import Sequence

from mqkit.wire import Properties, encode_header
from mqkit.wire.methods import QueueDeclare
from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.queues.kinds import PublishKind
from reference_broker.cluster.queues.linked_home import LinkedHome
from reference_broker.cluster.queues.publish_octets import UNANSWERED_MAX, encode_publish
from reference_broker.core.message.content import Content
from reference_broker.core.queue.queue import Queue
from reference_broker.core.work.task import agreed
from reference_broker.testing.homes.linked_brokers import LinkedBrokers
from reference_broker.testing.homes.noting_taker import message
from reference_broker.testing.recording_journal import RecordingJournal


def _publish(
    nodes: LinkedBrokers, ids: Sequence[int], content: Content, refused: list[int] | None = None
) -> int:
    """Publish from a to b; a refusal is noted by the number."""
    home = nodes["a"].queue_links.home("b")
    number = home.publishes.last + 1

    def note() -> None:
        assert refused is not None
        assert home.confirmed.value < number
        refused.append(number)

    return nodes.act("a", lambda: home.publish(ids, content, note))


def _home(nodes: LinkedBrokers) -> LinkedHome:
    return nodes["a"].queue_links.home("b")


def _bodies(queue: Queue) -> list[bytes]:
    return [bytes(content.body) for content in queue.contents.values()]


def test_messages_are_in_their_queues_in_their_order() -> None:
    nodes = LinkedBrokers("a", "b")
    one, other = nodes.declare("b", "one"), nodes.declare("b", "other")
    _publish(nodes, [one.id], message(b"1"))
    _publish(nodes, [one.id, other.id], message(b"2", route=b"\1x\1k"))
    _publish(nodes, [other.id], message(b"3"))
    nodes.settle()
    assert _bodies(one) == [b"1", b"2"]
    assert _bodies(other) == [b"2", b"3"]
    assert other.contents[other.index.head_sequence() or 0].route == b"\1x\1k"
    assert _home(nodes).confirmed.value == 3


def test_ten_thousand_over_a_slow_link_are_confirmed_in_order() -> None:
    nodes = LinkedBrokers("a", "b", rate=16_384, units=200)
    queue = nodes.declare("b", "q")
    home = _home(nodes)
    reached: list[int] = []
    for place in range(10_000):
        number = _publish(nodes, [queue.id], message(b"%d" % place))
        if not number % 1_000:
            home.confirmed.when_at(number, lambda: reached.append(home.confirmed.value))
        while not home.has_room:
            nodes.turn()
    assert not reached
    nodes.settle()
    assert [bytes(body) for body in _bodies(queue)] == [b"%d" % place for place in range(10_000)]
    assert home.confirmed.value == 10_000
    assert reached == sorted(reached)
    assert len(set(reached)) > 5
    assert nodes["b"].lone.overdrawn < 100


def test_what_is_stored_is_confirmed_when_it_is_on_disk_with_one_promise_for_a_turn() -> None:
    journal = RecordingJournal()
    nodes = LinkedBrokers("a", "b", journals={"b": journal})
    queue = nodes.declare("b", "q", durable=True)
    nodes["b"].lone.sync()
    ledger = nodes["b"].lone.broker.ledger
    for _ in range(100):
        _publish(nodes, [queue.id], message(delivery_mode=2))
    nodes.settle()
    assert queue.ready == 100
    assert _home(nodes).confirmed.value == 0
    assert len(ledger) == 1
    _publish(nodes, [queue.id], message(delivery_mode=1))
    nodes.settle()
    assert (_home(nodes).confirmed.value, len(ledger)) == (0, 2)
    nodes["b"].lone.sync()
    nodes.settle()
    assert _home(nodes).confirmed.value == 101
    _publish(nodes, [queue.id], message(delivery_mode=1))
    nodes.settle()
    assert _home(nodes).confirmed.value == 102


def test_a_disk_that_fails_ends_the_link_and_nothing_is_confirmed() -> None:
    nodes = LinkedBrokers("a", "b", journals={"b": RecordingJournal()})
    queue = nodes.declare("b", "q", durable=True)
    refused: list[int] = []
    _publish(nodes, [queue.id], message(delivery_mode=2), refused)
    nodes.settle()
    lone = nodes["b"].lone
    lone.broker.disk_failed(lone.now_s, lone.wall_ms)
    nodes.settle()
    assert refused == [1]
    assert not _home(nodes).is_up


def test_those_that_a_queue_refuses_are_refused_exactly() -> None:
    nodes = LinkedBrokers("a", "b")
    full = nodes.declare("b", "full", x_max_length=2, x_overflow="reject-publish")
    other = nodes.declare("b", "other")
    refused: list[int] = []
    for ids in ([full.id], [other.id], [full.id], [full.id], [other.id], [full.id, other.id]):
        _publish(nodes, ids, message(), refused)
    nodes.settle()
    assert refused == [4, 6]
    assert (full.ready, other.ready) == (2, 3)
    assert _home(nodes).confirmed.value == 6


def _publish_run(nodes: LinkedBrokers, queue: Queue, contents: list[Content]) -> list[int]:
    """Publish a run, and return the places of those that are refused, to be filled."""
    refused: list[int] = []
    nodes.act("a", lambda: _home(nodes).publish_run(queue.id, contents, refused.append))
    return refused


def test_a_run_is_logged_as_one_and_confirmed_with_its_last() -> None:
    journal = RecordingJournal()
    nodes = LinkedBrokers("a", "b", journals={"b": journal})
    queue = nodes.declare("b", "q", durable=True)
    nodes["b"].lone.sync()
    refused = _publish_run(nodes, queue, [message(b"%d" % at, delivery_mode=2) for at in range(9)])
    nodes.settle()
    assert _bodies(queue) == [b"%d" % at for at in range(9)]
    assert _home(nodes).confirmed.value == 0
    nodes["b"].lone.sync()
    nodes.settle()
    assert (_home(nodes).confirmed.value, refused) == (9, [])


def test_those_of_a_run_that_a_queue_refuses_are_refused_by_their_places() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q", x_max_length=2, x_overflow="reject-publish")
    _publish(nodes, [queue.id], message(b"first"))
    refused = _publish_run(nodes, queue, [message(b"%d" % at) for at in range(4)])
    nodes.settle()
    assert _bodies(queue) == [b"first", b"0"]
    assert (refused, _home(nodes).confirmed.value) == ([1, 2, 3], 5)


def test_a_run_of_messages_that_are_not_alike_goes_one_by_one() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    dies = message(b"dies", expiration="1000")
    _publish_run(nodes, queue, [message(b"1"), dies, message(b"3")])
    nodes.settle()
    assert _bodies(queue) == [b"1", b"dies", b"3"]
    expiries = [queue.index.expires_at(sequence) for sequence in queue.contents]
    assert [expiry > 0 for expiry in expiries] == [False, True, False]


def test_a_lost_link_refuses_the_rest_of_a_run() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    nodes.settle()
    refused = _publish_run(nodes, queue, [message(b"%d" % at) for at in range(3)])
    nodes.cut("a", "b")
    nodes.settle()
    assert (refused, _home(nodes).confirmed.value) == ([0, 1, 2], 3)


def test_more_refusals_than_fit_an_answer() -> None:
    nodes = LinkedBrokers("a", "b")
    full = nodes.declare("b", "full", x_max_length=0, x_overflow="reject-publish")
    refused: list[int] = []
    for _ in range(20_000):
        _publish(nodes, [full.id], message(b""), refused)
    nodes.settle()
    assert refused == list(range(1, 20_001))


def test_a_queue_that_is_deleted_refuses_nothing() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    refused: list[int] = []
    _publish(nodes, [queue.id, 1 << 62], message(), refused)
    _publish(nodes, [1 << 62], message(), refused)
    nodes.settle()
    assert (queue.ready, refused, _home(nodes).confirmed.value) == (1, [], 2)


def test_a_queue_that_is_not_here_yet_is_waited_for() -> None:
    nodes = LinkedBrokers("a", "b")
    nodes.declare("a", "first")
    b = nodes["b"]
    b.hears = False
    client = nodes["a"].lone.client()
    where = {"x-queue-master-locator": "min-masters"}
    client.send(1, QueueDeclare("late", durable=True, arguments=where))
    nodes.settle()
    queue_id = nodes["a"].lone.broker.vhosts["/"].queues["late"].id
    _publish(nodes, [queue_id], message())
    nodes.settle()
    assert _home(nodes).confirmed.value == 0
    b.hears = True
    nodes.settle()
    assert _home(nodes).confirmed.value == 1
    assert b.lone.broker.queues_by_id[queue_id].ready == 1


def test_a_repetition_is_dropped_at_home() -> None:
    nodes = LinkedBrokers("a", "b")
    once = nodes.declare("b", "once", x_message_id_window=10)
    other = nodes.declare("b", "other")
    for key in ("x", "y", "x"):
        _publish(nodes, [once.id, other.id], message(message_id=key))
    _publish(nodes, [once.id], message(message_id="y"))
    _publish(nodes, [once.id], message())
    nodes.settle()
    assert (once.ready, other.ready) == (3, 3)
    assert _home(nodes).confirmed.value == 5


class _LittleSpace:
    """Free space that admits what a test says."""

    scarce = True
    plain_bytes = plain_entries = 0

    def __init__(self) -> None:
        self.left = 0
        self.waits = False
        """Somebody has to wait for the next sync, and so everybody does."""

    def listen(self, became_scarce: object) -> None:
        pass

    def admits(self, size_bytes: int, entries: int, messages: int = 1) -> bool:
        self.waits = self.waits or not self.left
        self.left -= self.left > 0
        return not self.waits

    def nobody_waits(self) -> None:
        self.waits = False


def test_without_space_they_wait_in_order() -> None:
    journal = RecordingJournal()
    journal.free_space = space = _LittleSpace()
    nodes = LinkedBrokers("a", "b", journals={"b": journal})
    queue = nodes.declare("b", "q", durable=True)
    passing = nodes.declare("b", "passing")
    for body in (b"1", b"2", b"3"):
        _publish(nodes, [queue.id], message(body, delivery_mode=2))
    _publish(nodes, [passing.id], message(b"4"))
    nodes.settle()
    assert (queue.ready, passing.ready) == (0, 0)
    told: list[object] = []
    nodes.act("a", lambda: _home(nodes).count(queue.id, told.append))
    nodes.settle()
    assert told == []
    for left, bodies in ((1, [b"1"]), (2, [b"1", b"2", b"3"])):
        space.left = left
        nodes["b"].lone.sync()
        nodes.settle()
        assert _bodies(queue) == bodies
    assert passing.ready == 1
    assert len(told) == 1
    nodes["b"].lone.sync()
    nodes.settle()
    assert _home(nodes).confirmed.value == 4


def test_a_message_for_many_queues_goes_in_portions() -> None:
    nodes = LinkedBrokers("a", "b", units=400)
    queues = [nodes.declare("b", f"q{number}") for number in range(300)]
    full = nodes.declare("b", "full", x_max_length=0, x_overflow="reject-publish")
    refused: list[int] = []
    nodes["b"].lone.overdrawn = 0
    _publish(nodes, [queue.id for queue in queues], message(), refused)
    _publish(nodes, [full.id, *[queue.id for queue in queues]], message(), refused)
    _publish(nodes, [queues[0].id], message(b"last"), refused)
    nodes.settle()
    assert [queue.ready for queue in queues] == [3] + [2] * 299
    assert refused == [2]
    assert _home(nodes).confirmed.value == 3
    assert nodes["b"].lone.overdrawn < 100


def _send(nodes: LinkedBrokers, *publishes: tuple[int, Sequence[int], Content]) -> str:
    """Send publishes as they are; returns the reason why the link ended."""
    end = next(iter(nodes.cables.values())).ends[0]
    buffers = [each for publish in publishes for each in encode_publish(*publish)]
    nodes.act("a", lambda: end.link.send(Lane.PUBLISH, PublishKind.PUBLISH, buffers))
    nodes.settle()
    return end.link.reason


def test_a_wrong_peer_loses_its_link_and_nothing_else_happens() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    bad = Content(b"\0\0", encode_header(4, Properties(expiration="soon")), b"body")
    for publishes, why in (
        ([(1, [queue.id], message()), (1, [queue.id], message())], "came after publish 1"),
        ([(1, [queue.id], message()), (3, [queue.id], message())], "came after publish 1"),
        ([(1, [queue.id], bad)], "can't be read"),
    ):
        assert why in _send(nodes, *publishes)
        nodes.join("a", "b")
        nodes.settle()
    assert queue.ready == 2


def test_an_inner_queue_can_not_be_named() -> None:
    nodes = LinkedBrokers("a", "b")
    once = nodes.declare("b", "once", x_message_id_window=10)
    assert once.deduplication is not None
    inner = once.deduplication.queue
    _publish(nodes, [inner.id], message())
    nodes.settle()
    assert (inner.ready, _home(nodes).confirmed.value) == (0, 1)


def test_what_waits_when_the_link_is_lost_is_never_taken() -> None:
    journal = RecordingJournal()
    journal.free_space = space = _LittleSpace()
    nodes = LinkedBrokers("a", "b", journals={"b": journal})
    queue = nodes.declare("b", "q", durable=True)
    refused: list[int] = []
    space.left = 1
    _publish(nodes, [queue.id], message(b"1", delivery_mode=2), refused)
    nodes.settle()
    _publish(nodes, [queue.id], message(b"2", delivery_mode=2), refused)
    nodes.settle()
    nodes.cut("a", "b")
    nodes.settle()
    assert refused == [1, 2]
    space.left = 5
    nodes.join("a", "b")
    nodes["b"].lone.sync()
    nodes.settle()
    assert _bodies(queue) == [b"1"]
    _publish(nodes, [queue.id], message(b"3", delivery_mode=2), refused)
    nodes.settle()
    nodes["b"].lone.sync()
    nodes.settle()
    assert _bodies(queue) == [b"1", b"3"]
    assert (refused, _home(nodes).confirmed.value) == ([1, 2], 3)


def test_a_repetition_is_confirmed_when_what_it_repeats_is_on_disk() -> None:
    nodes = LinkedBrokers("a", "b", "c", journals={"b": RecordingJournal()})
    once = nodes.declare("b", "once", durable=True, x_message_id_window=10)
    nodes["b"].lone.sync()
    _publish(nodes, [once.id], message(message_id="x", delivery_mode=2))
    nodes.settle()
    home = nodes["c"].queue_links.home("b")
    content = message(message_id="x", delivery_mode=2)
    nodes.act("c", lambda: home.publish([once.id], content))
    nodes.settle()
    assert (once.ready, home.confirmed.value) == (1, 0)
    nodes["b"].lone.sync()
    nodes.settle()
    assert home.confirmed.value == 1


def test_a_repetition_of_what_is_on_its_way_into_many_queues_waits_for_it() -> None:
    nodes = LinkedBrokers("a", "b", "c", units=100)
    queues = [nodes.declare("b", f"q{number}") for number in range(300)]
    once = nodes.declare("b", "once", x_message_id_window=10)
    home = nodes["c"].queue_links.home("b")
    ids = [*[queue.id for queue in queues], once.id]
    _publish(nodes, ids, message(message_id="x"))
    while not queues[0].ready:
        nodes.turn()
    assert not once.ready
    nodes.act("c", lambda: home.publish([once.id], message(message_id="x")))
    nodes.settle()
    assert (once.ready, home.confirmed.value) == (1, 1)


def test_a_message_is_for_queues_of_one_virtual_host() -> None:
    nodes = LinkedBrokers("a", "b")
    queue = nodes.declare("b", "q")
    broker = nodes["b"].lone.broker
    for act in (
        lambda: broker.add_vhost("other"),
        lambda: broker.access.allow_everything("guest", "other"),
    ):
        broker.work.start(agreed(act), "")
        nodes.settle()
    nodes["b"].lone.client(vhost="other").send(1, QueueDeclare("q"))
    nodes.settle()
    other = broker.vhosts["other"].queues["q"]
    assert "several virtual hosts" in _send(nodes, (1, [queue.id, other.id], message()))
    assert (queue.ready, other.ready) == (0, 0)


def test_who_sends_more_than_may_be_unanswered_loses_the_link() -> None:
    nodes = LinkedBrokers("a", "b", journals={"b": RecordingJournal()})
    queue = nodes.declare("b", "q", durable=True)
    stored = message(b"", delivery_mode=2)
    publishes = [(number, [queue.id], stored) for number in range(1, UNANSWERED_MAX + 3)]
    assert "without an answer" in _send(nodes, *publishes)
    assert queue.ready == UNANSWERED_MAX + 1
