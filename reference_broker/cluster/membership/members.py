"""The nodes that have joined the cluster, whether they are there or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.membership.records import MemberRecord, decoded
from reference_broker.cluster.metadata.keys import MEMBERS
from reference_broker.errors import Corrupt


class Members:
    """A follower of the view's ``members/`` keys. ``by_name`` is read only; ``report`` is told of a
    row that can't be read, whose node keeps the row that it had."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._records: dict[str, MemberRecord] = {}
        self.by_name: Mapping[str, MemberRecord] = self._records

    def changed(self, event: Event) -> None:
        """See :class:`~reference_broker.cluster.metadata.view.Follower`."""
        node = event.key.removeprefix(MEMBERS)
        if event.value is None:
            self._records.pop(node, None)
            return
        try:
            self._records[node] = decoded(MemberRecord, event.key, event.value)
        except Corrupt as error:
            self._report(str(error))
