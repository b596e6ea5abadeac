"""Rules, alerts and the dashboard: promtool takes them, what they name exists, each alert has its section."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from typing import Any

import pytest
import yaml

from tests.docs.pages import ROOT
from tests.support.debian import promtool
from tests.support.unavailable import had
from workers.metrics import Metrics

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = yaml.safe_load((PROMETHEUS / "restante.rules.yml").read_text())
ALL = [rule for group in RULES["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in ALL if "alert" in rule}
RECORDS = {rule["record"] for rule in ALL if "record" in rule}
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "restante.json").read_text())
WORDS = {"by", "without", "and", "or", "unless", "on", "ignoring", "bool", "offset"}


@cache
def known() -> dict[str, str]:
    """Every metric with its type; what a histogram has besides among them. Prometheus makes `up` itself."""
    text = Metrics().render().decode()
    found = {"up": "gauge"}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        endings = ("_bucket", "_count", "_sum") if kind == "histogram" else ("",)
        found |= {f"{name}{ending}": kind for ending in endings}
    return found


def named(expression: str) -> set[str]:
    """The series that an expression reads."""
    plain = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(by|without) \([^)]*\)", " ", expression)
    words = re.findall(r"(?<![\w.:])[a-zA-Z_:][\w:]*(?!\w*\s*\()", plain)
    return {word for word in words if word not in WORDS}


def expressions() -> list[str]:
    told = [rule["expr"] for rule in ALL]
    targets = [target for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    return [*told, *(target["expr"] for target in targets)]


@pytest.mark.parametrize(
    "words", [("check", "config", "prometheus.yml"), ("test", "rules", "restante.tests.yml")]
)
def test_promtool_takes_them_and_their_tests_hold(words: tuple[str, ...]) -> None:
    program = had(promtool)
    done = subprocess.run(
        [*program, *words], cwd=PROMETHEUS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("expression", expressions())
def test_what_an_expression_reads_exists(expression: str) -> None:
    names = named(expression)
    assert names
    assert names <= known().keys() | RECORDS, names - known().keys() - RECORDS


@pytest.mark.parametrize("expression", expressions())
def test_labels_are_those_of_the_metric(expression: str) -> None:
    labels = {
        "claims_total": {"kind"},
        "attempts_failed_total": {"cause"},
        "stale_settles_total": {"verb", "reason"},
        "quarantined_total": {"reason"},
        "callback_attempts_total": {"outcome"},
        "deadlock_retries_total": {"statement"},
        "inbox_depth_per_agent": {"agent"},
        "http_request_seconds_bucket": {"method", "route", "status", "le"},
        "http_request_seconds_count": {"method", "route", "status"},
    }
    for name, matchers in re.findall(r"(\w+)\{([^}]*)\}", expression):
        told = set(re.findall(r"(\w+)(?:=|!=|=~|!~)\"", matchers))
        assert told <= labels.get(name, set()) | {"job", "instance"}, (name, told)


def test_every_figure_of_mail_is_on_the_dashboard() -> None:
    shown = {name for expression in expressions() for name in named(expression)}
    bases = {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown}
    wanted = {re.sub(r"_(bucket|count|sum)$", "", name) for name in known()}
    assert wanted <= bases, wanted - bases


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_its_section_and_is_tested(alert: str) -> None:
    rule: dict[str, Any] = ALERTS[alert]
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{alert.lower()}"
    (section,) = re.findall(rf"^## {alert}$(.*?)(?=^## |\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\*\*(.+?)\.\*\*", section, re.MULTILINE) == ["Means", "Look at", "Do"]
    tests = yaml.safe_load((PROMETHEUS / "restante.tests.yml").read_text())["tests"]
    tried = [one for test in tests for one in test["alert_rule_test"] if one["alertname"] == alert]
    assert any(one.get("exp_alerts") for one in tried), "it is never seen to fire"
    assert any(not one.get("exp_alerts") for one in tried), "it is never seen not to"


def test_the_runbook_has_no_section_of_an_alert_that_is_gone() -> None:
    assert set(re.findall(r"^## (\w+)$", RUNBOOK, re.MULTILINE)) == ALERTS.keys()


def test_panels_of_the_dashboard_do_not_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
