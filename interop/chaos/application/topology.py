"""The app's topology file, made of the names in :mod:`interop.chaos.layout`."""

from __future__ import annotations

from pathlib import Path

from interop.chaos.layout import ASK, EXCHANGE, NARROW, NARROW_MAX, TIERS, WORK


def write_topology(folder: Path) -> Path:
    """Write it into ``folder``; returns its path."""
    retry = f"retry: {{after: [{', '.join(TIERS)}], then: park}}"
    lines = ["exchanges:", f"  {EXCHANGE}: {{type: topic}}", "queues:"]
    lines += [
        f"  {queue}: {{bind: [{{from: {EXCHANGE}, key: {queue}}}], {retry}}}" for queue in WORK
    ]
    lines.append(f"  {ASK}: {{{retry}}}")
    limits = f"{{x-max-length: {NARROW_MAX}, x-overflow: reject-publish}}"
    lines.append(f"  {NARROW}: {{arguments: {limits}}}")
    path = folder / "topology.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path
