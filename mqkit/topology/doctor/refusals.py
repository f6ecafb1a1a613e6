"""The faults that ``validate`` finds in a file, as findings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mqkit.topology.doctor.finding import Check, Finding, Kind, Mend
from mqkit.topology.doctor.mending import Mending
from mqkit.topology.file.section import segment
from mqkit.topology.model import Topology
from mqkit.topology.validation import validate


def check_refusals(topology: Topology, mending: Mending) -> Iterator[Finding]:
    """One finding for each fault of meaning."""
    objects = {
        f"{kind}s.{segment(model.name)}": (kind, model.name)
        for kind, models in ((Kind.EXCHANGE, topology.exchanges), (Kind.QUEUE, topology.queues))
        for model in models
    }
    for fault in validate(topology):
        kind, name = _object_of(fault.path, objects)
        mend = Mend(mending.validate(), "mend the file, and look at it again:")
        why = f"validate refuses it: {fault.message}"
        yield Finding(Check.REFUSED, kind, name, why, mend, file=topology.file, line=fault.line)


def _object_of(path: str, objects: dict[str, tuple[Kind, str]]) -> tuple[Kind, str]:
    ends = [match.start() for match in re.finditer(r"[.\[]", path)]
    starts = [path[:end] for end in (*ends, len(path))]
    return next((objects[it] for it in starts if it in objects), (Kind.QUEUE, path))
