"""A run of a stream: in each round there are new files, and the driver is killed while it publishes
them; the next one goes on where the checkpoint says. The last one ends by itself."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interop.chaos.broker import Broker, started
from interop.spark_sink import queues
from interop.spark_sink.driver import Driver, DriverFailed
from interop.spark_sink.options import Options
from interop.spark_sink.plan import Ids, Way
from interop.spark_sink.rows import ROWS_OF_FILE, bodies, text_of_file
from interop.spark_sink.stream_judgement import Streamed, faults

FILES_OF_ROUND = 6
KILL_AFTER_ROWS = (100, FILES_OF_ROUND * ROWS_OF_FILE)
"""So many rows have come since the driver was started when it is killed."""
KILL_DELAY_S = 0.3
KILL_WITHIN_S = 300.0
FINISH_WITHIN_S = 600.0
FAULTS_SHOWN = 10

Names = Mapping[Way, queues.Queues]
Plan = Mapping[Way, dict[str, Any]]


def run(options: Options) -> int:
    """Returns the exit code, and prints figures."""
    (options.folder / "files").mkdir()
    rows = options.rounds * FILES_OF_ROUND * ROWS_OF_FILE
    with started(options.broker) as broker:
        names = {way: queues.declare(broker.url, way, rows, windows=options.windows) for way in Way}
        plan = _plan(options, names)
        query_ids = _run_drivers(options, broker, plan, names)
        found = {
            way: _found(options, broker, names[way], query_ids[way], plan[way]["ids"])
            for way in Way
        }
        return _judged(options, plan, found)


def _plan(options: Options, names: Names) -> Plan:
    """One query has ids of its own, the other automatic ones; the seed says which."""
    ids = list(Ids)[:: -1 if options.seed % 2 else 1]
    return {
        way: {"exchange": names[way].exchange, "window": options.windows, "ids": ids[position]}
        for position, way in enumerate(Way)
    }


def _run_drivers(options: Options, broker: Broker, plan: Plan, names: Names) -> Mapping[str, str]:
    """The ids of the queries. All processes of Spark have gone when this returns."""
    rng = random.Random(options.seed)
    drivers: list[Driver] = []

    def start() -> Driver:
        arguments = (str(options.folder), broker.url, json.dumps(plan))
        log = options.folder / "driver.log"
        drivers.append(Driver("interop.spark_sink.stream_program", *arguments, log=log))
        return drivers[-1]

    try:
        for number in range(options.rounds):
            _write_files(options.folder / "files", number)
            watched = names[rng.choice(list(Way))].plain
            goal = queues.depth(broker.url, watched) + rng.randint(*KILL_AFTER_ROWS)
            driver = start()
            _until_published(driver, broker, watched, goal)
            time.sleep(rng.uniform(0, KILL_DELAY_S))
            # Its Python workers notice by themselves, and may publish beside the next driver.
            driver.kill()
        return _finish(start())
    finally:
        for driver in drivers:
            driver.leave_nothing()


def _until_published(driver: Driver, broker: Broker, queue: str, goal: int) -> None:
    deadline = time.monotonic() + KILL_WITHIN_S
    while queues.depth(broker.url, queue) < goal:
        driver.answer()
        if time.monotonic() > deadline:
            raise DriverFailed(f"no rows came for {KILL_WITHIN_S:g} s: {driver.log}")


def _finish(driver: Driver) -> Mapping[str, str]:
    driver.ask({"finish": True})
    for _ in range(2):  # it is ready, and then it has finished
        answer = driver.answer(FINISH_WITHIN_S)
    if answer is None:
        raise DriverFailed(f"the stream has not ended after {FINISH_WITHIN_S:g} s: {driver.log}")
    driver.end()
    return answer


def _write_files(folder: Path, round_number: int) -> None:
    for number in range(round_number * FILES_OF_ROUND, (round_number + 1) * FILES_OF_ROUND):
        unfinished = folder / f".{number:05}.txt"  # Spark passes over hidden files
        unfinished.write_bytes(text_of_file(number))
        unfinished.rename(folder / f"{number:05}.txt")


def _found(
    options: Options, broker: Broker, names: queues.Queues, query_id: str, ids: Ids
) -> Streamed:
    report = options.folder / f"{names.exchange}.jsonl"
    return Streamed(
        bodies=bodies(options.rounds * FILES_OF_ROUND * ROWS_OF_FILE),
        query_id=query_id if ids is Ids.AUTO else None,
        plain=queues.taken(broker.url, names.plain),
        window=None if names.window is None else queues.taken(broker.url, names.window),
        reports=[json.loads(line) for line in report.read_text().splitlines()],
        kills=options.rounds,
    )


def _judged(options: Options, plan: Plan, found: Mapping[Way, Streamed]) -> int:
    wrong = 0
    for way, streamed in found.items():
        said = faults(streamed)
        wrong += len(said)
        for fault in said[:FAULTS_SHOWN]:
            print(f"  {way}, {plan[way]['ids']}: {fault}")
        print(
            f"{options.kind} on {options.broker}, {way} with ids {plan[way]['ids']}:"
            f" {len(streamed.bodies)} rows, driver killed {streamed.kills} times,"
            f" {streamed.repeated} batches reported again, {streamed.copies} messages more than"
            f" rows{', each row once behind the window' if streamed.window and not said else ''},"
            f" {len(said)} faults"
        )
    return 1 if wrong else 0
