"""`restante egress check`, the client that settings make, and its work under gevent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import trustme
from click.testing import CliRunner, Result

from commands import main
from config import SettingsRefused, load_settings
from egress_commands import _text
from restante.egress.allowance import parse_allowance
from restante.egress.explain import Explanation, Finding, explain
from restante.egress.policy import Policy, Purpose
from tests.unit.egress.canned import OK, PUBLIC, Names
from tests.unit.egress.servers import saying, serving
from workers.egress import make_egress

ROOT = Path(__file__).resolve().parents[3]


def explained(url: str, *answers: str, allow: str = "", error: str | None = None) -> Explanation:
    return explain(
        url,
        Policy(allowance=parse_allowance(allow)),
        resolver=Names([answers], error=error),
        purpose=Purpose.CALLBACK,
        seconds=1,
    )


def test_every_address_of_a_host_is_explained() -> None:
    told = explained("https://H.example.com", PUBLIC, "10.0.0.1", "192.168.0.1", allow="10.0.0.0/8")
    assert (told.url, told.allowed, told.reason) == ("https://h.example.com/", False, "not_public")
    assert told.addresses == (
        Finding(PUBLIC, None, "public"),
        Finding("10.0.0.1", None, "private use (RFC 1918), and 10.0.0.0/8 is allowed"),
        Finding(
            "192.168.0.1",
            "not_public",
            "192.168.0.1 lies in 192.168.0.0/16: private use (RFC 1918)",
        ),
    )
    assert told.remedy == (
        "RESTANTE_EGRESS_ALLOW=h.example.com:443 would allow it, or its network there"
    )


@pytest.mark.parametrize(
    ("url", "reason", "remedy"),
    [
        (
            "https://10.0.0.1:9443/",
            "not_public",
            "RESTANTE_EGRESS_ALLOW=10.0.0.1:9443 would allow it",
        ),
        ("https://[fd00::1]/", "not_public", "RESTANTE_EGRESS_ALLOW=[fd00::1]:443 would allow it"),
        ("https://8.8.8.8/", "literal", "RESTANTE_EGRESS_ALLOW=8.8.8.8:443 would allow it"),
        ("https://n8n/", "single_label", "RESTANTE_EGRESS_ALLOW=n8n:443 would allow it"),
        ("https://n8n.lan/", "private_name", "RESTANTE_EGRESS_ALLOW=n8n.lan:443 would allow it"),
        ("https://169.254.169.254/", "metadata", "no setting allows it"),
        ("http://h.example.com/", "scheme", None),
        ("nonsense", "scheme", None),
    ],
)
def test_what_would_allow_it(url: str, reason: str, remedy: str | None) -> None:
    told = explained(url)
    assert (told.allowed, told.reason, told.remedy) == (False, reason, remedy)


@pytest.mark.parametrize(
    ("url", "answer", "why"),
    [
        ("https://metadata.google.internal/", "169.254.169.254", "169.254.169.254 lies in"),
        (
            "https://h.example.com:22/",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::a9fe:a9fe carries an address",
        ),
        ("https://n8n/", "fe80::1%eth0", "the resolver's answer"),
    ],
)
def test_an_entry_that_would_not_do_is_not_named(url: str, answer: str, why: str) -> None:
    remedy = explained(url, answer).remedy
    assert remedy is not None
    assert remedy.startswith(f"no setting allows it: {why}")


@pytest.mark.parametrize("entry", ["10.0.0.1:9443", "[fd00::1]:443", "n8n:443", "n8n.lan:443"])
def test_what_the_remedy_says_allows_it(entry: str) -> None:
    url = f"https://{entry}/"
    assert not explained(url, "10.0.0.1").allowed
    told = explained(url, "10.0.0.1", allow=entry)
    assert (told.allowed, told.why) == (True, "the operator names it")


def test_a_lookup_that_fails_is_no_refusal_and_not_allowed_either() -> None:
    told = explained("https://h.example.com/", error="no such name")
    assert (told.allowed, told.reason, told.why) == (False, "lookup", "no such name")


def check(folder: Path, *arguments: str, **settings: str) -> Result:
    env = {f"RESTANTE_{name.upper()}": value for name, value in settings.items()}
    env["RESTANTE_INSTANCE"] = str(folder)
    return CliRunner().invoke(main, ["egress", "check", *arguments], env=env)


def test_the_command_says_one_object_and_exits_by_the_verdict(tmp_path: Path) -> None:
    refused = check(tmp_path, "https://127.0.0.1:9443/", "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["reason"] == "not_public"
    allowed = check(tmp_path, "https://127.0.0.1:9443/", "--json", egress_allow="127.0.0.1:9443")
    assert allowed.exit_code == 0
    assert json.loads(allowed.stdout) == {
        "url": "https://127.0.0.1:9443/",
        "allowed": True,
        "reason": None,
        "why": "the operator names it",
        "remedy": None,
        "addresses": [
            {
                "address": "127.0.0.1",
                "refused": None,
                "why": "loopback (RFC 1122 section 3.2.1.3), and the operator names the host",
            }
        ],
    }


def test_the_command_speaks_to_a_person(tmp_path: Path) -> None:
    said = check(tmp_path, "https://10.0.0.1/").stdout
    assert said == (
        "Refused (not_public): 10.0.0.1 lies in 10.0.0.0/8: private use (RFC 1918).\n"
        "RESTANTE_EGRESS_ALLOW=10.0.0.1:443 would allow it.\n"
    )


def test_of_many_addresses_the_refused_are_shown_first() -> None:
    told = explained("https://h.example.com/", *(f"1.1.1.{n}" for n in range(30)), "10.0.0.1")
    lines = _text(told).splitlines()
    assert lines[1].startswith("  10.0.0.1: refused")
    assert lines[11] == "  and 21 more"


def test_the_command_asks_for_oidc_too(tmp_path: Path) -> None:
    issuer = "http://127.0.0.1:9000"
    settings = {"oidc_issuer": issuer, "oidc_client_id": "a", "oidc_client_secret": "b"}
    assert check(tmp_path, issuer, "--oidc", **settings).exit_code == 0
    assert check(tmp_path, issuer, **settings).exit_code == 1


def test_settings_make_a_client(authority: trustme.CA, ca_file: Path, tmp_path: Path) -> None:
    with serving(authority, saying(OK), name="localhost") as server:
        settings = load_settings(
            instance=tmp_path, egress_allow=f"localhost:{server.port}", egress_ca_file=ca_file
        )
        url = f"https://localhost:{server.port}/"
        assert make_egress(settings).send("POST", url, fields={}, body=b"{}").body == b"ok"


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("egress_own", "h.example.com:443", "is no host, address or CIDR network"),
        ("egress_ports", "443,https", "no port"),
        ("oidc_issuer", "https://user@idp.example.com", "cannot be called"),
        ("oidc_issuer", "https://idp.example.com/#a", "cannot be called"),
    ],
)
def test_a_setting_that_will_not_do_stops_the_start(
    tmp_path: Path, setting: str, value: str, words: str
) -> None:
    with pytest.raises(SettingsRefused, match=words) as refused:
        load_settings(instance=tmp_path, **{setting: value})
    assert refused.value.faults[0].startswith(f"RESTANTE_{setting.upper()} ")


def test_a_ca_file_without_certificates_stops_the_start(tmp_path: Path) -> None:
    empty = tmp_path / "ca.pem"
    empty.write_text("nothing\n")
    with pytest.raises(SettingsRefused, match="holds no certificate"):
        load_settings(instance=tmp_path, egress_ca_file=empty)


def test_lookups_and_calls_are_cooperative_under_gevent(
    authority: trustme.CA, ca_file: Path
) -> None:
    with serving(authority, saying(OK)) as server:
        program = [sys.executable, "-m", "tests.unit.egress.cooperative"]
        run = subprocess.run(
            [*program, str(server.port), str(ca_file)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (run.stdout, run.returncode) == ("cooperative 200 ok\n", 0), run.stderr
