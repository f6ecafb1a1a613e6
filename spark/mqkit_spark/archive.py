"""mqkit as one file for a cluster: ``python -m mqkit_spark zip mqkit.zip``, or
:func:`package_zip`.

::

    spark.addArtifacts(mqkit_spark.package_zip("mqkit.zip"), pyfile=True)      # Spark Connect
    spark.sparkContext.addPyFile(mqkit_spark.package_zip("mqkit.zip"))         # classic Spark
    spark-submit --py-files mqkit.zip job.py

A worker then needs Python 3.11, PySpark and pyarrow, and nothing else.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("mqkit", "mqkit_spark", "pyspark_mqkit")
"""The packages that a worker imports; the last has Spark find the format by itself."""

LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The earliest time of a zip. The same packages make the same octets, so caches can tell."""


def package_zip(path: str | Path) -> str:
    """Write the archive, over a file that is there, and return its path.

    Raises :exc:`OSError` where it can't be written; a file that was there may be damaged then.
    """
    release = version("mqkit")
    metadata = f"Metadata-Version: 2.1\nName: mqkit\nVersion: {release}\n"
    with zipfile.ZipFile(path, "w") as archive:
        for name, file in sorted(_sources()):
            _add(archive, name, file.read_bytes())
        _add(archive, f"mqkit-{release}.dist-info/METADATA", metadata.encode())
    return str(path)


def _sources() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        spec = find_spec(package)
        assert spec is not None, package
        for folder in spec.submodule_search_locations or ():
            root = Path(folder)
            for file in root.rglob("*.py"):
                yield f"{package}/{file.relative_to(root).as_posix()}", file


def _add(archive: zipfile.ZipFile, name: str, octets: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, LONG_AGO), octets, zipfile.ZIP_DEFLATED)
