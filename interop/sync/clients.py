"""Clients of the site: each asks again as soon as it is answered."""

from __future__ import annotations

import http.client
import json
import threading
from dataclasses import dataclass, field
from itertools import count

ANSWER_WITHIN_S = 60.0
"""Longer than the deadline of a publish: who has no answer by then is told of a hang."""


@dataclass
class Answers:
    """The answers so far. Thread-safe: each request has an entry of its own."""

    outcomes: dict[str, str] = field(default_factory=dict)
    """``Confirmed``, ``Rejected`` or ``Unknown`` by the request's name."""
    failures: dict[str, str] = field(default_factory=dict)
    """The reasons, for requests without an outcome."""
    workers: set[int] = field(default_factory=set)
    """The processes that have answered."""


class Clients:
    """A context manager: they ask for the time of its block, and at its end wait for their last
    answers."""

    def __init__(self, port: int, number: int, prefix: str) -> None:
        self.answers = Answers()
        self._port = port
        self._names = (f"{prefix}-{each}" for each in count())
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._ask_on) for _ in range(number)]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _ask_on(self) -> None:
        while not self._ending.is_set():
            with self._lock:
                name = next(self._names)
            try:
                worker, outcome, _ = ask(self._port, name)
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.answers.failures[name] = f"{type(error).__name__}: {error}"
            else:
                self.answers.outcomes[name] = outcome
                self.answers.workers.add(worker)


def ask(port: int, name: str) -> tuple[int, str, str]:
    """The worker that answered, and the outcome. Raises what a request raises."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_WITHIN_S)
    try:
        connection.request("GET", f"/{name}")
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise ValueError(f"HTTP {response.status}")
        worker, outcome, text = json.loads(body)
        return int(worker), str(outcome), str(text)
    finally:
        connection.close()
