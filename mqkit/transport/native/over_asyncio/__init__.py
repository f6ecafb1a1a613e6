"""The native client's asyncio shell: a ``Protocol``, and futures. Read ``transport.py`` first."""
