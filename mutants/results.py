"""The ends of hunts in a file: what was hunted down is not hunted again, until its code changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from mutants.hunting import Hunt
from mutants.mutant import Mutant

ROOT = Path(__file__).resolve().parents[1]
CODE = ("reference_broker", "mqkit/wire", "mutants/worlds.py")
"""Code on which the end of a hunt depends, beside the mutant's own function."""
_DIGEST_BYTES = 8


def code_version(root: Path = ROOT) -> str:
    """A hash of all Python files of :data:`CODE`."""
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in CODE:
        place = root / part
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


class Results:
    """A file of one JSON object a line, to which a hunt is added when it ends. Lines of other code,
    and the last one where it is torn, are not looked at."""

    def __init__(self, path: Path, code: str) -> None:
        self._path = path
        self._code = code
        self._hunts: dict[str, Hunt] = {}
        """By mutant and its code."""
        lines = path.read_text().splitlines() if path.exists() else []
        for line in lines:
            try:
                entry = json.loads(line)
                self._hunts[entry["key"]] = Hunt(**entry["hunt"])
            except (ValueError, KeyError, TypeError):
                continue

    def of(self, mutants: Iterable[Mutant], seeds: int) -> list[Hunt]:
        """The hunts for ``mutants`` that have ended: with a find, or after as many ``seeds``. A
        find after more than that is none."""
        ended = []
        for mutant in mutants:
            hunt = self._hunts.get(self._key(mutant))
            if hunt is not None and (hunt.seeds <= seeds if hunt.law else hunt.seeds == seeds):
                ended.append(hunt)
        return ended

    def add(self, mutant: Mutant, hunt: Hunt) -> None:
        """Keep the end of a hunt, in the file too."""
        key = self._key(mutant)
        self._hunts[key] = hunt
        with self._path.open("a") as file:
            file.write(json.dumps({"key": key, "hunt": asdict(hunt)}) + "\n")

    def _key(self, mutant: Mutant) -> str:
        source = hashlib.blake2b(mutant.source.encode(), digest_size=_DIGEST_BYTES)
        return f"{mutant.name} {source.hexdigest()} {self._code}"
