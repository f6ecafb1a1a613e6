"""Asking a broker for names, for a bounded time: connecting, and an answer that comes by drops,
included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread

from mqkit_cli.completion.names import ANSWER_BYTES_MAX, Kind, names_in, question
from mqkit_cli.connection import target_of
from mqkit_cli.management import ManagementApi

ANSWER_S = 0.3
"""The longest that a Tab waits for a broker, all in all."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a ``kind`` that begin with ``begun``. ``vhost`` is that of the AMQP URL if it is
    ``None``."""

    kind: Kind
    begun: str
    vhost: str | None = None


def names(wanted: Names, management_url: str, url: str | None, seconds: float) -> list[str]:
    """The broker's names; none if it has not given them within ``seconds``. Never raises."""

    def ask() -> list[str]:
        target = target_of(url, management_url)
        vhost = target.endpoint.vhost if wanted.vhost is None else wanted.vhost
        path = question(wanted.kind, vhost, wanted.begun)
        if path is None:
            return []
        answer = ManagementApi(target, seconds).get_short(path, ANSWER_BYTES_MAX)
        return names_in(answer, wanted.kind, wanted.begun)

    return within(seconds, ask)


def within(seconds: float, ask: Callable[[], list[str]]) -> list[str]:
    """The answer of ``ask``, or nothing if it fails or takes longer.

    It goes on in a thread that does not keep the process alive: looking a host up can't be ended,
    and a timeout of a socket begins anew with each octet.
    """
    answers: SimpleQueue[list[str]] = SimpleQueue()

    def run() -> None:
        try:
            answers.put(ask())
        except Exception:  # noqa: BLE001 - somebody is typing; whatever it is, there are no names
            answers.put([])

    Thread(target=run, name="names for a shell", daemon=True).start()
    try:
        return answers.get(timeout=seconds)
    except Empty:
        return []
