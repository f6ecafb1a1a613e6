"""``mqkit topology doctor``: dead ends of a file, of a broker, or of both, and what mends them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mqkit.topology import Finding, Severity, Snapshot, Topology, examine, validate
from mqkit.topology.file.fault import topology_error
from mqkit_cli.connection import (
    TIMEOUT_S,
    JsonOption,
    ManagementUrlOption,
    TimeoutOption,
    UrlOption,
)
from mqkit_cli.render import line, note, plural, printable, write_json
from mqkit_cli.topology.files import check_topology
from mqkit_cli.topology.looked_at import LookedAtOption, files_of, snapshot_of

EXIT_FOUND = 2


def doctor(
    files: LookedAtOption = None,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    least: Annotated[
        Severity, typer.Option("--least", help="Leave out what is less grave.")
    ] = Severity.REMARK,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Find dead ends: where messages would be lost or lie for good, and what mends that.

    Looks at a file, at a broker, or at both compared. Exits with 0 if nothing is found, and with 2
    if something is.
    """
    is_named = bool(url or management_url)
    read = files_of(files, is_needed=not is_named)
    topology = _read(read) if read else None
    snapshot = None
    if is_named:
        snapshot = asyncio.run(snapshot_of(topology, url, management_url, timeout_s))
    examined = examine(topology, snapshot, files=tuple(map(str, read)), watched=_watched(topology))
    found = [finding for finding in examined if finding.severity.rank <= least.rank]
    if as_json:
        write_json(_json(found, topology, snapshot))
    else:
        _show(found)
    if found:
        raise typer.Exit(EXIT_FOUND)


def _watched(topology: Topology | None) -> frozenset[str]:
    """The lots that have an alert."""
    if topology is None:
        return frozenset()
    return frozenset(lot.name for lot in topology.lots if lot.alert is not None)


def _read(files: Sequence[Path]) -> Topology:
    """The topology of the files. The doctor tells its faults of meaning itself; those of form are
    raised."""
    topology, faults = check_topology(files)
    of_form = set(faults) - set(validate(topology))
    if of_form:
        raise topology_error(topology.file, of_form)
    return topology


def _show(found: Sequence[Finding]) -> None:
    for finding in found:
        place = f"{printable(finding.place)}: " if finding.place else ""
        name = printable(finding.name)
        line(f"{finding.severity}: {finding.kind} {name} ({finding.check})")
        line(f"  {place}{printable(finding.why)}")
        if finding.mend.first:
            line(f"  first: {printable(finding.mend.first)}")
        line(f"  run:   {printable(finding.mend.command)}")
    counts = Counter(finding.severity for finding in found)
    summary = ", ".join(plural(counts[it], str(it)) for it in Severity if counts[it])
    line(summary or "no dead ends found")
    if found:
        note("commands take the broker from MQKIT_URL and MQKIT_MANAGEMENT_URL")


def _json(
    found: Sequence[Finding], topology: Topology | None, snapshot: Snapshot | None
) -> dict[str, object]:
    """The names are stable."""
    counts = Counter(finding.severity for finding in found)
    return {
        "file": None if topology is None else topology.file,
        "vhost": None if snapshot is None else snapshot.vhost,
        "summary": {str(severity): counts[severity] for severity in Severity},
        "findings": [finding.to_dict() for finding in found],
    }
