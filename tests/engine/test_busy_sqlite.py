"""SQLite whose lock somebody else holds: a unit of work that cannot begin keeps no connection."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from sqlalchemy import QueuePool, text
from sqlalchemy.exc import OperationalError

from restante.storage.engine import make_engine
from restante.storage.unit import Unit


def test_a_unit_that_cannot_begin_gives_its_connection_back(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'mail.db'}"
    ours, theirs = make_engine(url, busy_seconds=0), make_engine(url, busy_seconds=0)
    gc.disable()  # which would give it back some day
    try:
        with theirs.begin():
            unit = Unit(ours, {})
            with pytest.raises(OperationalError):
                unit.connection()
            unit.rollback()
            unit.close()
            pool = ours.pool
            assert isinstance(pool, QueuePool)
            assert pool.checkedout() == 0
        unit = Unit(ours, {})
        assert unit.connection().execute(text("SELECT 1")).scalar_one() == 1
        unit.close()
    finally:
        gc.enable()
        ours.dispose()
        theirs.dispose()
