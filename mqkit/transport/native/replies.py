"""Replies to the calls of one channel: they come in the order of the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

from mqkit.errors import MqkitError
from mqkit.wire import ReplyCode, WireError, methods
from mqkit.wire.methods import Method

ANSWERS: Mapping[type[Method], tuple[type[Method], ...]] = {
    methods.ChannelOpen: (methods.ChannelOpenOk,),
    methods.ConfirmSelect: (methods.ConfirmSelectOk,),
    methods.TxSelect: (methods.TxSelectOk,),
    methods.TxCommit: (methods.TxCommitOk,),
    methods.ExchangeDeclare: (methods.ExchangeDeclareOk,),
    methods.ExchangeDelete: (methods.ExchangeDeleteOk,),
    methods.ExchangeBind: (methods.ExchangeBindOk,),
    methods.ExchangeUnbind: (methods.ExchangeUnbindOk,),
    methods.QueueDeclare: (methods.QueueDeclareOk,),
    methods.QueueDelete: (methods.QueueDeleteOk,),
    methods.QueueBind: (methods.QueueBindOk,),
    methods.QueueUnbind: (methods.QueueUnbindOk,),
    methods.QueuePurge: (methods.QueuePurgeOk,),
    methods.BasicQos: (methods.BasicQosOk,),
    methods.BasicGet: (methods.BasicGetOk, methods.BasicGetEmpty),
    methods.BasicConsume: (methods.BasicConsumeOk,),
    methods.BasicCancel: (methods.BasicCancelOk,),
}
"""The possible answers to each method that this client calls."""


class Promise(Protocol):
    """The receiver of an answer. A future of asyncio or of ``concurrent.futures`` is one."""

    def done(self) -> bool: ...
    def set_result(self, result: Any, /) -> None: ...
    def set_exception(self, exception: BaseException, /) -> None: ...


class Replies:
    """The calls of one channel that wait for their answers, the oldest first."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[tuple[type[Method], Promise]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def expect(self, request: type[Method], promise: Promise) -> None:
        """A call was sent; ``promise`` gets its answer."""
        self._waiting.append((request, promise))

    def answer(self, kind: type[Method], value: object) -> None:
        """The oldest call's answer came. Raises :exc:`WireError` (503) if it is none."""
        if not self._waiting or kind not in ANSWERS[self._waiting[0][0]]:
            text = f"{kind.NAME} answers nothing that was asked"
            raise WireError(ReplyCode.COMMAND_INVALID, text, kind.CLASS_ID, kind.METHOD_ID)
        _, promise = self._waiting.popleft()
        if not promise.done():  # its caller may have given up
            promise.set_result(value)

    def fail(self, error: MqkitError) -> None:
        """No more answers will come."""
        waiting, self._waiting = self._waiting, deque()
        for _, promise in waiting:
            if not promise.done():
                promise.set_exception(error)
