"""Settings: what is taken, and the one sentence that each fault gets."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from config import Settings, SettingsRefused, load_settings
from restante.storage.instance import (
    InstanceRefused,
    kept_secret,
    lock_for_serving,
    make_database_file,
    write_private,
)
from tests.architecture.sources import ROOT

SECRET = "a-secret-key-for-tests-that-is-long-enough"
SERVER = "mysql://restante:hidden-password@db.example/restante"


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:

    for name in os.environ:
        if name.startswith("RESTANTE_"):
            monkeypatch.delenv(name)


def load(folder: Path, **given: Any) -> Settings:
    return load_settings(instance=folder, **given)


def faults(folder: Path, **given: Any) -> list[str]:
    with pytest.raises(SettingsRefused) as caught:
        load(folder, **given)
    return caught.value.faults


def test_without_any_setting_it_is_the_embedded_default(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.embedded
    assert settings.database_file == tmp_path / "restante.db"
    assert settings.public_url == "http://127.0.0.1:8000"
    assert (settings.lease_seconds, settings.max_attempts, settings.max_releases) == (60, 5, 100)
    assert (settings.retention_days, settings.heartbeat_seconds) == (30, 30)
    assert settings.payload_limit_bytes == 256 * 1024


def test_settings_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESTANTE_LEASE_SECONDS", "120")
    monkeypatch.setenv("RESTANTE_RETENTION_DAYS", "0.0001")
    monkeypatch.setenv("RESTANTE_RETENTION_UNSETTLED", "keep")
    monkeypatch.setenv("RESTANTE_INSTANCE", str(tmp_path))
    settings = load_settings()
    assert settings.lease_seconds == 120
    assert settings.retention_days == 0.0001
    assert settings.retention_unsettled == "keep"
    assert settings.instance == tmp_path


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("lease_seconds", 0, "RESTANTE_LEASE_SECONDS"),
        ("lease_seconds", 43_201, "RESTANTE_LEASE_SECONDS"),
        ("lease_seconds", "soon", "integer"),
        ("max_attempts", 101, "RESTANTE_MAX_ATTEMPTS"),
        ("retention_days", 0, "greater than 0"),
        ("retention_days", "inf", "RESTANTE_RETENTION_DAYS"),
        ("retention_unsettled", "drop", "keep"),
        ("maintenance", "maybe", "RESTANTE_MAINTENANCE"),
        ("heartbeat_seconds", -1, "RESTANTE_HEARTBEAT_SECONDS"),
        ("trusted_proxies", -1, "RESTANTE_TRUSTED_PROXIES"),
        ("database_url", "not a url", "no database URL"),
        ("database_url", "postgresql://h/d", "not supported"),
        ("database_url", "mysql://h", "names no database"),
        ("database_url", "mysql://h:port/d", "no database URL"),
        ("database_url", "mysql://h,/d", "no database URL"),
        ("database_url", "mariadb://h,i/d", "names several hosts"),
        ("database_url", "sqlite://", "names no database"),
        ("database_url", "sqlite:///:memory:", "forgets everything"),
        ("public_url", "http://mail.example", "in the clear"),
        ("public_url", "https://mail.example/restante", "no path"),
        ("public_url", "https://mail.example/", "no path"),
        ("public_url", "https://Mail.example", "lower case"),
        ("public_url", "https://mail.example:443", "default port"),
        ("public_url", "https://u:p@mail.example", "no path, query, user"),
        ("public_url", "https://mail.example.", "no dot at the end"),
        ("public_url", "https://b\u00fccher.example", "as xn--"),
        ("public_url", "ftp://mail.example", "is no URL"),
        ("public_url", "https://mail.example:99999", "is no URL"),
        ("secret_key", "short", "too easily guessed"),
        ("secret_key", "a" * 64, "too easily guessed"),
        ("oidc_issuer", "http://idp.example", "https"),
        ("oidc_issuer", "https://idp.example/?x=1", "query"),
        ("oidc_issuer", "https://user@idp.example", "cannot be called"),
        ("oidc_scope", "email", "openid"),
        ("oidc_scope", "", "openid"),
        ("oidc_groups", "ops=acme:operator", "JSON object"),
        ("oidc_groups", "[]", "names no group"),
        ("oidc_groups", "{}", "names no group"),
        ("oidc_groups", '{"a": "acme:operator", "a": "x:operator"}', "twice"),
        ("oidc_groups", '{"a": "acme:king"}', "'acme:king'"),
        ("oidc_groups", '{"a": "operator"}', "neither"),
        ("oidc_groups", '{"a": "acme:platform_admin"}', "neither"),
        ("oidc_groups", '{"a": []}', "nothing"),
        ("oidc_groups", '{"a": 1}', "neither"),
        ("egress_allow", "10.0.0.0/8,host", "neither host:port nor a CIDR"),
        ("egress_ca_file", "/nowhere/ca.pem", "no file"),
    ],
)
def test_a_fault_is_named_with_its_setting(
    tmp_path: Path, setting: str, value: object, words: str
) -> None:
    (fault,) = faults(tmp_path, **{setting: value})
    assert fault.startswith(f"RESTANTE_{setting.upper()} ")
    assert words in fault
    assert fault.endswith(".")
    assert not fault.endswith("..")


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    assert len(faults(tmp_path, lease_seconds=0, max_attempts=0, public_url="x")) == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"database_url": SERVER}, "RESTANTE_SECRET_KEY is not set"),
        ({"database_url": SERVER}, "secrets.token_urlsafe(48)"),
        ({"maintenance": "off"}, "RESTANTE_MAINTENANCE=off"),
        ({"payload_limit_bytes": 128 * 1024, "body_limit_bytes": 64 * 1024}, "larger than"),
        ({"oidc_issuer": "https://idp.example"}, "go together"),
        ({"oidc_groups_claim": "groups"}, "RESTANTE_OIDC_GROUPS"),
        ({"oidc_groups": '{"a": "b:operator"}'}, "RESTANTE_OIDC_GROUPS_CLAIM"),
        (
            {"oidc_groups": '{"a": "b:operator"}', "oidc_groups_claim": "groups"},
            "RESTANTE_OIDC_ISSUER",
        ),
    ],
)
def test_settings_that_contradict_each_other(
    tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    (fault,) = faults(tmp_path, **given)
    assert words in fault


@pytest.mark.parametrize(
    "url",
    [
        "https://mail.example",
        "https://mail.example:8443",
        "http://127.0.0.1:8000",
        "http://localhost",
        "http://[::1]:8000",
    ],
)
def test_public_urls_that_do(tmp_path: Path, url: str) -> None:
    assert load(tmp_path, public_url=url).public_url == url


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    settings = load(tmp_path, database_url=SERVER, secret_key=SECRET)
    assert SECRET not in repr(settings)
    assert settings.secret_keys == (SECRET,)
    assert not [f for f in faults(tmp_path, secret_key="weak-and-secret") if "weak" in f]


def test_the_embedded_default_keeps_a_key_of_its_own(tmp_path: Path) -> None:
    first = load(tmp_path / "i")
    file = tmp_path / "i" / "secret.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert len(first.secret_keys[0]) >= 32
    assert load(tmp_path / "i").secret_keys == first.secret_keys
    assert load(tmp_path / "j").secret_keys != first.secret_keys


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    kept_secret(tmp_path)
    (tmp_path / "secret.key").chmod(0o644)
    (fault,) = faults(tmp_path)
    assert "can be read by others" in fault


def test_no_key_file_is_made_where_one_is_given(tmp_path: Path) -> None:
    load(tmp_path / "i", secret_key=SECRET)
    assert not (tmp_path / "i" / "secret.key").exists()


def test_one_serve_per_sqlite_file(tmp_path: Path) -> None:

    held = lock_for_serving(tmp_path / "a.db")
    with pytest.raises(InstanceRefused, match=str(os.getpid())):
        lock_for_serving(tmp_path / "a.db")
    os.close(lock_for_serving(tmp_path / "b.db"))
    os.close(held)
    os.close(lock_for_serving(tmp_path / "a.db"))


def test_a_second_serve_waits_for_the_workers_of_one_that_was_killed(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    held = lock_for_serving(file)
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    os.pwrite(held, f"{ended.pid}\n".encode(), 0)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lock_for_serving, file)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)
        os.close(held)
        os.close(waiting.result(timeout=30))


def test_every_setting_is_in_the_manual() -> None:
    manual = (ROOT / "docs" / "settings.md").read_text()
    told = set(re.findall(r"RESTANTE_[A-Z_]+", manual))
    settings = {f"RESTANTE_{name.upper()}" for name in Settings.model_fields}
    assert {name for name in settings - told if not name.startswith("RESTANTE_OIDC_")} == set()


def test_private_files_are_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "f"
    write_private(file, "one")
    write_private(file, "two")
    assert file.read_text() == "two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_an_sqlite_file_is_made_for_its_owner_and_one_that_is_there_is_left(tmp_path: Path) -> None:
    file = tmp_path / "i" / "mail.db"
    make_database_file(file)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    file.write_bytes(b"x")
    file.chmod(0o640)
    make_database_file(file)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"x", 0o640)
    with pytest.raises(InstanceRefused, match=r"x\.db cannot be opened: "):
        make_database_file(file / "x.db")
