"""Founding a cluster, and joining it: what a node does before it serves anybody.

The steps are a generator that asks, and is handed the answer; whoever drives it has etcd and the
data folder. They may be begun again at any point: a row that was written is found by the next
attempt, and a request that arrives late finds its compare broken.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeAlias

from reference_broker.cluster.coordinator import (
    Compare,
    Delete,
    InDoubt,
    Outcome,
    Page,
    Put,
    Refused,
    Row,
    Transaction,
    Unread,
    Won,
)
from reference_broker.cluster.membership.folder_mark import FolderMark as FolderMark
from reference_broker.cluster.membership.records import (
    FEATURE_LEVEL,
    ClusterRecord,
    LiveRecord,
    MemberRecord,
    decoded,
    encoded,
)
from reference_broker.cluster.membership.seen_metadata import (
    NOTHING_IS_DROPPED,
    SeenMetadata,
    require_later,
)
from reference_broker.cluster.metadata.keys import (
    CLUSTER,
    DEFINITIONS,
    FORGOTTEN,
    IDS_OF_FOLDER,
    LIVE,
    MEMBERS,
    NEXT_NUMBERS,
    PROPOSALS,
    cluster_prefix,
)
from reference_broker.cluster.metadata.proposal import SeenProposal, seen_proposal
from reference_broker.errors import ClusterRefused, Corrupt

NODE_NUMBERS = NEXT_NUMBERS + "node"
"""The key of the first node number that no node was ever given."""

ID_BLOCKS = NEXT_NUMBERS + "ids"
"""The key of the first block of ids that no run of any node was ever given."""

CLOCKS_APART_MAX_S = 60.0
"""Seconds by which a node's clock and etcd's may differ; links between nodes take as much."""

NODES_EVER_MAX = (1 << 16) - 1
"""Node numbers have 16 bits, and are never given again."""


class Lookup(NamedTuple):
    """Asks for a page of the rows whose keys begin with ``prefix``: the first one, or the one that
    follows the key ``after``, as it was at ``revision``."""

    prefix: str
    after: str = ""
    revision: int = 0


class Brought(Protocol):
    """The definitions that a folder brings: it was a single node's."""

    def conflict(self, key: str, value: bytes) -> str | None:
        """The reason, in a line, why they can't be beside the definition ``key`` of the cluster,
        as etcd has it; ``None`` if they can."""
        ...


class Marked(NamedTuple):
    """Asks for the data folder to be marked, and the mark to be on disk; answered by ``None``."""

    mark: FolderMark


@dataclass(frozen=True, slots=True)
class Applicant:
    """A node that wants to join ``cluster``. ``mark`` is that of its data folder, ``None`` for one
    that was in no cluster; ``brought`` are the definitions that are still in it. ``new_id`` and
    ``new_disk_id`` are for a cluster that it founds, and for a folder without a mark. These and
    ``start_id`` are random, and the same in each attempt. ``seen`` is the latest metadata that the
    folder has seen, and ``proposals`` the last ones in it, by node."""

    cluster: str
    node: str
    secret_fingerprint: str
    run: int
    start_id: str
    position: int
    amqp: str
    http: str
    mark: FolderMark | None
    new_id: str
    new_disk_id: str
    wall_ms: int
    seen: SeenMetadata | None = None
    proposals: Mapping[str, SeenProposal] = field(default_factory=dict)
    brought: Brought | None = None


class Joined(NamedTuple):
    """The node is a member. ``member_revision`` is that of its row; ``lost_disk_id`` is the disk
    that the node of this name had before, where this is another one. The ids that this run gives to
    queues are of its ``id_block``, which is no other's. The queues that it brings may have the ids
    of its folder if it ``keeps_ids``: one node of a cluster does, as folders number alike."""

    cluster: ClusterRecord
    member: MemberRecord
    member_revision: int
    lost_disk_id: str | None
    id_block: int
    keeps_ids: bool = False


Asked: TypeAlias = Lookup | Transaction | Marked
Answer: TypeAlias = Page | Unread | Outcome | None
JoinSteps: TypeAlias = Generator[Asked, Answer, Joined]


class TryAgain(Exception):
    """Another node was quicker, or etcd did not carry the request out: begin again from the first
    step, after a pause."""


def joining(applicant: Applicant) -> JoinSteps:
    """The steps of joining, and of founding the cluster where there is none.

    Raises :exc:`ClusterRefused`, :exc:`Corrupt` for a row that can't be read, and
    :exc:`TryAgain`.
    """
    prefix = cluster_prefix(applicant.cluster)
    cluster = yield from _cluster(applicant, prefix)
    row = yield from _row(prefix + MEMBERS + applicant.node)
    known = None if row is None else decoded(MemberRecord, row.key, row.value)
    mark = applicant.mark or FolderMark(cluster.id, applicant.node, applicant.new_disk_id)
    if known is not None:
        live = yield from _row(prefix + LIVE + applicant.node)
        _check_member(applicant, mark, known, live)
    elif applicant.mark is not None:
        _check_forgotten(applicant, (yield from _row(prefix + FORGOTTEN + mark.disk_id)))
        _check_never_joined(applicant)
    if applicant.brought is not None:
        yield from _checked(applicant.cluster, applicant.brought, prefix + DEFINITIONS)
    if applicant.mark is None:
        yield Marked(mark)
    member = MemberRecord(
        number=0 if known is None else known.number,
        disk_id=mark.disk_id,
        run=applicant.run,
        start_id=applicant.start_id,
        position=applicant.position,
        amqp=applicant.amqp,
        http=applicant.http,
    )
    block = yield from _taken(prefix + ID_BLOCKS)
    own = Compare(prefix + MEMBERS + applicant.node, 0 if row is None else row.revision)
    compares, changes = [own, block.compare], list[Put | Delete]([block.put])
    if known is None:
        numbers = yield from _taken(prefix + NODE_NUMBERS)
        if numbers.number > NODES_EVER_MAX:
            raise ClusterRefused(
                f"the cluster has had {NODES_EVER_MAX} nodes, and can take no more"
            )
        member = replace(member, number=numbers.number)
        compares, changes = [*compares, numbers.compare], [*changes, numbers.put]
    keeps_ids = False
    if applicant.brought is not None:
        keeper = yield from _row(prefix + IDS_OF_FOLDER)
        keeps_ids = keeper is None or keeper.value.decode() == applicant.node
        if keeper is None:
            compares.append(Compare(prefix + IDS_OF_FOLDER, 0))
            changes.append(Put(prefix + IDS_OF_FOLDER, applicant.node.encode()))
    changes.append(Put(own.key, encoded(member)))
    lost = None if known is None or known.disk_id == member.disk_id else known.disk_id
    if lost is not None:  # the runs of another disk begin anew
        changes.append(Delete(prefix + PROPOSALS + applicant.node))
    revision = yield from carried_out(Transaction(tuple(compares), tuple(changes)))
    return Joined(cluster, member, revision, lost, block.number, keeps_ids)


def _checked(cluster: str, brought: Brought, prefix: str) -> Generator[Asked, Answer, None]:
    """See that the definitions of the folder can be beside those of the cluster: before anything is
    registered."""
    asked, conflicts = Lookup(prefix), 0
    first = ""
    while True:
        page = yield asked
        if not isinstance(page, Page):
            raise TryAgain(_reason(page))
        for row in page.rows:
            why = brought.conflict(row.key.removeprefix(prefix), row.value)
            if why is not None:
                first, conflicts = first or why, conflicts + 1
        if not page.more:
            break
        asked = Lookup(prefix, page.rows[-1].key, page.revision)
    if conflicts:
        more = f" (and {conflicts - 1} more)" if conflicts > 1 else ""
        raise ClusterRefused(
            f"the data folder can't bring what it has to the cluster {cluster!r}: {first}{more}."
            " Delete it on either side, or use a new folder"
        )


def _row(key: str) -> Generator[Asked, Answer, Row | None]:
    page = yield Lookup(key)
    if not isinstance(page, Page):
        raise TryAgain(_reason(page))
    return next((row for row in page.rows if row.key == key), None)


def carried_out(transaction: Transaction) -> Generator[Asked, Answer, int]:
    """The step of having ``transaction`` carried out; returns its revision. Raises
    :exc:`TryAgain`."""
    outcome = yield transaction
    if not isinstance(outcome, Won):
        raise TryAgain(_reason(outcome))
    return outcome.revision


def _reason(answer: Answer) -> str:
    if isinstance(answer, Unread | Refused | InDoubt):
        return answer.reason
    return "another node was quicker"


def _cluster(applicant: Applicant, prefix: str) -> Generator[Asked, Answer, ClusterRecord]:
    page = yield Lookup(prefix + CLUSTER)
    if not isinstance(page, Page):
        raise TryAgain(_reason(page))
    _check_clock(page.ahead_s)
    row = next((row for row in page.rows if row.key == prefix + CLUSTER), None)
    if row is not None:
        found = decoded(ClusterRecord, row.key, row.value)
        _check_cluster(applicant, found)
        if applicant.seen is not None:
            require_later(applicant.seen, found, page.revision)
            if applicant.seen.history == found.history:
                yield from _require_proposals(applicant, prefix)
        return found
    if applicant.mark is not None:
        raise ClusterRefused(
            f"the data folder belongs to a cluster that etcd doesn't have: there is no cluster"
            f" {applicant.cluster!r} in it. Name the cluster's own etcd with --etcd; if etcd has"
            " lost its metadata, restore it by `mqkit cluster restore-metadata`"
        )
    cluster = ClusterRecord(
        applicant.new_id, FEATURE_LEVEL, applicant.secret_fingerprint, applicant.wall_ms
    )
    key = prefix + CLUSTER
    yield from carried_out(Transaction((Compare(key, 0),), (Put(key, encoded(cluster)),)))
    return cluster


def _require_proposals(applicant: Applicant, prefix: str) -> Generator[Asked, Answer, None]:
    """Each change of a definition has raised the number of a node: raise :exc:`ClusterRefused`
    where one is lower than the folder has seen. A node that was forgotten has none any more."""
    for node, seen in applicant.proposals.items():
        row = yield from _row(prefix + PROPOSALS + node)
        if row is not None and seen_proposal(row) < seen:
            raise ClusterRefused(
                f"etcd has another history than this data folder has seen: a change of"
                f" {node!r} is not in it. It was restored from an older copy. {NOTHING_IS_DROPPED}"
            )


def _check_clock(ahead_s: float) -> None:
    """No other node would have a link with this one, and every change would wait for it."""
    if abs(ahead_s) > CLOCKS_APART_MAX_S:
        order = "behind" if ahead_s > 0 else "ahead of"
        raise ClusterRefused(
            f"the clock of this machine is {abs(ahead_s):.0f} s {order} that of etcd: set both by"
            " NTP"
        )


def _check_cluster(applicant: Applicant, cluster: ClusterRecord) -> None:
    if cluster.feature_level > FEATURE_LEVEL:
        raise ClusterRefused(
            f"the cluster {applicant.cluster!r} is at feature level {cluster.feature_level}, and"
            f" this version knows none above {FEATURE_LEVEL}: start a later version"
        )
    if cluster.secret_fingerprint != applicant.secret_fingerprint:
        raise ClusterRefused(
            f"the secret is not that of the cluster {applicant.cluster!r}: every node needs the"
            " same --cluster-secret-file"
        )
    mark = applicant.mark
    if mark is None:
        return
    if mark.cluster_id != cluster.id:
        raise ClusterRefused(
            f"the data folder belongs to another cluster than {applicant.cluster!r}: use a new"
            " folder, or name the folder's own cluster with --cluster-name and --etcd"
        )
    if mark.node != applicant.node:
        raise ClusterRefused(
            f"the data folder belongs to the node {mark.node!r}, and this is"
            f" {applicant.node!r}: start it with --node-name {mark.node}, or use a new folder"
        )


def _check_member(
    applicant: Applicant, mark: FolderMark, known: MemberRecord, live: Row | None
) -> None:
    """Raises :exc:`ClusterRefused` where the row of the node's name is not one that this folder can
    follow."""
    node = applicant.node
    if mark.disk_id != known.disk_id:
        if live is not None and _is_of(live, known):
            raise ClusterRefused(
                f"the node name {node!r} is taken by a node that is there: choose another"
                " --node-name"
            )
        if applicant.mark is not None:
            raise ClusterRefused(
                f"the node {node!r} has another data folder by now: this one was replaced. Use a"
                " new folder, or the one that it had last"
            )
        return
    if applicant.start_id == known.start_id:
        return  # written by an earlier attempt
    if applicant.run <= known.run or applicant.position < known.position:
        raise ClusterRefused(
            f"the data folder of {node!r} is an older image of itself: it is at run"
            f" {applicant.run}, position {applicant.position}, and the cluster has seen it at run"
            f" {known.run}, position {known.position}. What it has lost may have been confirmed:"
            " use the folder as it was, or a new one"
        )


def _check_forgotten(applicant: Applicant, forgotten: Row | None) -> None:
    """A folder that was marked, and whose node is no member, may be one that is just joining."""
    if forgotten is not None:
        raise ClusterRefused(
            f"the node {applicant.node!r} was forgotten by the cluster {applicant.cluster!r}, and"
            " what its data folder has is lost to it: to join anew, start it with a new folder"
        )


def _check_never_joined(applicant: Applicant) -> None:
    if applicant.seen is not None:
        raise ClusterRefused(
            f"the metadata of {applicant.cluster!r} in etcd does not have the node"
            f" {applicant.node!r}, which was a member: it was restored from an older copy."
            f" {NOTHING_IS_DROPPED}"
        )


def _is_of(live: Row, member: MemberRecord) -> bool:
    return decoded(LiveRecord, live.key, live.value).run == member.run


class _Taken(NamedTuple):
    """The next of the numbers of a key, with the change that takes it."""

    number: int
    compare: Compare
    put: Put


def _taken(key: str) -> Generator[Asked, Answer, _Taken]:
    row = yield from _row(key)
    number = 1 if row is None else _number(row)
    compare = Compare(key, 0 if row is None else row.revision)
    return _Taken(number, compare, Put(key, b"%d" % (number + 1)))


def _number(row: Row) -> int:
    try:
        return int(row.value)
    except ValueError:
        raise Corrupt(f"the value of {row.key!r} in etcd is no number: {row.value!r}") from None
