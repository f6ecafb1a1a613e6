"""The ends of hunts in words: a line for each mutant, and a table of the laws."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

from mutants.hunting import Hunt


def line_of(hunt: Hunt) -> str:
    """The mutant, the law that found it and the number of seeds, and what others said before."""
    found = hunt.law or "NOT FOUND"
    others = ", ".join(
        f"{law} {count}" for law, count in sorted(hunt.failures.items()) if law != hunt.law
    )
    line = f"{hunt.mutant:<60} {found:<16} {hunt.seeds:>4} seeds"
    return f"{line}   before: {others}" if others else line


def table_of(hunts: Sequence[Hunt]) -> str:
    """Markdown: each law, the kinds of bugs that it found (the module where they stand), and in how
    many seeds. What nobody found is below."""
    by_law: dict[str, list[Hunt]] = defaultdict(list)
    for hunt in hunts:
        by_law[hunt.law].append(hunt)
    missing = by_law.pop("", [])
    lines = ["| law | finds bugs in | median of seeds | most seeds |", "|---|---|---|---|"]
    for law in sorted(by_law):
        seeds = [hunt.seeds for hunt in by_law[law]]
        kinds = Counter(hunt.mutant.partition(".")[0] for hunt in by_law[law])
        finds = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        lines.append(f"| {law} | {finds} | {median(seeds):g} | {max(seeds)} |")
    lines.append(f"\n{len(hunts) - len(missing)} of {len(hunts)} mutants found")
    lines += [f"NOT FOUND  {hunt.mutant} in {hunt.seeds} seeds" for hunt in missing]
    return "\n".join(lines)
