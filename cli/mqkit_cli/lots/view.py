"""The lines of ``mqkit lots run``: one for each thing that happened, as text or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from mqkit.lots import Alert
from mqkit.lots.clock.events import EventKind, LotEvent
from mqkit.lots.clock.looked import Looked
from mqkit_cli.render import line, note, plural, printable, write_json

_SAID = {
    EventKind.LEADING: "leading: this process runs the lot",
    EventKind.RETURNED: "{} went back",
    EventKind.ARCHIVED: "{} archived",
}


class EventView:
    """Shows events as they come. ``failed`` counts those that tell of a failure."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self.failed = 0

    def show(self, event: LotEvent) -> None:
        """A line at once: who reads a pipe must know before the messages go, not after."""
        self.failed += event.kind is EventKind.FAILED
        if self._as_json:
            write_json(event.to_dict(), lines=True)
        elif event.kind in _SAID:
            said = _SAID[event.kind].format(plural(event.count, "message"))
            line(f"{printable(event.lot)}: {said}")
        elif event.kind is EventKind.WAITING:
            line(f"{printable(event.lot)}: waiting: {event.reason}")
        elif event.kind is EventKind.FAILED:
            note(f"{printable(event.lot)}: {printable(event.reason)}")
        sys.stdout.flush()

    async def alert(self, alert: Alert) -> None:
        """An alert, on stderr but for ``--json``."""
        if self._as_json:
            write_json({"event": "alert", **_renamed(alert)}, lines=True)
            sys.stdout.flush()
        else:
            note(f"alert: {printable(str(alert))}")

    def end(self, totals: Mapping[str, Looked]) -> None:
        """The counts of the run, over all lots."""
        returned = sum(looked.returned for looked in totals.values())
        archived = sum(looked.archived for looked in totals.values())
        if self._as_json:
            write_json({"event": "end", "returned": returned, "archived": archived}, lines=True)
        else:
            back = plural(returned, "message")
            line(f"{back} went back, {archived} archived, in {plural(len(totals), 'lot')}")


def _renamed(alert: Alert) -> dict[str, object]:
    """``event`` is the name of the line; an alert's own is its ``state``."""
    shown = alert.to_dict()
    return {"state": shown.pop("event"), **shown}
