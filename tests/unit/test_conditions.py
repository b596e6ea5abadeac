"""Each thing that `doctor` finds of a host and its settings, by itself, with what mends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import pytest

from config import Settings
from restante.storage.finding import Finding, Level
from tests.support.serving import SECRET_KEY
from workers import conditions
from workers.conditions import (
    of_connections,
    of_embedded,
    of_host,
    of_maintenance,
    of_rights,
    of_settings,
)
from workers.run_folder import RunFolderRefused

NOW = datetime(2031, 5, 1)
SERVER = "mysql://u:p@127.0.0.1/x"
COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


def settings(**given: object) -> Settings:
    return Settings(**{"database_url": SERVER, "secret_key": SECRET_KEY, **given})


def found(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """(level, subject) of each."""
    return [(finding.level.value, finding.subject) for finding in findings]


BEHIND = {
    "public_url": "https://restante.example.com",
    "trusted_proxies": 1,
    "egress_own": "192.0.2.7",
}


@pytest.mark.parametrize("given", [{}, BEHIND, {"egress_allow": "10.0.0.0/8,n8n.lan:5678"}])
def test_nothing_is_found_where_nothing_is(given: dict[str, object]) -> None:
    assert found(of_settings(settings(**given))) == []


@pytest.mark.parametrize(
    ("given", "subject", "remedy"),
    [
        ({**BEHIND, "trusted_proxies": 0}, "trusted_proxies", "Set it to the number of proxies"),
        ({"trusted_proxies": 1}, "trusted_proxies", "Remove the one"),
        ({"heartbeat_seconds": 60}, "heartbeat_seconds", "Take 30"),
        ({"egress_allow": "0.0.0.0/0"}, "egress_allow", "Name the networks"),
        ({"egress_allow": "::/0"}, "egress_allow", "Name the networks"),
    ],
)
def test_settings(given: dict[str, object], subject: str, remedy: str) -> None:
    (finding,) = of_settings(settings(**given))
    assert (finding.level, finding.subject) == (Level.WARNING, subject)
    assert remedy in finding.sentence


def test_addresses_of_ones_own_that_are_not_named() -> None:
    (finding,) = of_settings(settings(**{**BEHIND, "egress_own": ""}))
    assert (finding.level, finding.subject) == (Level.NOTE, "egress_own")
    assert "RESTANTE_EGRESS_OWN" in finding.sentence


@pytest.mark.parametrize(
    ("grants", "told"),
    [
        (["GRANT USAGE ON *.* TO `r`@`%`", "GRANT ALL PRIVILEGES ON `restante`.* TO `r`@`%`"], 0),
        (["GRANT SELECT ON `performance_schema`.`x` TO `r`@`%`"], 0),
        (["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"], 1),
        (["GRANT SELECT, INSERT ON *.* TO `r`@`%`"], 1),
    ],
)
def test_a_user_with_rights_elsewhere(grants: list[str], told: int) -> None:
    findings = list(of_rights(grants))
    assert found(findings) == [("note", "database_user")] * told
    assert all("GRANT ALL ON" in finding.sentence for finding in findings)


@pytest.mark.parametrize(
    ("agents", "pending", "told"), [(50, 100_000.0, 0), (51, 0.0, 1), (1, 100_001.0, 1)]
)
def test_more_than_sqlite_is_meant_for(agents: int, pending: float, told: int) -> None:
    findings = list(of_embedded(agents, pending))
    assert found(findings) == [("warning", "sqlite_size")] * told
    assert all("restante db copy" in finding.sentence for finding in findings)


@pytest.mark.parametrize(("files", "told"), [(-1, 0), (11_000, 0), (10_999, 1), (1_024, 1)])
def test_files_for_streams(files: int, told: int) -> None:
    findings = list(of_host(settings(), {}, files=files))
    assert found(findings) == [("warning", "open_files")] * told
    assert all("LimitNOFILE" in finding.sentence for finding in findings)


def test_a_collector_without_what_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(of_host(settings(), COLLECTOR, files=-1)) == []
    monkeypatch.setattr(conditions, "can_be_had", lambda: False)
    assert found(of_host(settings(), {}, files=-1)) == []
    (finding,) = of_host(settings(), COLLECTOR, files=-1)
    assert finding.subject == "tracing"
    assert "restante[otel]" in finding.sentence


def test_a_run_folder_that_others_enter_is_what_serve_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: str) -> Iterator[None]:
        raise RunFolderRefused("somebody else's: set XDG_RUNTIME_DIR")

    monkeypatch.setattr(conditions, "run_folder", refuse)
    assert found(of_host(settings(), {}, files=-1)) == [("refused", "run_folder")]


@pytest.mark.parametrize(("most", "told"), [(151, 0), (36, 0), (35, 1)])
def test_connections(most: int, told: int) -> None:
    findings = list(of_connections(settings(), most))
    assert found(findings) == [("warning", "max_connections")] * told
    assert all("RESTANTE_DATABASE_SLOTS" in finding.sentence for finding in findings)


@pytest.mark.parametrize(("lag", "told"), [(None, 0), (30, 0), (31, 1)])
def test_timers_that_nobody_runs(lag: int | None, told: int) -> None:
    due_at = None if lag is None else NOW - timedelta(seconds=lag)
    for maintenance, remedy in (("on", "Start `restante serve`"), ("off", "`restante maintain`")):
        findings = list(of_maintenance(settings(maintenance=maintenance), due_at, NOW))
        assert found(findings) == [("warning", "maintenance")] * told
        assert all(remedy in finding.sentence for finding in findings)
