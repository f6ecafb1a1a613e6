"""``mqkit topology doctor``: dead ends of a file, of a broker, or of both, and what mends them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mqkit.topology import Finding, Severity, Snapshot, Topology, check, examine, load, validate
from mqkit.topology.file.fault import topology_error
from mqkit_cli.connection import (
    TIMEOUT_S,
    JsonOption,
    ManagementUrlOption,
    TimeoutOption,
    UrlOption,
    in_vhost,
    target_of,
)
from mqkit_cli.errors import CommandError
from mqkit_cli.render import line, note, plural, printable, write_json

EXIT_FOUND = 2
DEFAULT_FILE = Path("topology.yaml")


def doctor(
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="The topology, in YAML. [default: topology.yaml, where no broker is named]",
        ),
    ] = None,
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
    topology = _read(file, is_needed=not (url or management_url))
    snapshot = None
    if url or management_url:
        snapshot = asyncio.run(_snapshot(topology, url, management_url, timeout_s))
    found = [
        finding for finding in examine(topology, snapshot) if finding.severity.rank <= least.rank
    ]
    if as_json:
        write_json(_json(found, topology, snapshot))
    else:
        _show(found)
    if found:
        raise typer.Exit(EXIT_FOUND)


def _read(file: Path | None, *, is_needed: bool) -> Topology | None:
    """The file's topology, with the faults of meaning that the doctor tells itself; ``None``
    where a broker is looked at alone. Raises for what can't be read at all."""
    if file is None and not is_needed:
        return None
    path = file or DEFAULT_FILE
    if path.is_dir() or not path.exists():
        what = "is a directory" if path.is_dir() else "is not there"
        raise CommandError(
            f"the file {path} {what}: name a topology with --file FILE, or a broker with --url"
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return load(path)  # raises, and says why
    topology, faults = check(text, str(path))
    of_form = set(faults) - set(validate(topology))
    if of_form:
        raise topology_error(str(path), of_form)
    return topology


async def _snapshot(
    topology: Topology | None, url: str | None, management_url: str | None, timeout_s: float
) -> Snapshot:
    vhost = None if topology is None else topology.vhost
    return await in_vhost(target_of(url, management_url), vhost).snapshot(timeout_s)


def _show(found: Sequence[Finding]) -> None:
    for finding in found:
        place = f"{printable(finding.place)}: " if finding.place else ""
        name = printable(finding.name)
        line(f"{finding.severity}: {finding.kind} {name} ({finding.check})")
        line(f"  {place}{printable(finding.why)}")
        if finding.mend.edit:
            line(f"  edit: {printable(finding.mend.edit)}")
        line(f"  run:  {printable(finding.mend.command)}")
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
