"""A run without an offence, as facts that were made and not seen. A law is tried by breaking it in
one place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from interop.chaos.checker.history import History
from interop.chaos.facts import APPLICATION, REMAINS, RUN, Fact
from interop.chaos.layout import PUBLISHERS, WORK
from interop.chaos.questions import REMOTE_ERRORS, Way, answer_of, complaint_of, way_of

STEP_S = 0.25
SECONDS = 40.0


def a(t: float, fact: str, **values: Any) -> Fact:
    """A fact as it is read from a file."""
    return {"t": t, "fact": fact, **values}


class GoodRun:
    """The facts by file. Change :attr:`app`, :attr:`run` and :attr:`remains`, then ask
    :attr:`history`."""

    def __init__(self) -> None:
        self.app: list[Fact] = []
        self.run: list[Fact] = []
        self.remains: list[Fact] = []
        for step in range(int(SECONDS / STEP_S)):
            self._everybody_works(step * STEP_S, step)
        self.app.append(a(SECONDS, "stopping"))
        self.app.append(a(SECONDS + 5, "left", descriptors=[], tasks=[], threads=[]))
        self.run += [
            a(10.0, "fault", phase="begin", number=0, kind="cut", lasts_s=0, queue=""),
            a(10.0, "fault", phase="end", number=0, kind="cut"),
            a(20.0, "fault", phase="begin", number=1, kind="stall", lasts_s=8, queue=""),
            a(28.0, "fault", phase="end", number=1, kind="stall"),
            a(SECONDS + 5, "app ended", in_time=True, links_left=0),
            a(SECONDS + 6, "app exited", code=0),
        ]

    def message(self, message_id: str, t: float, **how: Any) -> None:
        """A message that is published at ``t``, confirmed and handled; ``how`` changes that."""
        queue = how.get("queue", WORK[0])
        self.app.append(
            a(t, "publish", id=message_id, publisher=how.get("publisher", 0), queue=queue,
              deadline_s=1.0)
        )  # fmt: skip
        wire = how.get("wire", "acked")
        if wire:
            self.run.append(a(t + 0.01, wire, id=message_id, key=how.get("key", queue)))
        self.app.append(
            a(t + how.get("takes_s", 0.02), "outcome", id=message_id,
              publisher=how.get("publisher", 0), was=how.get("was", "Confirmed"),
              named=how.get("named", message_id), reason=how.get("reason", ""),
              detail=how.get("detail", ""))
        )  # fmt: skip
        if how.get("handled", True):
            self.app.append(a(t + 0.03, "begin", id=message_id, queue=queue, attempt=0))
            self.app.append(
                a(t + 0.04, "end", id=message_id, queue=queue, how=how.get("how", "done"))
            )

    def call(self, number: int, t: float, **how: Any) -> None:
        """A call that is made at ``t``, handled, and ends as it should; ``how`` changes that."""
        self.app.append(a(t, "call", number=number, caller=0, deadline_s=1.0, id="q-0"))
        if "begins_after_s" in how:
            self.app.append(a(t + how["begins_after_s"], "question", number=number, wall_ms=0))
        end = how.get("end") or right_end_of(number)
        self.app.append(a(t + how.get("takes_s", 0.05), **end, number=number))

    def without(self, file: list[Fact], **values: Any) -> None:
        """Take out the facts that have these values."""
        file[:] = [fact for fact in file if values.items() - fact.items()]

    def between(self, begin: float, end: float, kinds: tuple[str, ...]) -> None:
        """Nothing of these kinds happens in this time."""
        for file in (self.app, self.run):
            file[:] = [
                fact for fact in file if not (fact["fact"] in kinds and begin < fact["t"] < end)
            ]

    @property
    def history(self) -> History:
        history = History()
        for file in (self.app, self.run, self.remains):
            history.add_all(sorted(file, key=_time))
        return history

    def write(self, folder: Path) -> None:
        """Write the three files."""
        for name, file in ((APPLICATION, self.app), (RUN, self.run), (REMAINS, self.remains)):
            in_order = sorted(file, key=_time)
            lines = [json.dumps(fact, separators=(",", ":")) + "\n" for fact in in_order]
            (folder / name).write_text("".join(lines))

    def _everybody_works(self, t: float, step: int) -> None:
        for number in range(PUBLISHERS):
            self.message(f"p{number}-{step}", t, publisher=number, queue=WORK[number % len(WORK)])
        self.call(step, t, begins_after_s=0.02)


def _time(fact: Fact) -> float:
    return float(fact["t"])


def right_end_of(number: int) -> dict[str, Any]:
    """The fact of the right end of this call."""
    way = way_of(number)
    if way in REMOTE_ERRORS:
        return {"fact": "remote error", "kind": REMOTE_ERRORS[way], "text": complaint_of(number)}
    return {"fact": "answered", "answer": answer_of(number)}


def a_number(way: Way, above: int = 10_000) -> int:
    """A question that no good run has, and that is taken this way."""
    return next(number for number in range(above, above + 1000) if way_of(number) is way)
