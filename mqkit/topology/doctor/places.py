"""The place of a finding in the file that has its object."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from mqkit.topology.doctor.finding import Finding, Kind
from mqkit.topology.file.line import source_of
from mqkit.topology.model import ExchangeModel, QueueModel, Topology
from mqkit.topology.wiring.parts import parts_in_file

_Model: TypeAlias = ExchangeModel | QueueModel


class Places:
    """The objects of one file by name. A part (a tier, say) is where its owner is."""

    def __init__(self, topology: Topology) -> None:
        self._file = topology.file
        exchanges: dict[str, _Model] = {model.name: model for model in topology.exchanges}
        queues: dict[str, _Model] = {model.name: model for model in topology.queues}
        for name, part in parts_in_file(topology).items():
            owner = queues.get(part.owner) or exchanges.get(part.owner)
            if owner is not None:
                queues.setdefault(name, owner)
        self._models = {Kind.EXCHANGE: exchanges, Kind.QUEUE: queues}
        self._owners = {**exchanges, **queues}

    def of(self, finding: Finding) -> _Model | None:
        """The object that the finding is about, if the file has it."""
        return self._models[finding.kind].get(finding.name)

    def put(self, finding: Finding) -> Finding:
        """The finding with file and line, where the file has its object, or the owner of what is
        left over."""
        model = self.of(finding) or self._owners.get(finding.owner)
        if finding.file is not None or model is None:
            return finding
        line = model.line_of(*finding.keys)
        return replace(finding, file=source_of(line)[1] or self._file, line=line)
