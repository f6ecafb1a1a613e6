"""The adapter over aio-pika, for asyncio. Read ``adapter.py`` first."""
