"""One target under Atheris, in a process of its own: ``python -m fuzz.driver``."""

from __future__ import annotations

import sys

import atheris

INPUT_BYTES_MAX = 8192


def main(name: str, seconds: str, seed: str, crashes: str, corpus: str) -> None:
    """Does not return: libFuzzer ends the process, with 0 when nothing was found."""
    # Only our own code: to instrument everything takes longer than a run.
    with atheris.instrument_imports(include=["mqkit", "reference_broker", "fuzz"]):
        from fuzz.targets import TARGETS
    options = [f"-max_total_time={seconds}", f"-max_len={INPUT_BYTES_MAX}", "-timeout=20"]
    options += [f"-seed={seed}", f"-artifact_prefix={crashes}/"]
    atheris.Setup(["fuzz", *options, corpus], TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
