"""The extras of mqkit's wheel, as advice for somebody who lacks one.

``pip install mqkit`` brings every package of the wheel, but only the client's own requirements: the
others can be imported or started, and find out then that something is missing.
"""

from __future__ import annotations

OURS = frozenset({"mqkit", "mqkit_bench", "mqkit_cli", "mqkit_spark", "reference_broker"})
"""Packages of this repository. When a module of one is missing, no extra brings it: a defect."""

MODULES = {
    "metrics": ("prometheus_client",),
    "broker": (
        *("argon2", "crc32c", "cryptography", "h11", "ijson", "prometheus_client"),
        *("python_multipart", "re2", "starlette", "uvicorn", "uvloop"),
    ),
    "cli": ("rich", "typer"),
    "cluster": ("aiohttp",),
    "otel": ("opentelemetry",),
    "outbox": ("sqlalchemy",),
    "spark": ("pandas", "pyarrow", "pyspark"),
}
"""The modules that each extra brings, by the names that programs import. One that two bring is
the later one's, for who asks for neither."""

_EXTRAS = {module: extra for extra, modules in MODULES.items() for module in modules}


def advice(missing: ModuleNotFoundError, extra: str) -> str | None:
    """The missing module and the command that installs it, in one line. ``None`` if the module is
    one of :data:`OURS`: raise the error again then.

    ``extra`` is what the asker needs: it is named if it brings the module, or if no extra does
    (another package requires it).
    """
    module = (missing.name or "").partition(".")[0]
    if not module or module in OURS:
        return None
    brings = extra if module in MODULES.get(extra, ()) else _EXTRAS.get(module, extra)
    return f"{module} is not installed; run: pip install 'mqkit[{brings}]'"
