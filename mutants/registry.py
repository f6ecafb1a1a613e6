"""All mutants, by name."""

from __future__ import annotations

from mutants.mutant import Mutant
from mutants.planted import (
    consumers,
    definitions,
    features,
    files,
    noticed,
    portions,
    queues,
    reading,
    runs,
    sockets,
    store,
)

PLANTED = (
    store,
    files,
    sockets,
    queues,
    runs,
    portions,
    features,
    definitions,
    consumers,
    reading,
    noticed,
)
"""The modules in which they stand."""

MUTANTS: dict[str, Mutant] = {
    value.name: value
    for module in PLANTED
    for value in vars(module).values()
    if isinstance(value, Mutant)
}
