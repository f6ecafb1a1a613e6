"""joining: who may, who may not and why, and that it can be begun again at any point."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_broker.cluster.coordinator import (
    InDoubt,
    Lost,
    Outcome,
    Page,
    Put,
    Row,
    Transaction,
    Unread,
    Won,
)
from reference_broker.cluster.membership.joining import (
    NODES_EVER_MAX,
    Answer,
    Applicant,
    FolderMark,
    Joined,
    Lookup,
    Marked,
    TryAgain,
    joining,
)
from reference_broker.cluster.membership.records import (
    FEATURE_LEVEL,
    ClusterRecord,
    LiveRecord,
    MemberRecord,
    NodeState,
    encoded,
)
from reference_broker.cluster.membership.seen_metadata import SeenMetadata
from reference_broker.cluster.metadata.proposal import SeenProposal
from reference_broker.errors import ClusterRefused, Corrupt

P = "/mqkit/prod/"
NEW = Applicant(
    cluster="prod",
    node="a",
    secret_fingerprint="f00",
    run=4,
    start_id="s1",
    position=700,
    amqp="127.0.0.1:5672",
    http="127.0.0.1:15672",
    mark=None,
    new_id="c1",
    new_disk_id="d1",
    wall_ms=1_700_000_000_000,
)
CLUSTER = ClusterRecord("c1", FEATURE_LEVEL, "f00", 1_700_000_000_000)
MEMBER = MemberRecord(1, "d1", 3, "s0", 650, "127.0.0.1:5672", "127.0.0.1:15672")
MARK = FolderMark("c1", "a", "d1")


class Rows:
    """The rows of an etcd, and the mark of a data folder; the test says what goes wrong."""

    def __init__(self, **rows: bytes) -> None:
        self.rows = {key.replace("__", "/"): (value, 5) for key, value in rows.items()}
        self.revision = 5
        self.mark: FolderMark | None = None
        self.asked = 0
        self.fails_at = 0
        self.ahead_s = 0.0

    def join(self, applicant: Applicant) -> Joined:
        steps = joining(applicant)
        answer: Answer = None
        while True:
            try:
                asked = steps.send(answer)
            except StopIteration as end:
                joined: Joined = end.value
                return joined
            self.asked += 1
            if isinstance(asked, Lookup):
                answer = self._page(asked)
            elif isinstance(asked, Transaction):
                answer = self._carry_out(asked)
            elif isinstance(asked, Marked):
                self.mark, answer = asked.mark, None

    def _page(self, lookup: Lookup) -> Page | Unread:
        if self.asked == self.fails_at:
            return Unread("no leader")
        found = [
            Row(P + key, value, revision)
            for key, (value, revision) in sorted(self.rows.items())
            if (P + key).startswith(lookup.prefix)
        ]
        if lookup.after:
            return Page((found[-1],), self.revision, False, self.ahead_s)
        # More than one row is more than one page.
        return Page(tuple(found[:-1] or found), self.revision, len(found) > 1, self.ahead_s)

    def _carry_out(self, transaction: Transaction) -> Outcome:
        for key, revision in transaction.compares:
            if self.rows.get(key.removeprefix(P), (b"", 0))[1] != revision:
                return Lost(self.revision)
        self.revision += 1
        for change in transaction.changes:
            if isinstance(change, Put):
                self.rows[change.key.removeprefix(P)] = (change.value, self.revision)
            else:
                self.rows.pop(change.key.removeprefix(P), None)
        return InDoubt("no answer") if self.asked == self.fails_at else Won(self.revision)


def _founded(member: MemberRecord | None = MEMBER, **more: bytes) -> Rows:
    rows = {"cluster": encoded(CLUSTER), "next__node": b"2", **more}
    if member is not None:
        rows["members__a"] = encoded(member)
    return Rows(**rows)


def test_the_first_one_founds_the_cluster() -> None:
    rows = Rows()
    joined = rows.join(NEW)
    assert joined.cluster == CLUSTER
    assert joined.member == MemberRecord(1, "d1", 4, "s1", 700, NEW.amqp, NEW.http)
    assert rows.mark == MARK
    assert list(rows.rows) == ["cluster", "next/ids", "next/node", "members/a"]
    assert joined.id_block == 1
    assert joined.member_revision == rows.revision


def test_each_start_has_ids_of_its_own() -> None:
    rows, blocks = Rows(), list[int]()
    for run in range(4, 8):
        started = replace(NEW, run=run, start_id=f"s{run}", mark=rows.mark)
        blocks.append(rows.join(started).id_block)
    blocks.append(rows.join(replace(NEW, node="b", new_disk_id="d2")).id_block)
    assert blocks == [1, 2, 3, 4, 5]
    assert rows.rows["next/ids"][0] == b"6"


def test_the_next_one_gets_the_next_number() -> None:
    rows = _founded()
    joined = rows.join(replace(NEW, node="b", new_id="c2", new_disk_id="d2"))
    assert (joined.cluster.id, joined.member.number) == ("c1", 2)
    assert rows.mark == FolderMark("c1", "b", "d2")
    assert rows.join(replace(NEW, node="c", new_disk_id="d3")).member.number == 3


def test_the_folder_of_a_node_that_was_forgotten_is_refused() -> None:
    rows = _founded(None, forgotten__d1=b"a", next__node=b"2")
    with pytest.raises(ClusterRefused, match=r"was forgotten by the cluster 'prod'.*new folder"):
        rows.join(replace(NEW, mark=MARK))
    assert "members/a" not in rows.rows


def test_a_node_that_was_forgotten_joins_anew_with_a_new_folder() -> None:
    rows = _founded(None, forgotten__d1=b"a", next__node=b"2")
    joined = rows.join(replace(NEW, new_disk_id="d2"))
    assert (joined.member.number, joined.member.disk_id, joined.lost_disk_id) == (2, "d2", None)


def test_a_folder_that_was_marked_before_it_was_a_members_joins() -> None:
    rows = _founded(None, forgotten__d3=b"a", next__node=b"2")
    assert rows.join(replace(NEW, mark=MARK)).member.disk_id == "d1"


def test_a_member_that_starts_again_keeps_its_number() -> None:
    rows = _founded()
    joined = rows.join(replace(NEW, mark=MARK))
    assert joined.member == MemberRecord(1, "d1", 4, "s1", 700, NEW.amqp, NEW.http)
    assert joined.lost_disk_id is None
    assert rows.mark is None


def test_a_member_that_has_seen_no_more_than_etcd_has_joins() -> None:
    assert _founded().join(replace(NEW, mark=MARK, seen=SeenMetadata(0, 5))).member.number == 1


@pytest.mark.parametrize(
    "rows",
    [
        _founded(proposals__b=b"3 17"),
        _founded(proposals__b=b"4 1"),
        _founded(),  # b was forgotten
        _founded(cluster=encoded(replace(CLUSTER, history=1, restored_from=5))),
    ],
)
def test_a_member_whose_proposals_etcd_has_joins(rows: Rows) -> None:
    assert rows.join(OVERTAKEN).member.number == 1


def test_a_name_that_began_anew_has_lower_runs() -> None:
    seen = replace(OVERTAKEN, proposals={"b": SeenProposal(-1, 9, 17)})
    assert _founded(proposals__b=b"1 1").join(seen).member.number == 1


def test_an_empty_folder_under_a_name_that_is_free_takes_its_place() -> None:
    joined = _founded().join(replace(NEW, new_disk_id="d9"))
    assert (joined.member.number, joined.member.disk_id) == (1, "d9")
    assert joined.lost_disk_id == "d1"


def _live(run: int) -> bytes:
    return encoded(LiveRecord(run, NodeState.UP, "127.0.0.1:25672"))


OVERTAKEN = replace(
    NEW, mark=MARK, seen=SeenMetadata(0, 5), proposals={"b": SeenProposal(0, 3, 17)}
)
"""A folder whose revision etcd has reached again since it was restored from an older copy."""

REFUSED = [
    (_founded(), replace(NEW, secret_fingerprint="bad"), "--cluster-secret-file"),
    (
        Rows(cluster=encoded(replace(CLUSTER, feature_level=FEATURE_LEVEL + 1))),
        NEW,
        "start a later version",
    ),
    (Rows(), replace(NEW, mark=MARK), "a cluster that etcd doesn't have"),
    (_founded(), replace(NEW, mark=FolderMark("c7", "a", "d1")), "belongs to another cluster"),
    (_founded(), replace(NEW, mark=FolderMark("c1", "b", "d1")), "--node-name b"),
    (_founded(live__a=_live(3)), replace(NEW, new_disk_id="d9"), "'a' is taken"),
    (_founded(), replace(NEW, mark=FolderMark("c1", "a", "d0")), "was replaced"),
    (_founded(), replace(NEW, mark=MARK, run=3), "older image"),
    (
        _founded(),
        replace(NEW, mark=MARK, seen=SeenMetadata(0, 6)),
        "etcd is at revision 5, and this data folder has seen 6",
    ),
    (_founded(None), replace(NEW, mark=MARK, seen=SeenMetadata(0, 4)), "which was a member"),
    (_founded(proposals__b=b"3 16"), OVERTAKEN, "a change of 'b' is not in it"),
    (_founded(), replace(NEW, mark=MARK, position=649), "older image"),
    (_founded(None, next__node=b"65536"), NEW, f"has had {NODES_EVER_MAX} nodes"),
]


@pytest.mark.parametrize(("rows", "applicant", "why"), REFUSED, ids=[row[2] for row in REFUSED])
def test_who_may_not_join_is_told_why_and_nothing_is_changed(
    rows: Rows, applicant: Applicant, why: str
) -> None:
    before = dict(rows.rows)
    with pytest.raises(ClusterRefused) as caught:
        rows.join(applicant)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
    assert rows.rows == before
    if rows.mark is not None:  # the folder is this node's; it just can't be one more
        assert why == f"has had {NODES_EVER_MAX} nodes"


def test_a_lease_that_is_left_of_an_earlier_run_is_no_node() -> None:
    rows = _founded(live__a=_live(2))
    assert rows.join(replace(NEW, new_disk_id="d9")).lost_disk_id == "d1"


def test_a_node_whose_name_begins_alike_is_another() -> None:
    rows = _founded(None, members__ab=encoded(MEMBER))
    assert rows.join(NEW).member.number == 2


@pytest.mark.parametrize("key", ["cluster", "members/a", "next/node", "next/ids"])
def test_a_row_that_cannot_be_read_is_named(key: str) -> None:
    rows = _founded(None if key == "next/node" else MEMBER)
    rows.rows[key] = (b"{", 5)
    with pytest.raises(Corrupt, match=key):
        rows.join(NEW)


@pytest.mark.parametrize("is_started_again", [False, True])
@pytest.mark.parametrize("fails_at", [1, 2, 3, 5, 6])  # 4 is the mark, which is no request
def test_it_can_be_begun_again_at_any_point(fails_at: int, is_started_again: bool) -> None:
    """A founder whose answers are lost, though its requests are carried out."""
    rows, again = Rows(), NEW
    rows.fails_at = fails_at
    with pytest.raises(TryAgain, match=r"no leader|no answer"):
        rows.join(NEW)
    rows.fails_at = 0
    if is_started_again:
        again = replace(NEW, run=5, start_id="s2", new_id="c2", new_disk_id="d2")
    joined = rows.join(replace(again, mark=rows.mark))
    assert joined.cluster.id == ("c2" if is_started_again and fails_at == 1 else "c1")
    assert (joined.member.number, joined.lost_disk_id) == (1, None)
    assert rows.rows["next/node"][0] == b"2"


def test_a_copy_of_the_folder_is_not_the_node_itself() -> None:
    rows = _founded()
    rows.join(replace(NEW, mark=MARK))
    with pytest.raises(ClusterRefused, match="older image"):
        rows.join(replace(NEW, mark=MARK, start_id="s9"))


def test_two_founders_are_one_cluster() -> None:
    rows = Rows()
    second = joining(replace(NEW, node="b", new_id="c2", new_disk_id="d2"))
    assert isinstance(next(second), Lookup)
    founding = second.send(Page((), 5, False))
    assert isinstance(founding, Transaction)
    rows.join(NEW)
    with pytest.raises(TryAgain, match="another node was quicker"):
        second.send(rows._carry_out(founding))


class FolderOf:
    """The definitions of a folder, of which some can't be beside the cluster's."""

    def __init__(self, *bad: str) -> None:
        self._bad = bad

    def conflict(self, key: str, value: bytes) -> str | None:
        return f"{key} is another one there" if key in self._bad else None


def test_a_folder_that_cannot_bring_what_it_has_registers_nothing() -> None:
    rows = _founded(None, def__queue__q=b"", def__queue__r=b"", def__user__ann=b"")
    before = dict(rows.rows)
    brought = FolderOf("queue/q", "queue/r")
    with pytest.raises(ClusterRefused, match=r"queue/q is another one there \(and 1 more\)"):
        rows.join(replace(NEW, brought=brought))
    assert rows.rows == before
    assert rows.mark is None
    assert rows.join(replace(NEW, brought=FolderOf())).keeps_ids


def test_one_node_keeps_the_ids_of_its_folder() -> None:
    rows = Rows()
    first = replace(NEW, brought=FolderOf())
    assert rows.join(first).keeps_ids
    other = replace(NEW, node="b", start_id="s2", new_disk_id="d2", brought=FolderOf())
    assert not rows.join(other).keeps_ids
    again = replace(first, start_id="s3", run=5, mark=MARK)
    assert rows.join(again).keeps_ids
    assert not rows.join(replace(NEW, node="c", start_id="s4", new_disk_id="d4")).keeps_ids


@pytest.mark.parametrize(("ahead_s", "order"), [(600.0, "behind"), (-600.0, "ahead of")])
def test_a_clock_that_is_off_is_refused_before_anything_is_registered(
    ahead_s: float, order: str
) -> None:
    rows = Rows()
    rows.ahead_s = ahead_s
    with pytest.raises(ClusterRefused, match=f"600 s {order} that of etcd"):
        rows.join(NEW)
    assert rows.rows == {}
    rows.ahead_s = 59.0
    rows.join(NEW)
