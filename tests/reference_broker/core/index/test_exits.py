"""Each way by which a message leaves a queue: what is logged, and that the index waits for it."""

from __future__ import annotations

import ast
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker import core
from reference_broker.core.arguments.requeue_position import RequeuePosition, RequeueRule
from reference_broker.core.index.entry_state import EntryState
from reference_broker.core.index.exits import LocalExits
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.journal.journal import Entry
from reference_broker.core.message.content import NOT_STORED, Content
from reference_broker.core.queue.lease import Lease
from reference_broker.core.queue.queue import Queue
from reference_broker.core.queue.returns import move
from reference_broker.core.queue.transfer import Transfer
from reference_broker.testing.lone_queue import LoneConsumer, QueueHost, delete_now, purge_now
from reference_broker.testing.recording_journal import RecordingJournal

TRANSIENT, PERSISTENT = (encode_header(1, Properties(delivery_mode=mode)) for mode in (1, 2))
QUEUE = 7
GONE = EntryState.GONE


class WatchfulJournal(RecordingJournal):
    """Notes with each record that ends an entry, and each page that is let go, how many entries
    ``indexes`` have at that moment: ``seen``."""

    def __init__(self) -> None:
        super().__init__()
        self.indexes: Callable[[], Iterable[QueueIndex]] = list
        self.seen: list[tuple[str, int]] = []

    def _note(self, verb: str) -> None:
        self.seen.append((verb, sum(len(index) for index in self.indexes())))

    def ack(self, queue_id: int, sequence: int, position: int, stored: int) -> None:
        self._note("ack")
        super().ack(queue_id, sequence, position, stored)

    def ack_run(self, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        self._note("ack_run")
        return super().ack_run(queue_id, sequence, contents)

    def ack_range(
        self, queue_id: int, first: int, positions: array[int], stored: array[int]
    ) -> None:
        self._note("ack_range")
        super().ack_range(queue_id, first, positions, stored)

    def move(self, *source_and_target: Any) -> None:
        self._note("move")
        super().move(*source_and_target)

    def unpage(self, position: int) -> None:
        self._note("unpage")
        super().unpage(position)


@dataclass
class Rig:
    """An index with messages, as ``kinds`` say: ``l`` in the log, ``t`` in memory alone, ``p`` on a
    page; all are taken where ``taken`` is true. What publishing logged is forgotten."""

    kinds: str
    durable: bool = True
    taken: bool = True
    journal: WatchfulJournal = field(default_factory=WatchfulJournal)

    def __post_init__(self) -> None:
        self.index = QueueIndex(0)
        self.exits = LocalExits(self.journal, QUEUE, durable=self.durable)
        self.contents = [self._put(kind) for kind in self.kinds]
        self.journal.records.clear()
        self.journal.indexes = lambda: [self.index]

    def _put(self, kind: str) -> Content:
        content = Content(b"", b"", b"body")
        position, sequence = NOT_STORED, self.index.tail
        if kind == "l":
            self.journal.publish([Entry(QUEUE, sequence)], content)
            position = content.position
        elif kind == "p":
            position = self.journal.page(content)
        self.index.append(position, 4, content.stored, 0)
        if self.taken:
            self.index.take()
        return content

    @property
    def acked(self) -> list[int]:
        assert {record[0] for record in self.journal.records} <= {"ack"}
        return [record[2] for record in self.journal.records]

    def row(self, sequence: int) -> tuple[int, int, int]:
        position, _, stored, _ = self.index.entry(sequence)
        return sequence, position, stored


def test_one_message_of_the_log_goes_from_the_index_behind_its_record() -> None:
    rig = Rig("l")
    rig.exits.end(rig.index, 0, rig.contents[0])
    assert rig.acked == [0]
    assert rig.journal.seen == [("ack", 1)]
    assert rig.index.state_of(0) is GONE


@pytest.mark.parametrize(("kind", "durable"), [("t", True), ("l", False)])
def test_no_record_ends_what_has_no_entry_in_the_log(kind: str, durable: bool) -> None:
    """A message in memory alone, and one that the log has for other queues."""
    rig = Rig(kind, durable=durable)
    rig.exits.end(rig.index, 0, rig.contents[0])
    assert (rig.journal.seen, rig.index.state_of(0)) == ([], GONE)


def test_a_message_that_is_not_taken_can_not_end() -> None:
    rig = Rig("t", taken=False)
    with pytest.raises(Exception, match="settle of 0"):
        rig.exits.end(rig.index, 0, rig.contents[0])


class SparingJournal(WatchfulJournal):
    """Folds no more than two acks at a time."""

    def ack_run(self, queue_id: int, sequence: int, contents: Sequence[Content]) -> int:
        return super().ack_run(queue_id, sequence, contents[:2])


def test_a_run_goes_as_far_as_the_journal_folds_it() -> None:
    rig = Rig("llll")
    rig.exits.end(rig.index, 0, rig.contents[0])
    assert rig.exits.end_run(rig.index, 1, rig.contents[1:]) == 3
    assert rig.acked == [0, 1, 2, 3]
    assert rig.journal.seen[:2] == [("ack", 4), ("ack_run", 3)]
    assert len(rig.index) == 0


def test_the_rest_of_a_run_stays() -> None:
    rig = Rig("llll", journal=SparingJournal())
    assert rig.exits.end_run(rig.index, 0, rig.contents) == 2
    assert (rig.acked, len(rig.index)) == ([0, 1], 2)


def test_a_run_that_the_log_does_not_have_goes_without_it() -> None:
    for rig in (Rig("ttt"), Rig("lll", durable=False)):
        assert rig.exits.end_run(rig.index, 0, rig.contents) == 3
        assert (rig.journal.seen, len(rig.index)) == ([], 0)


@pytest.mark.parametrize("way", ["end_absent", "lose"])
@pytest.mark.parametrize(("kind", "seen"), [("l", [("ack", 1)]), ("p", [("unpage", 1)]), ("t", [])])
def test_an_absent_message_takes_what_is_kept_for_it_along(
    way: str, kind: str, seen: list[tuple[str, int]]
) -> None:
    rig = Rig(kind, taken=way == "end_absent")
    getattr(rig.exits, way)(rig.index, *rig.row(0))
    assert rig.journal.seen == seen
    assert rig.acked == ([0] if kind == "l" else [])
    assert (rig.index.state_of(0), rig.index.ready, rig.journal.pages) == (GONE, 0, {})


def runs(rig: Rig) -> Iterator[None]:
    """End all rows, run by run."""
    find = rig.index.taken_run if rig.taken else rig.index.ready_run
    end = rig.exits.end_taken if rig.taken else rig.exits.end_ready
    while (run := find(rig.index.tail)) is not None:
        end(rig.index, run)
        yield


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize(
    ("kinds", "seen"),
    [
        ("lll", [("ack_range", 3), ("ack", 3), ("ack", 3), ("ack", 3)]),
        ("ttt", []),
        ("ltpl", [("ack", 4), ("unpage", 2), ("ack", 1)]),
        ("pp", [("unpage", 2), ("unpage", 1)]),
    ],
)
def test_rows_go_as_a_range_or_one_by_one(
    taken: bool, kinds: str, seen: list[tuple[str, int]]
) -> None:
    """A range is one record, and the recording journal takes it apart."""
    rig = Rig(kinds, taken=taken)
    assert len(list(runs(rig))) == 1
    assert rig.journal.seen == seen
    assert rig.acked == [place for place, kind in enumerate(kinds) if kind == "l"]
    assert (len(rig.index), rig.index.ready, rig.index.held_bytes) == (0, 0, 0)
    assert rig.journal.pages == {}


def test_a_move_is_one_record_and_the_entry_waits_for_its_targets() -> None:
    rig = Rig("l")
    letter, entries = Content(b"", b"", b"letter"), (Entry(8, 3),)
    assert rig.exits.move(0, rig.contents[0], entries, letter)
    assert rig.journal.records == [("move", QUEUE, 0, rig.contents[0].position, entries, b"letter")]
    assert rig.journal.message(letter.position) is letter
    assert rig.index.state_of(0) is EntryState.TAKEN
    rig.exits.end_moved(rig.index, 0)
    assert (rig.index.state_of(0), len(rig.journal.records)) == (GONE, 1)


@pytest.mark.parametrize(("kind", "durable"), [("t", True), ("p", True), ("l", False)])
def test_a_message_without_an_entry_in_the_log_is_not_moved(kind: str, durable: bool) -> None:
    rig = Rig(kind, durable=durable)
    letter = Content(b"", b"", b"letter")
    assert not rig.exits.move(0, rig.contents[0], (Entry(8, 3),), letter)
    assert (rig.journal.records, letter.position) == ([], NOT_STORED)
    assert rig.index.state_of(0) is EntryState.TAKEN


# A whole queue


@pytest.fixture
def journal() -> WatchfulJournal:
    return WatchfulJournal()


@pytest.fixture
def host(journal: WatchfulJournal) -> QueueHost:
    host = QueueHost(journal)
    journal.indexes = lambda: [i for queue in host.queues.values() for i in queue.indexes()]
    return host


def got(queue: Queue) -> Lease:
    lease = queue.get(None)
    assert lease is not None
    return lease


def test_an_ack_a_rejection_and_what_is_dropped(host: QueueHost, journal: WatchfulJournal) -> None:
    queue = host.declare("q", max_length=3)
    host.publish(queue, *(b"%d" % number for number in range(4)), header=PERSISTENT)
    assert journal.seen == [("ack", 4)]  # max-length 3
    queue.ack(got(queue))
    queue.reject(got(queue))
    assert journal.seen[1:] == [("ack", 3), ("ack", 2)]
    assert (len(queue.index), queue.header_bytes) == (1, len(PERSISTENT))


@pytest.mark.parametrize(
    ("source", "target", "header", "verb"),
    [
        (True, True, PERSISTENT, "move"),
        (True, False, PERSISTENT, "ack"),
        (False, True, PERSISTENT, ""),
        (True, True, TRANSIENT, ""),
    ],
)
@pytest.mark.parametrize("targets", [1, 2])
def test_a_dead_letter_is_in_its_queue_before_its_source_goes(
    host: QueueHost,
    journal: WatchfulJournal,
    source: bool,
    target: bool,
    header: bytes,
    verb: str,
    targets: int,
) -> None:
    """A move names both, and the letter is appended behind it; an ack comes behind the letter."""
    graves = [host.declare(f"grave{number}", durable=target) for number in range(targets)]
    host.routes["dlx", "k"] = [queue.name for queue in graves]
    queue = host.declare(
        "q", durable=source, dead_letter_exchange="dlx", dead_letter_routing_key="k"
    )
    host.publish(queue, b"x", header=header)
    queue.reject(got(queue))
    seen = {"move": [("move", 1)], "ack": [("ack", 1 + targets)], "": []}
    assert journal.seen == seen[verb]
    assert [len(each.index) for each in (queue, *graves)] == [0] + [1] * targets
    assert queue.header_bytes == 0


def test_a_letter_to_a_durable_and_a_transient_queue_is_published(
    host: QueueHost, journal: WatchfulJournal
) -> None:
    host.declare("durable")
    host.declare("transient", durable=False)
    host.routes["dlx", "k"] = ["durable", "transient"]
    queue = host.declare("q", dead_letter_exchange="dlx", dead_letter_routing_key="k")
    host.publish(queue, b"x", header=PERSISTENT)
    queue.reject(got(queue))
    assert [record[0] for record in journal.records] == ["publish", "publish", "ack"]
    assert journal.seen == [("ack", 3)]
    assert len(journal.live()) == 1


@pytest.mark.parametrize(
    ("header", "seen", "returned"), [(PERSISTENT, [("move", 1)], 1), (TRANSIENT, [], 0)]
)
def test_a_move_within_the_queue(
    host: QueueHost,
    journal: WatchfulJournal,
    header: bytes,
    seen: list[tuple[str, int]],
    returned: int,
) -> None:
    queue = host.declare("q")
    host.publish(queue, b"x", header=header)
    lease = got(queue)
    del queue.leases[lease.sequence]
    index, sequence, _ = move(queue, lease, RequeueRule(RequeuePosition.BACK))
    assert journal.seen == seen
    assert [record[0] for record in journal.records].count("requeue") == returned
    assert (len(queue.index), index.head_sequence()) == (1, sequence)


def test_a_transfer_to_another_queue(host: QueueHost, journal: WatchfulJournal) -> None:
    source, destination = host.declare("a"), host.declare("b")
    host.publish(source, b"x", header=PERSISTENT)
    Transfer(source, destination, 1, 1_000).run()
    assert journal.seen == [("move", 1)]
    assert (len(source.index), len(destination.index)) == (0, 1)


def test_acks_in_a_row(host: QueueHost, journal: WatchfulJournal) -> None:
    queue, consumer = host.declare("q"), LoneConsumer(no_ack=True)
    host.publish(queue, *(b"%d" % number for number in range(4)), header=PERSISTENT)
    queue.add_consumer(consumer)
    host.settle()
    assert journal.seen[:2] == [("ack", 4), ("ack_run", 3)]
    assert (len(queue.index), queue.header_bytes, queue.acked) == (0, 0, 4)


def test_a_purge_and_the_end_of_a_queue(host: QueueHost, journal: WatchfulJournal) -> None:
    queue = host.declare("q")
    host.publish(queue, b"1", b"2", b"3", header=PERSISTENT)
    lease = got(queue)
    assert purge_now(queue) == 2
    assert journal.seen[0] == ("ack_range", 3)
    journal.seen.clear()
    delete_now(queue)
    assert journal.seen[0] == ("ack_range", 1)
    queue.ack(lease)
    assert (queue.stale_settlements, journal.live()) == (1, [])


def test_a_damaged_message_is_lost(host: QueueHost, journal: WatchfulJournal) -> None:
    queue = host.declare("q")
    host.window.size_bytes = 0
    host.publish(queue, b"1", b"2", header=PERSISTENT)
    assert queue.backlog.absent == 2
    journal.damaged[0] = None
    queue.backlog.want_head()
    host.answer_fetches()
    assert journal.seen == [("ack", 2)]
    assert (queue.lost, queue.ready, queue.backlog.absent) == (1, 1, 0)


# No other way


class WaysOut(ast.NodeVisitor):
    """Finds what ends an entry, in the journal or in an index, or refers to what does."""

    ONLY_HERE = frozenset({"ack_run", "ack_range", "settle_run", "drop_ready"})
    OF_A_JOURNAL = frozenset({"ack", "move"})
    OF_ANOTHER = frozenset({"transaction", "held[-1]"})
    """A channel's transaction and its parts have a ``settle``, too: for leases of its client."""

    def __init__(self, source: str) -> None:
        self.found: list[str] = []
        self.visit(ast.parse(source))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Called or not: what is handed on is called elsewhere."""
        of = ast.unparse(node.value).rpartition(".")[2].lstrip("_")
        if (
            node.attr in self.ONLY_HERE
            or (node.attr in self.OF_A_JOURNAL and of == "journal")
            or (node.attr == "settle" and of not in self.OF_ANOTHER)
            or (node.attr == "forget" and "index" in of)
        ):
            self.found.append(f"{node.lineno}: {ast.unparse(node)}")
        self.generic_visit(node)


def test_nothing_else_in_the_core_ends_an_entry() -> None:
    """But the index, which calls what its chunks offer by the same name."""
    root = Path(core.__file__).parent
    found = {
        str(path.relative_to(root)): ways
        for path in root.rglob("*.py")
        if path != root / "index/index.py" and (ways := WaysOut(path.read_text()).found)
    }
    assert list(found) == ["index/exits.py"], found
    assert len(found["index/exits.py"]) >= 9


def test_a_page_is_let_go_only_where_its_message_goes_or_comes_into_memory() -> None:
    root = Path(core.__file__).parent
    users = [path.name for path in root.rglob("*.py") if ".unpage(" in path.read_text()]
    assert sorted(users) == ["backlog.py", "exits.py"]
    assert (root / "queue/backlog.py").read_text().count(".unpage(") == 1


@pytest.mark.parametrize(
    "line",
    [
        "queue.env.journal.ack(queue.id, 5, position, stored)",
        "self._journal.move(*source, entries, letter)",
        "drop = index.settle_run",
        "self.index_of(5).settle(5)",
        "index.forget(5)",
        "map(index.drop_ready, counts)",
    ],
)
def test_another_way_out_would_be_found(line: str) -> None:
    assert len(WaysOut(line).found) == 1
    assert WaysOut("channel.transaction.settle(1); queue.ack(lease); targets.forget(1)").found == []
