"""The checker inside the model: what a watch tells is a prefix of the store's history."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Changed, News, WatchEnded


class WatchBroken(AssertionError):
    """A watch told something that did not happen, not then, or not next."""


class Record:
    """Every change of a run, compacted ones too."""

    def __init__(self) -> None:
        self.changes: list[Changed] = []

    @property
    def revision(self) -> int:
        """The last one that was noted: the first that changes anything is 2."""
        return len(self.changes) + 1

    def add(self, changed: Changed) -> None:
        """Note a change, which is the next one."""
        if changed.revision != self.revision + 1:
            raise WatchBroken(f"revision {changed.revision} was made after {self.revision}")
        self.changes.append(changed)


class Witness:
    """Follows one watch: hand it all news before they are told."""

    def __init__(self, record: Record, prefix: str, after: int) -> None:
        self._record = record
        self._prefix = prefix
        self._next = max(after - 1, 0)  # the place of revision 2 is 0
        self._through = after
        self._over = False

    def saw(self, news: News) -> None:
        """Hold ``news`` against the record. Raises :class:`WatchBroken`."""
        if self._over:
            raise WatchBroken(f"a watch of {self._prefix!r} that was over told {news}")
        if isinstance(news, WatchEnded):
            self._over = True
            return
        if news.revision < self._through:
            raise WatchBroken(f"{self._prefix!r}: {news} came after revision {self._through}")
        self._through = news.revision
        expected = self._passed(news.revision)
        told = [news] if isinstance(news, Changed) else []
        if told != expected:
            raise WatchBroken(f"{self._prefix!r}: {told} was told instead of {expected}")

    def _passed(self, revision: int) -> list[Changed]:
        """Everything under the prefix that was not told, up to ``revision``."""
        found: list[Changed] = []
        changes = self._record.changes
        while self._next < len(changes) and changes[self._next].revision <= revision:
            changed = changes[self._next]
            self._next += 1
            events = tuple(event for event in changed.events if event.key.startswith(self._prefix))
            if events:
                found.append(Changed(changed.revision, events))
        return found
