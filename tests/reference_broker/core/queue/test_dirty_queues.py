"""The queues that wait for their dispatch: each once, in order, and in turn where that is asked."""

from __future__ import annotations

from mqkit.wire import Properties, encode_header
from reference_broker.core.queue.dirty_queues import DirtyQueues
from reference_broker.core.queue.queue import Queue
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost

HEADER = encode_header(1, Properties())


def three() -> tuple[Queue, Queue, Queue]:
    host = QueueHost()
    return host.declare("a"), host.declare("b"), host.declare("c")


def test_a_queue_is_marked_once() -> None:
    dirty = DirtyQueues()
    a, b, _ = three()
    for queue in (a, b, a):
        dirty.mark(queue)
    assert list(dirty) == [a, b]
    assert a.dirty
    assert b.dirty


def test_marking_in_turn_moves_them_behind_the_others_in_that_order() -> None:
    dirty = DirtyQueues()
    a, b, c = three()
    for queue in (a, b):
        dirty.mark(queue)
    dirty.mark_in_turn([c, a, c])
    assert list(dirty) == [b, c, a]
    assert c.dirty
    dirty.mark(c)
    assert list(dirty) == [b, c, a]


def test_a_dispatch_may_mark_others_in_turn() -> None:
    """Its consumer's channel wakes them, as a settlement may do: each is dispatched once."""
    host = QueueHost()
    a, b, c = (host.declare(name) for name in "abc")
    dispatched: list[str] = []

    class InTurn(LoneConsumer):
        def capacity(self) -> bool:
            dispatched.append(self.tag)
            if self.tag == "a":
                host.mark_in_turn([c, b])
            return super().capacity()

    for queue in (a, b, c):
        host.publish(queue, b"1", header=HEADER, settle=False)
        queue.add_consumer(InTurn(queue.name))
    host.settle()
    assert list(dict.fromkeys(dispatched)) == ["a", "c", "b"]
    assert [queue.dirty for queue in (a, b, c)] == [False, False, False]


def test_a_dispatched_queue_can_be_marked_again_meanwhile() -> None:
    host = QueueHost()
    queue, other = host.declare("q"), host.declare("other")
    dispatched: list[str] = []

    class Marking(LoneConsumer):
        """Marks ``other`` whenever it is asked, as a settlement may do."""

        def capacity(self) -> bool:
            dispatched.append("q" if not queue.dirty else "still dirty")
            host.mark_dirty(other)
            return super().capacity()

    consumer, behind = Marking(), LoneConsumer()
    host.publish(other, b"2", header=HEADER, settle=False)
    host.settle()
    queue.add_consumer(consumer)
    other.add_consumer(behind)
    host.settle()
    host.publish(queue, b"1", header=HEADER)
    assert (consumer.bodies, behind.bodies) == ([b"1"], [b"2"])
    assert "still dirty" not in dispatched
    assert [queue.dirty, other.dirty] == [False, False]
