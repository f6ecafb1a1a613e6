"""The watch: looks for drift after each connect, and every ``every_s`` seconds where that is set.

The pass of declaring after a connect is a look itself, and so is one that a consumer whose queue
was deleted asks for. The looks in between are this module's, on the consuming connection, where
publishing does not wait for them. With a management URL a look is a snapshot; while the management
API can't be reached, it is one over AMQP, and the log says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from mqkit.declaration import Declaration
from mqkit.drift.amqp_look import drifts_of, look_over_amqp
from mqkit.drift.book import DriftBook, Look, Sight
from mqkit.drift.compare import Compared
from mqkit.drift.event import Done, missing
from mqkit.drift.management_look import ManagementLook, note_compared
from mqkit.drift.mend import Mender
from mqkit.drift.pace import QuestionPace
from mqkit.drift.watched import ends_with_broker, vanishes_by_itself, watched
from mqkit.errors import (
    ChannelError,
    Closed,
    ConfigurationError,
    DeadlineExceeded,
    MqkitError,
    Unreachable,
)
from mqkit.timing.clock import SYSTEM_CLOCK, Clock
from mqkit.topology.cache import Redeclared, TopologyCache
from mqkit.topology.throwaway import OpenChannel, ThrowAwayChannel

RATE = 200
"""Questions a second: a declare costs RabbitMQ about 0.2 ms, so this is 4 % of a core."""

LATE_S = 1.0
"""A change is told ``every_s`` and this after it was made; a look that takes longer says so."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """``every_s``: the time from look to look; ``None`` is none in between connects."""

    every_s: float | None = None
    rate: int = RATE


class DriftWatch:
    """The watch of one client. ``declaring`` is held by whoever declares.

    ``open_channel`` opens one on the consuming connection, and raises while there is none.
    """

    def __init__(
        self,
        cache: TopologyCache,
        open_channel: OpenChannel,
        book: DriftBook,
        options: WatchOptions,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._cache = cache
        self._open_channel = open_channel
        self._book = book
        self._every_s = options.every_s
        self._pace = QuestionPace(options.rate, clock)
        self._clock = clock
        self._management: ManagementLook | None = None
        self._connected = asyncio.Event()
        self._is_behind = False
        self._is_blind = False
        self.declaring = asyncio.Lock()
        self.passes = 0
        self._was_declared = False

    def look_with(self, management: ManagementLook) -> None:
        """Look with the management API from now on."""
        self._management = management

    # -- passes of declaring -----------------------------------------------------------------

    async def declare_all(
        self, open_channel: OpenChannel, *, is_connect: bool = False
    ) -> Redeclared:
        """Declare everything, and tell what was not as declared.

        At the app's first start nobody is told what was missing: it had not been declared. Nor,
        after a connect, what a restart of the broker ends. Raises as
        :meth:`TopologyCache.declare_all`.
        """
        async with self.declaring:
            self.passes += 1
            declared = await self._cache.declare_all(open_channel, ask_first=self._was_declared)
            self._was_declared = True
        look = self._book.look(Sight.AMQP)
        for declaration in watched(declared.missing):
            if not vanishes_by_itself(declaration) and not (
                is_connect and ends_with_broker(declaration)
            ):
                await look.note(missing(declaration, Done.DECLARED))
        for refused in declared.quarantined:
            if isinstance(refused.error, ChannelError):
                for drift in drifts_of(refused.declaration, refused.error):
                    await look.note(drift, is_said=True)
        look.say()
        return declared

    # -- looks in between --------------------------------------------------------------------

    def connected(self) -> None:
        """There is a connection, and everything is declared."""
        self._connected.set()

    async def run(self) -> None:
        """Look until cancelled."""
        await self._connected.wait()
        is_due = False
        while True:
            self._connected.clear()
            began_s = self._clock.monotonic_s()
            # Over AMQP the pass of declaring was the look of this connect.
            if is_due or self._management is not None:
                await self._look_once()
            is_due = await self._until_next(began_s)

    async def _until_next(self, began_s: float) -> bool:
        """Return when the next look is due: true ``every_s`` after the last one began, false after
        a connect."""
        if self._every_s is None:
            await self._connected.wait()
            return False
        left_s = began_s + self._every_s - self._clock.monotonic_s()
        if left_s < -LATE_S:
            self._behind(self._every_s - left_s)
        try:
            async with self._clock.timeout(left_s):
                await self._connected.wait()
        except TimeoutError:
            return True
        return False

    async def _look_once(self) -> None:
        try:
            await self.look()
        except Closed:
            return
        except MqkitError as error:  # the connection goes; the next one has a look of its own
            _LOG.info("a look for drift is given up: %s", error)

    async def look(self) -> None:
        """Compare everything, mend what is missing, and tell. Raises what ended the connection."""
        wanted = watched(self._cache.declarable)
        look = self._book.look(Sight.MANAGEMENT)
        compared = await self._compared(wanted)
        if compared is None:
            look = self._book.look(Sight.AMQP)
        try:
            async with ThrowAwayChannel(self._open_channel) as channel:
                await self._note(wanted, compared, look, channel)
        except BaseException:
            look.say()
            raise
        await look.end()

    async def _note(
        self,
        wanted: Sequence[Declaration],
        compared: Compared | None,
        look: Look,
        channel: ThrowAwayChannel,
    ) -> None:
        mender = Mender(wanted, channel, self._pace, self.declaring)
        if compared is None:
            await look_over_amqp(wanted, look, channel, mender, self._pace)
        else:
            await note_compared(compared, look, channel, mender, self._pace)

    async def _compared(self, wanted: Sequence[Declaration]) -> Compared | None:
        """The management API's view; ``None`` where there is none, or it does not answer."""
        if self._management is None:
            return None
        try:
            compared = await self._management.compare(wanted)
        except (Unreachable, DeadlineExceeded, ConfigurationError) as error:
            if not self._is_blind:
                self._is_blind = True
                _LOG.warning("drift is looked for over AMQP alone: %s", error)
            return None
        if self._is_blind:
            self._is_blind = False
            _LOG.warning("drift is looked for with the management API again")
        return compared

    def _behind(self, took_s: float) -> None:
        if not self._is_behind:
            self._is_behind = True
            _LOG.warning(
                "a look for drift took %.1f s, and drift_every is %g s: raise one of drift_every"
                " and drift_rate",
                took_s,
                self._every_s,
            )
