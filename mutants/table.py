"""The ends of hunts in words: a line for each mutant, and a table of the laws."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

from mutants.hunting import Census, Hunt


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


def census_line_of(census: Census) -> str:
    """The mutant, and in how many of its seeds each law was the first to find it."""
    laws = sorted(census.failures.items(), key=lambda each: (-each[1], each[0]))
    found = ", ".join(f"{law} {count}" for law, count in laws) or "NOT FOUND"
    return f"{census.mutant:<60} {census.seeds:>4} seeds   {found}"


def census_table_of(censuses: Sequence[Census]) -> str:
    """Markdown: each law that alone found some of the mutants, the one that it found in most seeds,
    and in how many of them."""
    best: dict[str, Census] = {}
    for census in censuses:
        law = census.only_law
        if law and (law not in best or census.failures[law] > best[law].failures[law]):
            best[law] = census
    lines = ["| law | alone finds | in so many seeds |", "|---|---|---|"]
    lines += [
        f"| {law} | {best[law].mutant} | {best[law].failures[law]} of {best[law].seeds} |"
        for law in sorted(best)
    ]
    return "\n".join(lines)
