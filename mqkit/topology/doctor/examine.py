"""All checks over a file, a broker, or both: the findings, the gravest first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mqkit.topology.doctor.backlog import check_backlog
from mqkit.topology.doctor.dead_letters import check_dead_letters
from mqkit.topology.doctor.finding import Check, Finding, Kind, Mend, Severity
from mqkit.topology.doctor.mending import Mending
from mqkit.topology.doctor.places import Places
from mqkit.topology.doctor.reach import check_reach
from mqkit.topology.doctor.refusals import check_refusals
from mqkit.topology.doctor.retries import (
    check_left_over,
    check_lots,
    check_owners,
    check_waiting_queues,
)
from mqkit.topology.model import Topology
from mqkit.topology.snapshot import Snapshot
from mqkit.topology.validation import RESERVED_PREFIX
from mqkit.topology.wiring.parts import parts_in_file
from mqkit.topology.wiring.wiring import Wiring

OF_ANY = (check_dead_letters, check_reach, check_waiting_queues)
"""The checks that need only the objects, wherever they are from."""
OF_BROKER = (check_owners, check_backlog)

MENDED_BY_APPLY = frozenset(
    (
        Check.DEAD_LETTER_EXCHANGE_MISSING,
        Check.DEAD_LETTER_UNROUTED,
        Check.ALTERNATE_MISSING,
        Check.EXCHANGE_UNBOUND,
        Check.QUEUE_UNREACHED,
        Check.OWNER_GONE,
    )
)
"""A broker lacks something: where the file has it, an apply declares it."""


def examine(
    topology: Topology | None,
    snapshot: Snapshot | None = None,
    *,
    files: Sequence[str] = (),
    watched: frozenset[str] = frozenset(),
) -> tuple[Finding, ...]:
    """The findings in a file, on a broker, or in both compared; each object of a file with its
    line.

    ``files`` are what the topology was read from, for the commands that mend; its ``file`` where
    nothing is said. ``watched`` are the parking lots that have an alert. ``topology`` may be one
    that ``validate`` finds fault with. The same input gives equal findings in the same order.
    """
    live = None
    found: list[Finding] = []
    read = () if topology is None else tuple(files) or (topology.file,)
    if topology is not None:
        found = _in_file(topology, read)
    if snapshot is not None:
        parts = None if topology is None else parts_in_file(topology)
        live = Wiring.of_snapshot(snapshot, parts)
        found = _with_broker(found, topology, live, read)
    if topology is not None:
        mending = Mending(read, topology.vhost or "/")
        found += check_lots(topology, live, watched, mending)
        places = Places(topology)
        found = [places.put(finding) for finding in found]
    return tuple(sorted(_once(found), key=_order))


def _once(found: list[Finding]) -> Iterator[Finding]:
    """Nothing is bound to a retry queue that applications publish to by its name, of course."""
    waiting = {it.name for it in found if it.check is Check.MESSAGE_TTL_RETRY}
    for finding in found:
        if finding.check is not Check.QUEUE_UNREACHED or finding.name not in waiting:
            yield finding


def _in_file(topology: Topology, files: tuple[str, ...]) -> list[Finding]:
    wiring = Wiring.of_topology(topology)
    mending = Mending(files, wiring.vhost)
    found = [finding for check in OF_ANY for finding in check(wiring, mending)]
    told = {(it.kind, it.name) for it in found if it.severity is Severity.ERROR}
    return [
        *found,
        *(it for it in check_refusals(topology, mending) if (it.kind, it.name) not in told),
    ]


def _with_broker(
    in_file: list[Finding], topology: Topology | None, live: Wiring, files: tuple[str, ...]
) -> list[Finding]:
    """The findings of the broker, and those of the file, each once."""
    mending = Mending(files, live.vhost, is_live=True)
    checks = (*OF_ANY, *OF_BROKER)
    on_broker = {
        (it.check, it.kind, it.name): it for check in checks for it in check(live, mending)
    }
    found = []
    for finding in in_file:
        twin = on_broker.pop((finding.check, finding.kind, finding.name), None)
        found.append(finding if twin is None else _merged(finding, twin))
    if topology is not None:
        places = Places(topology)
        # The file has what the broker lacks, or it would have the finding, too.
        missing = [
            key for key, it in on_broker.items() if it.check in MENDED_BY_APPLY and places.of(it)
        ]
        for key in missing:
            on_broker[key] = replace(on_broker[key], mend=Mend(mending.apply()))
        found += check_left_over(topology, live, mending)
        found += _externals(topology, live, mending)
    return [_counted(finding, live) for finding in (*found, *on_broker.values())]


def _merged(in_file: Finding, on_broker: Finding) -> Finding:
    """One finding of two. What a broker has already is mended in place, for an apply changes no
    arguments."""
    if in_file.check in MENDED_BY_APPLY:
        return in_file
    return replace(on_broker, mend=Mend(on_broker.mend.command, in_file.mend.first))


def _counted(finding: Finding, live: Wiring) -> Finding:
    if finding.kind is not Kind.QUEUE or finding.messages is not None:
        return finding
    return replace(finding, messages=live.messages_in(finding.name))


def _externals(topology: Topology, live: Wiring, mending: Mending) -> Iterator[Finding]:
    """Objects that the file leaves to somebody else to declare, and nobody has."""
    leaves = (
        *((Kind.EXCHANGE, it.name) for it in topology.exchanges if it.external),
        *((Kind.QUEUE, it.name) for it in topology.queues if it.external),
    )
    there = {Kind.EXCHANGE: live.exchanges, Kind.QUEUE: live.queues}
    for kind, name in leaves:
        if name not in there[kind] and not name.startswith(RESERVED_PREFIX):
            why = f"the file leaves this {kind} to somebody else, and the broker has none"
            edit = "take 'external: true' out, or have its owner declare it"
            yield Finding(Check.EXTERNAL_MISSING, kind, name, why, mending.by_file(edit))


def _order(finding: Finding) -> tuple[int, int, str, str]:
    return (
        finding.severity.rank,
        list(Check).index(finding.check),
        finding.kind,
        finding.name,
    )
