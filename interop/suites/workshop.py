"""The cache folder, outside the repository, where other people's tests lie and run.

``MQKIT_INTEROP_CACHE``, or ``mqkit/interop`` in the user's cache folder. What is there is used:
nothing is downloaded twice. The package client is the one of this Python, with its own settings.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
from hashlib import sha256
from pathlib import Path

from interop.suites.catalog import TOOLS, Suite

CACHE_VARIABLE = "MQKIT_INTEROP_CACHE"


class Workshop:
    """The cache folder. Every method leaves what is there already as it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def sources(self, suite: Suite) -> Path:
        """The unpacked source distribution. Raises ``CalledProcessError`` if it can't be had."""
        unpacked = self.folder / suite.folder
        if not unpacked.is_dir():
            download = self.folder / "downloads"
            subprocess.run(
                [
                    *(sys.executable, "-m", "pip", "download", "-qq", "--no-deps"),
                    *("--no-binary", suite.name, "--dest", str(download), suite.distribution),
                ],
                check=True,
            )
            with tarfile.open(download / f"{suite.folder}.tar.gz") as archive:
                archive.extractall(self.folder, filter="data")
            # Clients look up their own version; the folder is all that is "installed" of them.
            metadata = unpacked / f"{suite.folder}.dist-info"
            metadata.mkdir()
            (metadata / "METADATA").write_bytes((unpacked / "PKG-INFO").read_bytes())
        return unpacked

    def python(self, suite: Suite) -> Path:
        """The Python of a virtual environment with what the suite needs, and no client of ours.
        Suites that need the same share it."""
        requirements = (*TOOLS, *suite.requirements)
        folder = self.folder / f"venv-{sha256(' '.join(requirements).encode()).hexdigest()[:12]}"
        python = folder / "bin" / "python"
        complete = folder / "complete"
        if not complete.exists():
            venv.create(folder, clear=True, with_pip=True)
            subprocess.run([str(python), "-m", "pip", "install", "-qq", *requirements], check=True)
            complete.touch()
        return python


def default_folder() -> Path:
    """The cache folder: as the environment names it, else in the user's own."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "mqkit" / "interop"
