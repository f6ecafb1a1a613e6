"""Conditions on a parked message: ``body.order.total > 100 and reason contains "VAT"``. Pure.

    conditions   the condition as a value
    tokens       text to tokens
    parser       tokens to a condition; the grammar stands there
    evaluation   whether a condition holds

A condition is data: nothing of it is ever run as a program.
"""

from mqkit.lots.where.conditions import Condition
from mqkit.lots.where.evaluation import Facts, holds
from mqkit.lots.where.parser import parse
from mqkit.lots.where.tokens import WhereError

__all__ = ["Condition", "Facts", "WhereError", "holds", "parse"]
