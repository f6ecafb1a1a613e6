"""``mqkit bench broker``: what a broker's work costs, scenario by scenario, beside others.

A :class:`~mqkit_bench.broker.scenario.Scenario` says what is declared, published and consumed. Each
:class:`~mqkit_bench.broker.entrant.Entrant` sets it up once; then rounds take turns.
"""
