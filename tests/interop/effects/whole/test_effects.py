"""A short run of both kinds: the program itself is run for longer by CI (`make effects`)."""

from __future__ import annotations

import pytest

from interop.effects.run import Options, run
from mqkit.testing import PostgreSQLUnavailable

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
SEED = 20_261_124


def test_effects_equal_orders(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = run(Options(300, 8.0, "reference", SEED))
    except PostgreSQLUnavailable as why:
        pytest.skip(str(why))
    said = capsys.readouterr().out
    assert code == 0, f"seed {SEED}: {said}"
    assert "300 orders, 300 effects, 0 of them duplicates" in said
