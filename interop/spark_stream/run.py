"""A run: a broker, a queue with messages, Spark that takes them into files, kills by a seed."""

from __future__ import annotations

import json
import random
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interop.spark_stream import cluster, queue, result
from interop.spark_stream.broker import Broker, started
from interop.spark_stream.driver import Driver
from interop.spark_stream.facts import Facts, Kill
from interop.spark_stream.judgement import FAULTS_SHOWN, duplicates, faults
from interop.spark_stream.processes import kill

QUEUE = "orders"
PARTITIONS = 4
LOOK_AGAIN_S = 0.2
KILL_DELAY_MAX_S = 1.5
"""A kill comes up to so long after a batch was finished since the last one."""
BATCH_WITHIN_S = 300.0
ALL_WITHIN_S = 300.0
"""Without any progress, a run is given up after these, and judged as it is."""
BATCHES_FOR_A_KILL = 2
EVERY_TARGET = ("driver", "worker", "broker")

SPARK = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "8",
    # The judgement wants the batch of each file, which compact logs do not keep.
    "spark.sql.streaming.fileSink.log.compactInterval": "100000",
}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.25",
    "spark.speculation.minTaskRuntime": "0ms",
}


@dataclass(frozen=True, slots=True)
class Options:
    """``folder`` is new, and empty."""

    broker: str
    messages: int
    kills: int
    seed: int
    mode: str
    speculation: bool
    folder: Path


class Run:
    """One run; :meth:`all` does it."""

    def __init__(self, options: Options, broker: Broker, spark: cluster.Cluster | None) -> None:
        self._options = options
        self._broker = broker
        self._cluster = spark
        self._rng = random.Random(options.seed)
        self._facts = Facts(options.messages, options.mode)
        self._result = options.folder / "result"
        self._spool = options.folder / "spool"
        self._driver = Driver(options.folder, self._given())

    def all(self) -> Facts:
        queue.fill(self._broker, QUEUE, self._options.messages)
        began = time.monotonic()
        try:
            self._driver.start()
            for _ in range(self._options.kills):
                if not self._has_moved():
                    break
                time.sleep(self._rng.random() * KILL_DELAY_MAX_S)
                self._kill()
            self._until_all_is_there()
        finally:
            self._driver.end()
        self._facts.seconds = time.monotonic() - began
        self._facts.files_at_end = self._data_files()
        code = self._driver.run("--until-empty")
        if code:
            raise RuntimeError(f"the next start ended with {code}: {self._options.folder}")
        self._facts.files_after_start = self._data_files()
        self._look()
        return self._facts

    def _given(self) -> dict[str, Any]:
        options = self._options
        most = options.messages // (BATCHES_FOR_A_KILL * max(1, options.kills))
        source = {
            "url": self._broker.url,
            "queue": QUEUE,
            "mode": options.mode,
            "maxOffsetsPerTrigger": str(most),
            "minPartitions": str(PARTITIONS),
        }
        if options.mode == "spool":
            source["spoolLocation"] = self._spool.as_uri()
        return {
            "master": self._cluster.url if self._cluster else "local[2,8]",
            "spark": {**SPARK, **(SPECULATION if self._cluster else {})},
            "source": source,
            "result": str(self._result),
            "checkpoint": str(options.folder / "checkpoint"),
        }

    def _kill(self) -> None:
        target = self._rng.choice(EVERY_TARGET)
        self._facts.kills.append(Kill(target, result.newest_batch(self._result)))
        match target:
            case "driver":
                self._driver.kill()
                self._driver.start()
            case "broker":
                self._broker.kill_and_start()
            case _:
                self._kill_worker()

    def _kill_worker(self) -> None:
        """A Python worker, of the driver or of an executor; or a whole worker of the cluster."""
        if self._cluster is not None and self._rng.random() < 1 / 3:
            self._cluster.kill_worker(self._rng.randrange(cluster.WORKERS))
            return
        found = self._driver.python_workers()
        if self._cluster is not None:
            found += self._cluster.python_workers()
        if found:
            kill(self._rng.choice(found).pid)

    def _has_moved(self) -> bool:
        """A batch was finished since; a driver that ended meanwhile is started again."""
        before = result.newest_batch(self._result)
        deadline = time.monotonic() + BATCH_WITHIN_S
        while result.newest_batch(self._result) == before:
            if time.monotonic() > deadline or result.rows(self._result) >= self._options.messages:
                return False
            self._restart_if_ended()
            time.sleep(LOOK_AGAIN_S)
        return True

    def _until_all_is_there(self) -> None:
        newest, since = -1, time.monotonic()
        while time.monotonic() - since < ALL_WITHIN_S:
            self._restart_if_ended()
            if result.newest_batch(self._result) != newest:
                newest, since = result.newest_batch(self._result), time.monotonic()
                if len(result.ids(self._result)) >= self._options.messages:
                    return
            time.sleep(LOOK_AGAIN_S)

    def _restart_if_ended(self) -> None:
        if self._driver.has_ended():
            self._facts.kills.append(Kill("query", result.newest_batch(self._result)))
            self._driver.start()

    def _data_files(self) -> list[str]:
        found = self._spool.glob("batches/*/*.arrow")
        return sorted(str(path.relative_to(self._spool)) for path in found)

    def _look(self) -> None:
        facts = self._facts
        facts.batches = result.ids(self._result)
        facts.ready = queue.ready(self._broker, QUEUE)
        facts.unacked = queue.unacked(self._broker, QUEUE)
        facts.starts = self._driver.starts
        history = self._spool / "history.json"
        if history.exists():
            facts.counts = json.loads(history.read_text())["counts"]


def run(options: Options) -> int:
    """Returns the exit code, and prints figures."""
    with ExitStack() as stack:
        broker = stack.enter_context(started(options.broker))
        spark = None
        if options.speculation:
            spark = stack.enter_context(cluster.started(options.folder / "cluster"))
        facts = Run(options, broker, spark).all()
    found = faults(facts)
    targets = ", ".join(f"{count} {target}" for target, count in sorted(facts.targets.items()))
    print(
        f"{facts.messages} messages in {facts.seconds:.0f} s, kills and ends: {targets or 'none'};"
        f" {facts.starts} starts of the driver, {len(facts.batches)} ids in the result,"
        f" {duplicates(facts)} of their rows double; {facts.counts or 'no counts'};"
        f" {len(facts.files_at_end)} data files left at the end, {len(facts.files_after_start)}"
        f" after the next start; {len(found)} faults"
    )
    for fault in found[:FAULTS_SHOWN]:
        print(f"  {fault}")
    return 1 if found else 0
