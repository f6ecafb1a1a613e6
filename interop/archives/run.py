"""A run: a tenth of the lot first, undisturbed, then the whole lot, and the kills."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from interop.archives import judgement
from interop.archives.file import read
from interop.archives.judgement import Arrival, is_same
from interop.archives.lot import Lots
from interop.archives.messages import NUMBER, Messages, print_of
from interop.archives.octets import parts_of
from interop.archives.process import Ended, dlq
from interop.chaos.broker import started

FAULTS_SHOWN = 20
LOT, QUEUE = "email.parked", "email"
SMALL_PART = 10
SMALL_LEAST = 2_000
"""Two windows of an archive."""
DELAY_S = 0.1
"""Kills come up to so much after the broker has counted a number of messages as gone: when a
window is written, synced, sent, acked."""
MOVED_MOST_LEAST = 1_500
"""Half as much again as a window of an archive, so that some kills come when one is written."""
RESTORES_KILLED = 4
"""One in so many restores is killed as well."""
LOOKS_MAX, LOOK_AGAIN_S = 5, 1.0


@dataclass(frozen=True, slots=True)
class Options:
    """The broker by its name, the messages of the lot, the kills of each command, the seed, and a
    folder for archives."""

    broker: str
    messages: int
    kills: int
    seed: int
    folder: Path


@dataclass(slots=True)
class Found:
    """The faults and the peaks of a run, so far."""

    faults: list[str] = field(default_factory=list)
    peaks_kib: dict[str, int] = field(default_factory=dict)

    def add(self, faults: Iterable[str]) -> None:
        self.faults += faults

    def ran(self, step: str, ended: Ended) -> None:
        """A process that was to end by itself."""
        self.peaked(step, ended)
        if ended.code:
            self.faults.append(f"{step}: exit code {ended.code}: {ended.err.strip()[-300:]}")

    def peaked(self, step: str, ended: Ended) -> None:
        self.peaks_kib[step] = max(ended.peak_kib, self.peaks_kib.get(step, 0))


def run(options: Options) -> int:
    """Returns the exit code, and prints figures."""
    found = Found()
    with started(options.broker) as broker:
        run = _Run(options, broker.url, found)
        small = min(options.messages, max(options.messages // SMALL_PART, SMALL_LEAST))
        run.lots.declare(LOT, QUEUE)
        for suffix in (".jsonl.gz", ".parquet"):
            run.there_and_back(small, suffix)
        run.replay_undisturbed(small)
        run.there_and_back(options.messages, ".jsonl.gz", is_last=False)
        run.archive_killed()
        run.replay_killed()
    _judge_memory(found, small, options.messages)
    for step, kib in found.peaks_kib.items():
        print(f"  peak memory {_mib(kib)}: {step}")
    print(f"  {len(found.faults)} faults")
    for fault in found.faults[:FAULTS_SHOWN]:
        print(f"  {fault}")
    return 1 if found.faults else 0


def _judge_memory(found: Found, small: int, large: int) -> None:
    for step in ("archive", "restore", "replay"):
        least = found.peaks_kib[f"{step} {small}"]
        for of in (f"{step} {large}", f"{step} {large}, killed"):
            known = large if of.startswith("restore") and of.endswith("killed") else 0
            found.add(judgement.grows(of, least, found.peaks_kib.get(of, 0), known))


class _Run:
    def __init__(self, options: Options, url: str, found: Found) -> None:
        self.lots = Lots(url)
        self._options = options
        self._url = url
        self._found = found
        self._rng = random.Random(options.seed)
        self._messages = Messages(options.seed)
        self._prints: list[bytes] = []
        self._names: list[str] = []
        for message in map(self._messages.message, range(options.messages)):
            self._prints.append(print_of(message.octets, message.body))
            self._names.append(message.name)

    def there_and_back(self, count: int, suffix: str, *, is_last: bool = True) -> None:
        """Archive a lot, restore it, and compare; if ``is_last``, the lot is empty then."""
        wanted = self._prints[:count]
        self._fill(count)
        path = self._options.folder / f"whole-{count}{suffix}"
        step = str(count) if suffix == ".jsonl.gz" else f"{count} in Parquet"
        archived = self._dlq("archive", LOT, "--to", str(path))
        self._found.ran(f"archive {step}", archived)
        self._found.add(judgement.differs([], self.lots.look(LOT), "lot after the archive"))
        self._found.add(judgement.differs(wanted, _filed(path), f"file {path.name}"))
        restored = self._dlq("restore", str(path))
        self._found.ran(f"restore {step}", restored)
        back = self.lots.look(LOT)
        if is_last:
            self.lots.purge(LOT)
        self._found.add(judgement.differs(wanted, back, f"lot after the restore of {path.name}"))
        print(
            f"  {step}: archived in {archived.seconds:.1f} s ({_mib(archived.peak_kib)}),"
            f" restored in {restored.seconds:.1f} s ({_mib(restored.peak_kib)}),"
            f" {len(back)} compared",
            flush=True,
        )
        path.unlink(missing_ok=True)

    def replay_undisturbed(self, count: int) -> None:
        self._fill(count)
        ended = self._dlq("replay", LOT, "--to", QUEUE)
        self._found.ran(f"replay {count}", ended)
        arrivals = list(self._arrivals())
        self._found.add(judgement.replayed(self._names[:count], arrivals, Counter(), 0))
        print(
            f"  {count}: replayed in {ended.seconds:.1f} s ({_mib(ended.peak_kib)}),"
            f" {len(arrivals)} compared",
            flush=True,
        )

    def archive_killed(self) -> None:
        """Archive with kills, until it is done; look after each for what is nowhere; restore."""
        count, kills = self._options.messages, self._options.kills
        self.lots.wait_for(LOT, count)
        folder = self._options.folder / "killed"
        files: list[Path] = []
        in_files: set[bytes] = set()
        killed, step = 0, f"archive {count}, killed"
        while True:
            ended = self._killed("archive", LOT, "--to", str(folder), is_to_be=killed < kills)
            new = sorted(set(folder.glob("*")) - set(files)) if folder.exists() else []
            files += new
            for path in new:
                in_files.update(_filed(path))
            if not ended.is_killed:
                self._found.ran(step, ended)
                break
            killed += 1
            self._found.peaked(step, ended)
            self._find_lost(in_files, f"kill {killed}")
        self._few("archive", killed)
        self._found.add(judgement.differs([], self.lots.look(LOT), "lot after the last archive"))
        self._found.add(judgement.lost(self._prints, [in_files], "in the end"))
        twice = sum(len(_filed(path)) for path in files) - len(in_files)
        restores_killed = self._restore(files)
        back = self.lots.look(LOT)
        self._found.add(judgement.differs(self._prints, back, "lot after all restores"))
        print(
            f"  archive killed {killed} times: {len(files)} files, {twice} messages in two of"
            f" them; restored with {restores_killed} kills: {len(back)} in the lot",
            flush=True,
        )

    def replay_killed(self) -> None:
        """Replay with kills, until it is done."""
        count, kills = self._options.messages, self._options.kills
        self.lots.purge(LOT)
        self._fill(count)  # anew: a look has marked the others as redelivered
        told: Counter[str] = Counter()
        killed, step = 0, f"replay {count}, killed"
        while True:
            ended = self._killed("replay", LOT, "--to", QUEUE, is_to_be=killed < kills)
            told.update(judgement.repeated_names(ended.err))
            if not ended.is_killed:
                self._found.ran(step, ended)
                break
            killed += 1
            self._found.peaked(step, ended)
            self.lots.wait_for_all([LOT, QUEUE], count)
        self._few("replay", killed)
        self._found.add(judgement.differs([], self.lots.look(LOT), "lot after the last replay"))
        arrivals = list(self._arrivals())
        self._found.add(judgement.replayed(self._names, arrivals, told, killed))
        print(
            f"  replay killed {killed} times: {len(arrivals) - count} of {count} sent again,"
            f" {told.total()} named as maybe sent",
            flush=True,
        )

    def _restore(self, files: list[Path]) -> int:
        """Restore them in order; the number of restores that were killed, and begun again."""
        killed, step = 0, f"restore {self._options.messages}, killed"
        for number, path in enumerate(files):
            is_to_be = number % RESTORES_KILLED == 0
            ended = self._killed("restore", str(path), is_to_be=is_to_be)
            if ended.is_killed:
                killed += 1
                self._found.peaked(step, ended)
                ended = self._dlq("restore", str(path))
            self._found.ran(step, ended)
        return killed

    def _killed(self, *arguments: str, is_to_be: bool) -> Ended:
        """Kill it, if it is to be, after it has moved some messages of its share of the lot."""
        if not is_to_be:
            return self._dlq(*arguments)
        share = self._options.messages // (2 * (self._options.kills + 1))  # some are under way
        moved = self._rng.randint(1, max(MOVED_MOST_LEAST, share))
        delay_s = self._rng.choice((0.0, self._rng.random() * DELAY_S))
        with self.lots.counting(QUEUE if arguments[0] == "replay" else LOT) as count:
            before = count()

            def is_time() -> bool:
                if abs(count() - before) < moved:
                    return False
                time.sleep(delay_s)
                return True

            return dlq(self._url, *arguments, kill_when=is_time)

    def _find_lost(self, in_files: set[bytes], when: str) -> None:
        """Look again for messages that are in neither: those that were under way at a kill are in
        the lot when the broker sees that the process is gone."""
        faults: list[str] = []
        for _ in range(LOOKS_MAX):
            in_lot = self.lots.look(LOT)
            self.lots.wait_for_all([LOT], len(in_lot))
            faults = list(judgement.lost(self._prints, [in_files, set(in_lot)], when))
            if not faults:
                return
            time.sleep(LOOK_AGAIN_S)
        self._found.add(faults)

    def _few(self, step: str, killed: int) -> None:
        if killed < self._options.kills:
            words = f"{step}: it ended after {killed} kills; a larger lot takes longer"
            self._found.faults.append(words)

    def _arrivals(self) -> Iterator[Arrival]:
        for octets, body in self.lots.drain(QUEUE):
            header = parts_of(octets)[1].get(NUMBER, b"")
            number = int.from_bytes(header[1:]) if header[:1] == b"I" else None
            if number is None or number >= len(self._names):
                yield Arrival(None, False)
                continue
            made = self._messages.message(number)
            yield Arrival(number, is_same((made.octets, made.body), (octets, body)))

    def _fill(self, count: int) -> None:
        self.lots.fill(LOT, map(self._messages.message, range(count)))

    def _dlq(self, *arguments: str) -> Ended:
        return dlq(self._url, *arguments)


def _mib(kib: int) -> str:
    return f"{kib / 1024:.1f} MiB"


def _filed(path: Path) -> list[bytes]:
    return [print_of(*each) for each in read(path)] if path.exists() else []
