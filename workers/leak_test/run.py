"""All of it, one after the other; what one finds keeps no other from being tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from restante.errors import RestanteError
from workers.leak_test import mail, tables
from workers.leak_test.check import Check, Leak
from workers.leak_test.deletions import Deletions
from workers.leak_test.faults import Plan, no_loss
from workers.leak_test.ground import Ground, prepare

STEPS: dict[str, Callable[[Ground], str]] = {
    "unique_idempotency": tables.unique_idempotency,
    "claim_index": tables.claim_index,
    "checked_rows": tables.checked_rows,
    "ordered_polling": mail.ordered_polling,
    "stale_claims": mail.stale_claims,
    "poison_threshold": mail.poison_threshold,
    "replay": mail.replay,
    "quarantine_is_kept": mail.quarantine_is_kept,
}


@dataclass
class Report:
    """What was tried, by `seed`, and what the run with kills did."""

    seed: int
    checks: list[Check] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every promise was kept."""
        return all(check.ok for check in self.checks)

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        checks = [asdict(check) for check in self.checks]
        return {"ok": self.ok, "seed": self.seed, "checks": checks, "faults": self.faults}


def leak_test(engine: Engine, migrations: Path, *, seed: int, plan: Plan | None = None) -> Report:
    """Try everything on a database that nobody needs. Raises NotDisposable before it changes any."""
    ground = prepare(engine, migrations, seed)
    deletions = Deletions(engine)
    report = Report(seed)
    url = engine.url.render_as_string(hide_password=False)
    steps = dict(STEPS)
    steps["no_loss"] = partial(no_loss, url=url, plan=plan or Plan(), counts=report.faults)
    steps["no_quarantined_row_deleted"] = lambda _: _deletions(deletions)
    for name, step in steps.items():
        report.checks.append(_try(name, step, ground))
    return report


def _try(name: str, step: Callable[[Ground], str], ground: Ground) -> Check:
    try:
        return Check(name, ok=True, detail=step(ground))
    except Leak as leak:
        return Check(name, ok=False, detail=str(leak))
    except RestanteError as error:
        return Check(name, ok=False, detail=f"{type(error).__name__}: {error.detail}")
    except Exception as error:  # noqa: BLE001 - a broken build may break in any way
        return Check(name, ok=False, detail=f"{type(error).__name__}: {error}"[:500])


def _deletions(deletions: Deletions) -> str:
    if deletions.wrong:
        raise Leak(f"sent on a quarantined row: {deletions.wrong[0]}")
    if not deletions.seen:
        raise Leak("no deletion was seen, so nothing was looked at: retention did not run")
    return f"{deletions.seen} deletions looked at, none of what is in quarantine"
