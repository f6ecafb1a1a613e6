"""``mqkit topology migrate``: a queue with other arguments, and its messages with it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mqkit.retry.duration import parse_duration
from mqkit.topology import Topology
from mqkit.topology.migration import Checked, Outcome, Report, Request, check_migration
from mqkit.topology.migration import migrate as migrate_queue
from mqkit.topology.migration.journal import journal_path, read_journal
from mqkit.topology.migration.progress import Progress
from mqkit.topology.migration.session import WAIT_S, Site
from mqkit.topology.migration.steps import Event, Step, step_after
from mqkit_cli.amqp import exact_transport
from mqkit_cli.connection import (
    TIMEOUT_S,
    JsonOption,
    ManagementUrlOption,
    Target,
    TimeoutOption,
    UrlOption,
    in_vhost,
    target_of,
)
from mqkit_cli.errors import CommandError
from mqkit_cli.render import line, note, plural, printable, progress, write_json
from mqkit_cli.topology.files import FILES, FilesOption, load_topology

EXIT_CHANGES = 2

WORDS: dict[Step, str] = {
    Step.DECLARE: "declare the temporary queue, and a gate to it",
    Step.GATE: "bind the gate as the queue is bound; it leads to the queue",
    Step.UNBIND: "unbind the queue: messages come by the gate alone",
    Step.FETCH: "move the messages to the temporary queue",
    Step.DIVERT: "the gate leads to the temporary queue",
    Step.EMPTY: "move the rest, and wait until nothing is unacked",
    Step.REPLACE: "delete the queue, and declare it with its new arguments",
    Step.RELEASE: "give back what was held of queues that dead-letter here",
    Step.RETURN: "move the messages back",
    Step.REVERT: "the gate leads to the queue",
    Step.FOLLOW: "move the rest back",
    Step.BIND: "bind the queue as before",
    Step.UNGATE: "unbind the gate",
    Step.REMOVE: "delete the temporary queue and the gate",
}

JournalOption = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        metavar="FILE",
        help="Where the migration notes how far it is. [default: beside the topology:"
        " topology.QUEUE.migration.jsonl]",
    ),
]

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be done, and what is in the way.")
]
AbortOption = Annotated[
    bool, typer.Option("--abort", help="Go back to the queue as it was, from any step.")
]
GapOption = Annotated[
    bool,
    typer.Option(
        "--gap",
        help="Accept that messages are lost which come to the queue by its name, over the default"
        " exchange, in the moment when it is away.",
    ),
]
WaitOption = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help="How long to wait for consumers to ack what they have. [default: 5m]",
    ),
]
SettleOption = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION",
        help="How long the queue has to be at rest before it is deleted: more than twice the"
        " broker's collect_statistics_interval. [default: 11s; 1s on the reference broker]",
    ),
]


def migrate(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="The queue, by its name.")],
    files: FilesOption = FILES,
    journal: JournalOption = None,
    dry_run: DryRunOption = False,
    abort: AbortOption = False,
    gap: GapOption = False,
    wait: WaitOption = None,
    settle: SettleOption = None,
    url: UrlOption = None,
    management_url: ManagementUrlOption = None,
    timeout_s: TimeoutOption = TIMEOUT_S,
    as_json: JsonOption = False,
) -> None:
    """Give a queue the arguments of the file: its messages wait in a temporary queue meanwhile.

    After a kill, or when what was in the way is mended, the same command goes on. Needs the
    management API. Exits with 1 where it is refused or had to stop, and a --dry-run with 2 where
    something would be done.
    """
    topology = load_topology(files)
    target = in_vhost(target_of(url, management_url), topology.vhost)
    path = journal or journal_path(files[0], queue)
    if dry_run:
        _show_plan(topology, target, queue, path, gap=gap, timeout_s=timeout_s, as_json=as_json)
        return
    site = Site(
        target.endpoint,
        target.management_url,
        timeout_s=timeout_s,
        wait_s=WAIT_S if wait is None else parse_duration(wait) / 1000,
        settle_s=None if settle is None else parse_duration(settle) / 1000,
        transport=exact_transport(),
    )
    request = Request(topology, queue, path, abort=abort, gap=gap)
    if management_url and not url:
        raise CommandError("a migration moves messages over AMQP: give --url too")
    report = _run(site, request, quiet=as_json)
    if as_json:
        write_json({**report.to_dict(), "journal": str(path)})
    else:
        _show(report, topology)
    if report.outcome is Outcome.STOPPED:
        raise CommandError(
            f"stopped at step {report.step}: {report.why} (the journal is {path}; nothing is lost)"
        )


def _run(site: Site, request: Request, *, quiet: bool) -> Report:
    moved = 0
    with progress("moving", None) as show:

        def tell(record: Any) -> None:
            nonlocal moved
            if record["record"] == "committed":
                moved += record["count"]
                show(moved)
            elif record["record"] == "begun" and not quiet:
                step = Step(record["step"])
                line(f"{step:<8} {WORDS[step]}")
                sys.stdout.flush()  # in a pipe, too, each step shows when it begins

        return asyncio.run(migrate_queue(site, request, on_record=tell))


def _show(report: Report, topology: Topology) -> None:
    queue = printable(report.queue)
    for remark in report.remarks:
        note(printable(remark))
    for window in report.in_doubt:
        ids = ", ".join("(no id)" if each is None else printable(each) for each in window.ids)
        place = f"{printable(window.source)} to {printable(window.destination)}"
        if window.with_confirms:
            note(f"may be there twice, since a run ended on their way from {place}: {ids}")
        else:
            note(
                f"under way from {place} when a run ended, and there twice only if the broker was"
                f" killed as well: {ids}"
            )
    match report.outcome:
        case Outcome.NOTHING:
            line(f"{queue} is as {topology.file} says: nothing to do")
        case Outcome.FINISHED:
            line(f"{queue} is as {topology.file} says; {_counts(report)}")
        case Outcome.ABORTED:
            line(f"{queue} is as it was; {_counts(report)}")


def _counts(report: Report) -> str:
    lost = f", {plural(report.lost, 'message')} lost" if report.lost else ""
    return f"{plural(report.moved, 'move')} of messages{lost}"


def _show_plan(
    topology: Topology,
    target: Target,
    queue: str,
    path: Path,
    *,
    gap: bool,
    timeout_s: float,
    as_json: bool,
) -> None:
    under_way = read_journal(path)
    if under_way is not None and not under_way.is_finished:
        _show_rest(queue, under_way, as_json=as_json)
        raise typer.Exit(EXIT_CHANGES)
    snapshot = asyncio.run(target.snapshot(timeout_s))
    checked = check_migration(topology, snapshot, queue, gap=gap)
    if as_json:
        write_json(_plan_json(queue, checked))
    else:
        _show_checked(queue, checked)
    if checked.refusals:
        raise CommandError(f"{queue!r} would not be migrated: {'; '.join(checked.refusals)}")
    if checked.migration is not None:
        raise typer.Exit(EXIT_CHANGES)


def _show_rest(queue: str, under_way: Progress, *, as_json: bool) -> None:
    rest = _steps_from(under_way.step)
    if as_json:
        write_json(
            {
                "queue": queue,
                "direction": str(under_way.direction),
                "steps": [str(step) for step in rest],
            }
        )
        return
    line(f"{printable(queue)}: under way ({under_way.direction}); these steps are left")
    _show_steps(rest)


def _show_checked(queue: str, checked: Checked) -> None:
    for difference in checked.differences:
        line(f"{printable(queue)}: {printable(str(difference))}")
    for accepted in checked.in_the_gap:
        line(f"accepted by --gap: {printable(accepted)}")
    if checked.migration is not None:
        _show_steps(_steps_from(Step.DECLARE))
    elif not checked.refusals:
        line(f"{printable(queue)}: nothing to do")


def _show_steps(steps: Sequence[Step]) -> None:
    for step in steps:
        line(f"{step:<8} {WORDS[step]}")


def _plan_json(queue: str, checked: Checked) -> dict[str, object]:
    return {
        "queue": queue,
        "differences": [difference.to_dict() for difference in checked.differences],
        "refusals": list(checked.refusals),
        "in_the_gap": list(checked.in_the_gap),
        "steps": []
        if checked.migration is None
        else [str(step) for step in _steps_from(Step.DECLARE)],
    }


def _steps_from(step: Step) -> list[Step]:
    found: list[Step] = []
    while step is not Step.FINISHED:
        found.append(step)
        step = step_after(step, Event.DONE)
    return found
