"""Calls: a question to a queue, and its answer over direct reply-to
(https://www.rabbitmq.com/docs/direct-reply-to).

The consumer's half is :mod:`mqkit.consumer.answerer`. Both agree on what is in
:mod:`mqkit.rpc.headers`.
"""
