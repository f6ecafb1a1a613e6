"""``python -m interop``: the differential test and other people's suites, one after the other.

Exit code 0 when neither found anything, 1 else. ``suites``, ``differential`` and ``differences``
(the list of what differs on purpose) are there by themselves, too; and ``cluster``, the suites with
our queues at another node than their clients.
"""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from interop.brokers import Brokers, both_brokers
from interop.differential.lockstep import Lockstep
from interop.differential.on_purpose import as_table
from interop.differential.search import Differs, Tally, search
from interop.differential.subject import Subject
from interop.suites.comparison import compare_suites
from interop.suites.session import SuiteFailed
from interop.suites.verdict import Verdict
from interop.suites.workshop import default_folder
from interop.summary import on_purpose, summary
from mqkit.testing import ClusterUnavailable, RabbitMQUnavailable

SEQUENCES = 2_000
PROGRESS_EVERY = 250
FAILURES = (
    RabbitMQUnavailable,
    ClusterUnavailable,
    RuntimeError,
    SuiteFailed,
    subprocess.CalledProcessError,
)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)

Sequences = Annotated[int, typer.Option(help="How many sequences are compared.")]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same sequences.")]
Cache = Annotated[Path | None, typer.Option(help="Where other people's tests are kept.")]


@app.callback(invoke_without_command=True)
def everything(
    context: typer.Context,
    sequences: Sequences = SEQUENCES,
    seed: Seed = None,
    cache: Cache = None,
) -> None:
    """Both, on the same two brokers."""
    if context.invoked_subcommand is None:
        with both_brokers() as brokers:
            tally = _differential(brokers, sequences, seed)
            good = _suites(brokers, cache, tally)
        raise SystemExit(not (good and _all_alike(tally, sequences)))


@app.command("suites")
def suites_only(cache: Cache = None) -> None:
    """Other people's suites only."""
    with both_brokers() as brokers:
        good = _suites(brokers, cache)
    raise SystemExit(not good)


@app.command("cluster")
def suites_on_cluster(cache: Cache = None) -> None:
    """Other people's suites, with our queues at another node than their clients."""
    with both_brokers("cluster") as brokers:
        good = _suites(brokers, cache)
    raise SystemExit(not good)


@app.command("differential")
def differential_only(sequences: Sequences = SEQUENCES, seed: Seed = None) -> None:
    """The differential test only."""
    with both_brokers() as brokers:
        tally = _differential(brokers, sequences, seed)
    raise SystemExit(not _all_alike(tally, sequences))


@app.command("differences")
def differences() -> None:
    """What differs on purpose, as the table of docs/compatibility.md."""
    print(as_table())


def _suites(brokers: Brokers, cache: Path | None, tally: Tally | None = None) -> bool:
    verdicts: list[Verdict] = []
    for verdict in compare_suites(brokers, cache or default_folder()):
        print(f"{verdict.suite}: done", file=sys.stderr)
        verdicts.append(verdict)
    print(summary(verdicts, tally))
    for verdict in verdicts:
        for name in verdict.regressions:
            print(f"{verdict.suite}: passes on RabbitMQ, not here: {name}")
        for name in verdict.unneeded:
            print(f"{verdict.suite}: known difference that is none: {name}")
    return all(verdict.is_good for verdict in verdicts)


def _differential(brokers: Brokers, sequences: int, seed: int | None) -> Tally:
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    print(f"differential test: {sequences} sequences, --seed {chosen}", flush=True)
    lockstep = Lockstep(Subject("RabbitMQ", brokers.there), Subject("ours", brokers.here))
    try:
        tally = search(lockstep, sequences, chosen, progress=_tell_progress)
    except Differs as found:
        print(f"the brokers differ:\n{found}\nagain: python -m interop differential ", end="")
        print(f"--sequences {sequences} --seed {chosen}")
        return found.tally
    known = on_purpose(tally) or "none met"
    print(f"{tally.compared} sequences, no difference but those on purpose ({known})")
    print(f"{tally.races} sequences had another result at their second or third run")
    return tally


def _all_alike(tally: Tally, sequences: int) -> bool:
    return tally.compared >= sequences and not tally.differed


def _tell_progress(tally: Tally) -> None:
    if tally.compared % PROGRESS_EVERY == 0:
        print(f"{tally.compared} sequences", file=sys.stderr, flush=True)


def main() -> None:
    # As after Ctrl-C, all that was started is ended and all folders go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        app(prog_name="python -m interop")
    except FAILURES as why:
        print(f"interop: {why}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
