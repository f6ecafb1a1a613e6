"""A queue with a window of message ids. Its laws: within the window no key gets in twice, after a
crash neither; and one that is not in the window gets in.

When a message came to the broker is known to lie between its sending and its confirm. One that was
never confirmed may have come at any time, or not at all: of its key nothing is demanded any more.
"""

from __future__ import annotations

from mqkit.wire.methods import Method, QueueDeclare
from reference_broker.simulation.clients.features.feature import Feature
from reference_broker.simulation.clients.features.ledger import Post
from reference_broker.simulation.clients.features.line import Line, Taken

WINDOW_MS = 6_000
WINDOW_KEYS = 40
_RECENT_KEYS = 12
"""Keys that may be repeated: fewer than the window has, so that each of them is in it."""
_NEW_KEY_CHANCE = 0.4


class Windows(Feature):
    name = "windows"
    queues = ("once",)
    synced_by_confirms = False
    """A repetition is confirmed at once: it goes nowhere."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._keys: list[str] = []
        self._by_key: dict[str, list[Post]] = {}
        self._came: dict[str, list[Post]] = {}
        """The messages that were handed out, by key."""

    def declarations(self) -> list[Method]:
        window = {"x-message-id-window": WINDOW_KEYS, "x-message-id-window-ms": WINDOW_MS}
        return [QueueDeclare(queue="once", durable=True, arguments=window)]

    def publish(self, line: Line) -> None:
        recent = self._keys[-_RECENT_KEYS:]
        if not recent or self.random.random() < _NEW_KEY_CHANCE:
            self._keys.append(f"key-{len(self._keys)}")
            key = self._keys[-1]
        else:
            key = self.random.choice(recent)
        post = self.post(line, [], key)
        self._by_key.setdefault(key, []).append(post)
        line.publish("", "once", post, message_id=key)

    def delivered(self, line: Line, taken: Taken) -> None:
        post = self.ledger.posts[taken.number]
        came = self._came.setdefault(post.key, [])
        for other in came:
            self._judge(min(post, other, key=_sent), max(post, other, key=_sent))
        if post not in came:
            came.append(post)

    def _judge(self, first: Post, second: Post) -> None:
        """Judge two messages that both got in: were they far enough from each other?"""
        if first is second or first.confirmed_ms is None or second.wall_ms < first.confirmed_ms:
            return
        until_ms = second.confirmed_ms
        off_ms = self.clock.off_ms(WINDOW_MS, in_one_life=first.life == second.life)
        if until_ms is not None and until_ms < first.wall_ms + WINDOW_MS - off_ms:
            raise self.fail(
                f"'{first.key}' got in with message {first.number}, and again with "
                f"{second.number} within {until_ms - first.wall_ms} ms"
            )

    def drained(self) -> None:
        for posts in self._by_key.values():
            first = posts[0]
            # Later ones may be repetitions; the first one can't, whoever came first in between.
            alone = all(other.wall_ms > (first.confirmed_ms or 0) for other in posts[1:])
            if first.confirmed_ms is not None and alone and not first.settled_in:
                raise self.ledger.fail(f"message {first.number} is gone", lost=1)
        super().drained()


def _sent(post: Post) -> int:
    return post.number
