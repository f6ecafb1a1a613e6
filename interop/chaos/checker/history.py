"""The history of a run: an object for each message, call, fault and deletion, made of the facts."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from interop.chaos.checker.starvation import Starvation
from interop.chaos.facts import Fact

TIMES = "d"


@dataclass(slots=True)
class Message:
    """The history of one message of a publisher. Times are ``None`` for what did not happen."""

    id: str
    queue: str
    publisher: int
    published: float
    deadline_s: float
    outcome: str = ""
    ended: float | None = None
    reason: str = ""
    detail: str = ""
    named: str | None = None
    acked: float | None = None
    returned: float | None = None
    nacked: float | None = None
    begun: int = 0
    done: bool = False
    failed: float | None = None
    """The first time that its handler failed."""
    last_seen: float | None = None
    """The last time that a handler had it."""
    found_in: str = ""


@dataclass(slots=True)
class Call:
    """The history of one call."""

    number: int
    asked: float
    deadline_s: float
    ended: float | None = None
    end: str = ""
    """``answered``, ``remote error``, ``call failed`` or ``call cancelled``."""
    answer: object = None
    error: str = ""
    text: str = ""


@dataclass(slots=True)
class Fault:
    """A fault of the run, with the times of its begin and end."""

    number: int
    kind: str
    begin: float
    end: float | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """A queue that the run deleted, between two times. ``owner`` is the queue whose tier or lot it
    is, or the queue itself."""

    queue: str
    owner: str
    began: float
    ended: float


@dataclass(slots=True)
class History:
    """Everything that the laws ask for. Feed it with :meth:`add_all`, each file in its order, the
    app's first."""

    messages: dict[str, Message] = field(default_factory=dict)
    calls: dict[int, Call] = field(default_factory=dict)
    handled_questions: list[tuple[int, float]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    deletions: list[Deletion] = field(default_factory=list)
    channel_closes: list[tuple[float, int, str]] = field(default_factory=list)
    publishing: dict[str, array[float]] = field(default_factory=dict)
    consuming: dict[str, array[float]] = field(default_factory=dict)
    """The times of confirms by publisher, and of deliveries to handlers by queue."""
    starvation: Starvation = field(default_factory=Starvation)
    stopping: float | None = None
    left: dict[str, list[str]] | None = None
    """Leftovers of the app; ``None`` where it did not come to its end."""
    links_left: int | None = None
    exit_code: int | None = None
    found: Counter[str] = field(default_factory=Counter)
    """Messages of all sorts that were left in the queues."""
    stats: dict[str, int] = field(default_factory=dict)
    noise: list[str] = field(default_factory=list)
    """Lines of the app's stderr."""

    def add_all(self, facts: Iterable[Fact]) -> None:
        """Take over ``facts``. One that nobody knows is left out."""
        takers: dict[str, Callable[[Fact], None]] = {
            name.replace("_", " "): getattr(self, f"_on_{name}") for name in _KNOWN
        }
        for fact in facts:
            taker = takers.get(fact["fact"])
            if taker is not None:
                taker(fact)

    # -- the app's ---------------------------------------------------------------------------

    def _on_publish(self, fact: Fact) -> None:
        self.messages[fact["id"]] = Message(
            fact["id"], fact["queue"], fact["publisher"], fact["t"], fact["deadline_s"]
        )

    def _on_outcome(self, fact: Fact) -> None:
        message = self.messages[fact["id"]]
        message.outcome, message.ended = fact["was"], fact["t"]
        message.reason, message.detail = fact["reason"], fact["detail"]
        message.named = fact["named"]
        if message.outcome == "Confirmed":
            stream = f"publisher {message.publisher}"
            self.publishing.setdefault(stream, array(TIMES)).append(fact["t"])

    def _on_cancelled(self, fact: Fact) -> None:
        message = self.messages[fact["id"]]
        message.outcome, message.ended = "cancelled", fact["t"]

    def _on_raised(self, fact: Fact) -> None:
        message = self.messages[fact["id"]]
        message.outcome, message.ended = "raised", fact["t"]
        message.detail = fact["error"]

    def _on_begin(self, fact: Fact) -> None:
        self.consuming.setdefault(fact["queue"], array(TIMES)).append(fact["t"])
        message = self.messages.get(fact["id"])
        if message is not None:
            message.begun += 1
            message.last_seen = fact["t"]

    def _on_end(self, fact: Fact) -> None:
        message = self.messages.get(fact["id"])
        if message is None:
            return
        message.last_seen = fact["t"]
        if fact["how"] in ("done", "dropped"):
            message.done = True
        elif message.failed is None:
            message.failed = fact["t"]

    def _on_call(self, fact: Fact) -> None:
        self.calls[fact["number"]] = Call(fact["number"], fact["t"], fact["deadline_s"])

    def _on_answered(self, fact: Fact) -> None:
        self._call_ended(fact).answer = fact["answer"]

    def _on_remote_error(self, fact: Fact) -> None:
        call = self._call_ended(fact)
        call.error, call.text = fact["kind"], fact["text"]

    def _on_call_failed(self, fact: Fact) -> None:
        call = self._call_ended(fact)
        call.error, call.text = fact["error"], fact["text"]

    def _on_call_cancelled(self, fact: Fact) -> None:
        self._call_ended(fact)

    def _call_ended(self, fact: Fact) -> Call:
        call = self.calls[fact["number"]]
        call.ended, call.end = fact["t"], fact["fact"]
        return call

    def _on_question(self, fact: Fact) -> None:
        self.handled_questions.append((fact["number"], fact["t"]))

    def _on_starved(self, fact: Fact) -> None:
        self.starvation.add(fact["since"], fact["t"], fact["own_cpu_s"])

    def _on_stopping(self, fact: Fact) -> None:
        self.stopping = fact["t"]

    def _on_left(self, fact: Fact) -> None:
        self.left = {name: fact[name] for name in ("descriptors", "tasks", "threads")}

    def _on_stats(self, fact: Fact) -> None:
        self.stats = {name: value for name, value in fact.items() if name not in ("t", "fact")}

    # -- the run's ---------------------------------------------------------------------------

    def _on_acked(self, fact: Fact) -> None:
        message = self._published(fact)
        if message is not None and message.acked is None:
            message.acked = fact["t"]

    def _on_returned(self, fact: Fact) -> None:
        message = self._published(fact)
        if message is not None and message.returned is None:
            message.returned = fact["t"]

    def _on_nacked(self, fact: Fact) -> None:
        message = self._published(fact)
        if message is not None and message.nacked is None:
            message.nacked = fact["t"]

    def _published(self, fact: Fact) -> Message | None:
        """The message, where the fact is of what its publisher published, and not of a retry."""
        message = self.messages.get(fact["id"])
        return message if message is not None and message.queue == fact["key"] else None

    def _on_closed(self, fact: Fact) -> None:
        if fact["scope"] == "channel":
            self.channel_closes.append((fact["t"], fact["code"], fact["text"]))

    def _on_fault(self, fact: Fact) -> None:
        if fact["phase"] == "begin":
            self.faults.append(Fault(fact["number"], fact["kind"], fact["t"]))
        else:
            self.faults[-1].end = fact["t"]

    def _on_deletion(self, fact: Fact) -> None:
        deletion = Deletion(fact["queue"], fact["owner"], fact["began"], fact["t"])
        self.deletions.append(deletion)

    def _on_app_ended(self, fact: Fact) -> None:
        self.links_left = fact["links_left"]

    def _on_app_exited(self, fact: Fact) -> None:
        self.exit_code = fact["code"]

    # -- the queues' -------------------------------------------------------------------------

    def _on_found(self, fact: Fact) -> None:
        self.found[fact["queue"]] += 1
        message = self.messages.get(fact["id"])
        if message is not None:
            message.found_in = fact["queue"]


_KNOWN = tuple(name.removeprefix("_on_") for name in vars(History) if name.startswith("_on_"))
