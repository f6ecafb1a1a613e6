"""A site under gunicorn publishes in its requests, while its broker is killed and started again.

    python -m interop.sync --seconds 60 --restarts 5 --broker rabbitmq

The site has one ``mqkit.sync.App``, and has published by it before gunicorn forks four workers with
eight threads each: so each worker begins with a copy of its master's connection. Clients ask
without a pause. The judgement shares no code with mqkit: it has the answers, and reads the queue by
pika.
"""
