"""A run of batch jobs: a broker, one Spark for all rounds, a fault in each, and the judgement when
all of Spark has gone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from interop.chaos.broker import Broker, started
from interop.spark_cluster import started_cluster
from interop.spark_sink import queues
from interop.spark_sink.driver import START_WITHIN_S, Driver, DriverFailed
from interop.spark_sink.faults import starts_of
from interop.spark_sink.judgement import FAULTS_SHOWN, Found, did_not_come, faults
from interop.spark_sink.options import Options
from interop.spark_sink.plan import Kind, Round, rounds
from interop.spark_sink.rows import PARTITIONS, ROWS, expected
from interop.spark_sink.session import LOCAL
from interop.spark_sink.striker import Striker
from interop.spark_sink.watch import watching

ROUND_WITHIN_S = 240.0


@dataclass(frozen=True, slots=True)
class Job:
    """A round that has been run."""

    round: Round
    queues: queues.Queues
    folder: Path
    report: dict[str, Any]
    kills: int


def run(options: Options) -> int:
    """Returns the exit code, and prints figures."""
    with started(options.broker) as broker:
        jobs = _run_jobs(options, broker)
        return _judged(options, broker, jobs)


def _run_jobs(options: Options, broker: Broker) -> list[Job]:
    """All processes of Spark have gone when this returns."""
    with _master(options.kind) as master:
        driver = Driver(
            "interop.spark_sink.program",
            *(master, broker.url, options.kind),
            log=options.folder / "driver.log",
        )
        try:
            if driver.answer(START_WITHIN_S) is None:
                raise DriverFailed(f"there is no Spark session after {START_WITHIN_S:g} s")
            planned = rounds(options.kind, options.rounds, options.seed)
            jobs = [_run_job(options, broker, driver, each) for each in planned]
            driver.end()
        finally:
            driver.leave_nothing()
    return jobs


@contextmanager
def _master(kind: Kind) -> Iterator[str]:
    """Local mode does not speculate."""
    if kind is not Kind.SPECULATION:
        yield LOCAL
        return
    with started_cluster() as cluster:
        yield cluster.url


def _run_job(options: Options, broker: Broker, driver: Driver, round: Round) -> Job:
    folder = options.folder / str(round.number)
    folder.mkdir()
    name = f"round-{round.number}"
    made = queues.declare(broker.url, name, ROWS, windows=options.windows)
    driver.ask(
        {
            **asdict(round),
            "job_id": name,
            "exchange": made.exchange,
            "window": options.windows,
            "folder": str(folder),
        }
    )
    with watching(broker.url, made.exchange) as watch:
        striker = Striker(options.kind, driver, broker, watch, folder)
        deadline = time.monotonic() + ROUND_WITHIN_S
        while time.monotonic() < deadline:
            report = driver.answer()
            if report is not None:
                return Job(round, made, folder, report, striker.kills)
            striker.look()
    raise DriverFailed(f"round {round.number} has not ended after {ROUND_WITHIN_S:g} s")


def _found(options: Options, broker: Broker, job: Job) -> Found:
    window = job.queues.window
    return Found(
        rows=expected(job.round.ids.value, job.queues.exchange),
        plain=queues.taken(broker.url, job.queues.plain),
        window=None if window is None else queues.taken(broker.url, window),
        attempts={each: len(starts_of(job.folder, each)) for each in range(PARTITIONS)},
        report=job.report,
        speculates=options.kind is Kind.SPECULATION,
        kills=job.kills,
    )


def _judged(options: Options, broker: Broker, jobs: list[Job]) -> int:
    copies = begun = wrong = 0
    for job in jobs:
        found = _found(options, broker, job)
        copies += found.copies
        begun += sum(found.attempts.values())
        said = faults(found) + did_not_come(job.round.faulty, found)
        wrong += bool(said)
        for fault in said[:FAULTS_SHOWN]:
            print(f"  round {job.round.number} ({job.round.way}, {job.round.ids}): {fault}")
    if not copies:
        print("  no row came twice: the faults came before anything was published")
    tasks, kills = len(jobs) * PARTITIONS, sum(job.kills for job in jobs)
    window = "each row once behind the window, " if options.windows and not wrong else ""
    print(
        f"{options.kind} on {options.broker}: {len(jobs)} rounds of {ROWS} rows, {tasks} tasks"
        f" begun {begun} times, {kills} workers killed, {copies} messages more than rows, {window}"
        f"{wrong} rounds with faults"
    )
    return 1 if wrong or not copies else 0
