"""One run of the demo, step by step.

    broker -> topology -> publish, with the broker killed in the middle -> the tiers run dry
           -> the bug is fixed, the parking lots are replayed -> Spark sinks the records -> ledger

Each wait ends when what it waits for has come, or when nothing has moved for ``patience_s``
seconds; then the run goes on, and the ledger says what is missing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from mqkit import App
from mqkit.lots import LotLink, ls
from mqkit.lots.replay import ReplayRequest, replay
from mqkit.topology import apply, channels_of, compile_topology, plan, take_snapshot
from mqkit.topology.retrying.known_lots import known_lots
from mqkit.url import parse, redact
from mqkit_cli.amqp import exact_transport, transport
from mqkit_cli.demo.broker_process import BrokerProcess
from mqkit_cli.demo.handlers import Bug, failing_handler, storing_handler
from mqkit_cli.demo.journal import Event, Journal, read_journal
from mqkit_cli.demo.ledger import Ledger, settle
from mqkit_cli.demo.outage import Outage, Struck
from mqkit_cli.demo.publishing import DEADLINE_S, publish_all
from mqkit_cli.demo.scenario import Scenario
from mqkit_cli.demo.spark_process import run_job, why_not, write_rows
from mqkit_cli.demo.view import View
from mqkit_cli.errors import CommandError
from mqkit_cli.topology.view import counted

PREFETCH = 200
CONCURRENCY = 20
POLL_INTERVAL_S = 0.05
LOTS_INTERVAL_S = 0.25
READY_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Setting:
    """The surroundings of a run: folder, journal, view, and seconds to wait for what does not
    come."""

    folder: Path
    journal: Journal
    view: View
    patience_s: float
    with_spark: bool


@dataclass(slots=True)
class Run:
    """One run. Make a new one for another."""

    scenario: Scenario
    setting: Setting
    bug: Bug = field(default_factory=Bug)
    began_at: float = field(default_factory=time.monotonic)

    async def play(self) -> Ledger:
        """The whole of it. Leaves no process behind, however it ends.

        Raises :exc:`~mqkit_cli.errors.CommandError` for what keeps it from going on.
        """
        folder, journal = self.setting.folder, self.setting.journal
        spark_ran = False
        async with BrokerProcess(folder / "data", folder / "broker.log") as broker:
            self._say("broker", f"{redact(broker.url)} in a process of its own, data in {folder}")
            await self._apply(broker)
            app = self._make_app(broker)
            async with app:
                await app.wait_ready(READY_TIMEOUT_S)
                await self._publish(app, broker)
                await self._settle(broker)
                await self._replay(broker)
                if self.setting.with_spark:
                    spark_ran = await self._sink(broker)
        ledger = settle(read_journal(journal.folder), with_spark=spark_ran)
        self._say("done", "the broker is stopped")
        return ledger

    async def _apply(self, broker: BrokerProcess) -> None:
        desired = compile_topology(self.scenario.topology)
        endpoint = parse(broker.url)
        snapshot = await take_snapshot(broker.management_url, endpoint.vhost)
        async with channels_of(transport(), endpoint, timeout_s=READY_TIMEOUT_S) as open_channel:
            applied = await apply(plan(desired, snapshot), open_channel)
        if applied.quarantined:
            refused = applied.quarantined[0]
            name = getattr(refused.step.declaration, "name", "a binding")
            raise CommandError(f"{self.scenario.topology.file}: {name}: {refused.detail}")
        self._say("topology", f"{self.scenario.topology.file}: {counted(desired)}")

    def _make_app(self, broker: BrokerProcess) -> App:
        app = App(url=broker.url, topology=self.scenario.topology)
        scenario, journal = self.scenario, self.setting.journal
        for queue in scenario.queues:
            handler = failing_handler(queue, scenario.numbers, journal, self.bug)
            app.consumer(queue.name, prefetch=PREFETCH, concurrency=CONCURRENCY)(handler)
        app.consumer(scenario.warehouse, prefetch=PREFETCH, concurrency=CONCURRENCY)(
            storing_handler(scenario.warehouse, journal)
        )
        return app

    async def _publish(self, app: App, broker: BrokerProcess) -> None:
        items = self.scenario.items
        queues = ", ".join(queue.name for queue in self.scenario.queues)
        self._say(
            "publish",
            f"records to exchange {self.scenario.exchange!r}: {len(items):,}; consuming {queues}",
        )
        outage = Outage(broker, self.setting.journal, self._struck)
        async with asyncio.TaskGroup() as group:
            ticking = group.create_task(self._tick())
            outage_over = group.create_task(outage.run())
            await publish_all(
                items,
                lambda messages: app.publish_batch(messages, deadline=DEADLINE_S),
                self.setting.journal,
                outage,
            )
            await outage_over
            ticking.cancel()
        self._say("published", f"all {len(items):,} are confirmed; the client recovered by itself")

    def _struck(self, struck: Struck) -> None:
        self._say(
            "kill -9",
            f"the broker is killed, with {struck.published:,} published,"
            f" {struck.confirmed:,} confirmed, {struck.processed:,} processed; starting it again",
        )

    async def _settle(self, broker: BrokerProcess) -> None:
        """Wait until each message is processed, or lies in a parking lot."""
        link = self._link(broker)
        journal, expected = self.setting.journal, self.scenario.expected
        processed, parked = journal.seen[Event.PROCESSED], journal.seen[Event.PARKED]

        async def is_settled() -> bool:
            if len(processed) + len(parked) < len(expected):
                return False
            # A handler writes down that its message will be parked; the message follows.
            await asyncio.sleep(LOTS_INTERVAL_S)
            missing = expected - processed.keys()
            return missing <= parked.keys() and await self._depth(link) >= len(missing)

        await self._wait(is_settled)
        self._say(
            "parked",
            f"{journal.messages(Event.PARKED):,} failed every retry, the parking lots hold"
            f" {await self._depth(link):,}; processed: {journal.messages(Event.PROCESSED):,}",
        )

    async def _replay(self, broker: BrokerProcess) -> None:
        """The bug is fixed; what it parked goes back to where it failed."""
        self.bug.is_fixed = True
        link = self._link(broker)
        replayed = 0
        for lot in await ls(link, self._lots()):
            if lot.exists and lot.messages:
                report = await replay(link, ReplayRequest(lot.name))
                replayed += report.replayed
                if why := report.stopped or report.reason:
                    raise CommandError(f"the replay of {lot.name} stopped: {why}")
        self._say("replay", f"the bug is fixed; {replayed:,} go back to their queues")
        expected = self.scenario.expected
        processed = self.setting.journal.seen[Event.PROCESSED]

        async def is_processed() -> bool:
            return len(processed) >= len(expected) and expected <= processed.keys()

        await self._wait(is_processed)

    async def _sink(self, broker: BrokerProcess) -> bool:
        """Run the Spark job; false if it can't run here."""
        reason = await why_not()
        if reason is not None:
            self._say("spark", f"skipped: {reason}")
            return False
        folder, journal, warehouse = (
            self.setting.folder,
            self.setting.journal,
            self.scenario.warehouse,
        )
        self._say("spark", f"a PySpark job sinks the same records into queue {warehouse!r}")
        rows = folder / "rows.jsonl"
        write_rows(self.scenario.items, rows)
        confirmed = await run_job(rows, warehouse, broker.url, folder / "spark.log")
        if confirmed != len(self.scenario.items):
            raise CommandError(
                f"the Spark job had {confirmed:,} of {len(self.scenario.items):,} rows confirmed"
            )
        for item in self.scenario.items:
            journal.write(Event.SUNK, warehouse, item.message_id)

        async def is_stored() -> bool:
            return journal.messages(Event.STORED) >= confirmed

        await self._wait(is_stored)
        self._say(
            "sunk", f"{confirmed:,} rows confirmed, {journal.messages(Event.STORED):,} read back"
        )
        return True

    async def _wait(self, is_done: Callable[[], Awaitable[bool]]) -> None:
        journal = self.setting.journal
        lines, moved_at = journal.lines, time.monotonic()
        while not await is_done():
            await asyncio.sleep(POLL_INTERVAL_S)
            self.setting.view.tick()
            if journal.lines != lines:
                lines, moved_at = journal.lines, time.monotonic()
            if time.monotonic() - moved_at > self.setting.patience_s:
                self._say(
                    "waiting", f"nothing has moved for {self.setting.patience_s:g} s; going on"
                )
                return

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL_S)
            self.setting.view.tick()

    def _link(self, broker: BrokerProcess) -> LotLink:
        known = known_lots(self.scenario.topology)
        return LotLink(parse(broker.url), known=known, transport=exact_transport())

    def _lots(self) -> list[str]:
        return [lot for queue in self.scenario.queues if (lot := queue.parking_lot) is not None]

    async def _depth(self, link: LotLink) -> int:
        lots = self._lots()
        return sum(lot.messages for lot in await ls(link, lots)) if lots else 0

    def _say(self, step: str, text: str) -> None:
        self.setting.view.say(f"{time.monotonic() - self.began_at:6.1f} s  {step:<9}  {text}")
