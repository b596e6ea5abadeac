"""A login on this machine: what is written where, who may read it, and under which key."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from restante_agent import ConfigurationError
from restante_agent.login.finding import find_login
from restante_agent.login.kept import KeptLogin
from restante_agent.login.keychain import Keychain, KeychainRefused
from restante_agent.login.sealing import Place
from restante_agent.wire.login import Kept
from tests.sdk.fake_answers import AGENT

URL = "https://mail.example"
OTHER = "agt_0190000000007000800000000000000b"
KEPT = Kept("rstr_refresh", AGENT, "aaa.bbb.ccc", "agent:demo:read", 600.0, 1_900_000_000.0)
ENVIRONMENT = {"RESTANTE_AGENT_KEY": "k" * 40}
posix = pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX's")


class Memory:
    """A keyring backend as the package calls them."""

    name = "memory of the test"
    priority: float = 5

    def __init__(self, *, broken: str = "") -> None:
        self.secrets: dict[tuple[str, str], str] = {}
        self.broken = broken

    def get_password(self, service: str, account: str) -> str | None:
        self._break("get")
        return self.secrets.get((service, account))

    def set_password(self, service: str, account: str, secret: str) -> None:
        self._break("set")
        if self.broken != "forgets":
            self.secrets[service, account] = secret

    def delete_password(self, service: str, account: str) -> None:
        del self.secrets[service, account]

    def _break(self, verb: str) -> None:
        if verb == self.broken:
            raise RuntimeError("locked, and here is a secret: hunter2")


class PlaintextKeyring(Memory):
    priority = 5


class Fail(Memory):
    priority = 0


class Chain:
    priority = 10

    def __init__(self, *backends: Memory) -> None:
        self.backends = backends


def none() -> Keychain:
    raise KeychainRefused("there is no keychain in this test")


def login_in(folder: Path, agent: str = AGENT, **options: Any) -> KeptLogin:
    return KeptLogin(URL, agent, base=folder, **{"environ": {}, "keychain": none, **options})


def begin(login: KeptLogin, kept: Kept = KEPT) -> str:
    assert login.try_lock()
    try:
        return login.begin(kept)
    finally:
        login.unlock()


@pytest.mark.parametrize("place", list(Place))
def test_a_login_is_sealed_wherever_its_key_is(tmp_path: Path, place: Place) -> None:
    backend = Memory()
    options: dict[str, Any] = {
        Place.ENVIRONMENT: {"environ": ENVIRONMENT},
        Place.KEYCHAIN: {"keychain": lambda: Keychain(backend)},
        Place.FILE: {},
    }[place]
    login = login_in(tmp_path, **options)
    begin(login)
    assert login.place() is place
    again = login_in(tmp_path, **options)
    assert again.read() == KEPT
    again.write(Kept("rstr_next", AGENT))
    assert login.read() == Kept("rstr_next", AGENT)
    written = b"".join(p.read_bytes() for p in login.path.parent.iterdir()).decode()
    assert "rstr_" not in written
    assert "aaa.bbb" not in written
    assert "rstr_" not in str(backend.secrets)
    login.forget()
    assert again.read() is None
    assert not backend.secrets
    assert [p.name for p in login.path.parent.iterdir()] == ["login.lock"]


def test_nothing_tells_a_token(tmp_path: Path) -> None:
    login = login_in(tmp_path)
    begin(login)
    for shown in (KEPT, login, login.read()):
        assert "rstr_" not in repr(shown)
        assert "aaa" not in repr(shown)


@posix
def test_modes_are_the_users_own(tmp_path: Path) -> None:
    login = login_in(tmp_path)
    named = begin(login)
    folder = login.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    assert named == f"{folder / 'login.key'} (there is no keychain in this test)"


@posix
@pytest.mark.parametrize("name", ["login.json", "login.key"])
def test_what_others_may_read_or_redirect_is_refused(tmp_path: Path, name: str) -> None:
    begin(login_in(tmp_path))
    path = login_in(tmp_path).path.with_name(name)
    path.chmod(0o640)
    with pytest.raises(ConfigurationError, match=f"{name} can be read by others.*chmod 600"):
        login_in(tmp_path).read()
    path.chmod(0o600)
    moved = path.rename(tmp_path / "elsewhere")
    path.symlink_to(moved)
    with pytest.raises(ConfigurationError, match=f"{name} is a link"):
        login_in(tmp_path).read()
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(ConfigurationError, match=f"{name} is no file"):
        login_in(tmp_path).read()


@posix
def test_a_folder_that_others_may_change_keeps_no_login(tmp_path: Path) -> None:
    login = login_in(tmp_path)
    login.path.parent.mkdir(mode=0o700)
    login.path.parent.chmod(0o770)
    with pytest.raises(ConfigurationError, match=r"changed by others.*chmod 700"):
        login.try_lock()


def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = login_in(tmp_path)
    begin(login)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match=r"No space left.*--state-dir"):
        login.write(Kept("rstr_next", AGENT))
    assert login.read() == KEPT
    assert sorted(p.name for p in login.path.parent.iterdir()) == [
        "login.json",
        "login.key",
        "login.lock",
    ]


def test_a_changed_or_exchanged_file_is_refused(tmp_path: Path) -> None:
    login, other = (login_in(tmp_path, agent, environ=ENVIRONMENT) for agent in (AGENT, OTHER))
    begin(login)
    begin(other, Kept("rstr_other", OTHER))
    content = login.path.read_text()
    members = json.loads(content)
    for changed in (
        other.path.read_text(),
        json.dumps({**members, "sealed": "AAAA" + members["sealed"][4:]}),
        json.dumps({**members, "nonce": ""}),
        content[:-30],
        "[]",
        json.dumps({**members, "version": 2}),
        json.dumps({**members, "key": "elsewhere"}),
    ):
        login.path.write_text(changed)
        with pytest.raises(ConfigurationError):
            login.read()
    login.path.write_text(content)
    assert login.read() == KEPT


def test_a_key_that_is_gone_or_another_is_told_with_its_remedy(tmp_path: Path) -> None:
    begin(login_in(tmp_path, environ=ENVIRONMENT))
    for environ, message in (
        ({}, "sealed by RESTANTE_AGENT_KEY: set it"),
        ({"RESTANTE_AGENT_KEY": "short"}, "fewer than 32 characters"),
        ({"RESTANTE_AGENT_KEY": "x" * 40}, r"key \(environment\).*log in again"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            login_in(tmp_path, environ=environ).read()
    backend = Memory()
    begin(login_in(tmp_path, keychain=lambda: Keychain(backend)))
    backend.broken = "get"
    with pytest.raises(ConfigurationError, match=r"RuntimeError.*unlock it") as refused:
        login_in(tmp_path, keychain=lambda: Keychain(backend)).read()
    assert "hunter2" not in str(refused.value)
    backend.broken = ""
    backend.secrets.clear()
    with pytest.raises(ConfigurationError, match="gone from the keychain"):
        login_in(tmp_path, keychain=lambda: Keychain(backend)).read()
    begin(login_in(tmp_path))
    login_in(tmp_path).path.with_name("login.key").unlink()
    with pytest.raises(ConfigurationError, match=r"login\.key is gone"):
        login_in(tmp_path).read()


def test_a_new_login_of_another_process_is_read_under_its_new_key(tmp_path: Path) -> None:
    login = login_in(tmp_path)
    begin(login)
    assert login.read() == KEPT
    login_in(tmp_path).forget()
    begin(login_in(tmp_path), Kept("rstr_new", AGENT))
    assert login.read() == Kept("rstr_new", AGENT)


@pytest.mark.parametrize("broken", ["get", "set", "forgets"])
def test_a_keychain_that_does_not_work_is_not_used(tmp_path: Path, broken: str) -> None:
    login = login_in(tmp_path, keychain=lambda: Keychain(Memory(broken=broken)))
    named = begin(login)
    assert login.place() is Place.FILE
    assert "memory of the test" in named
    assert "hunter2" not in named


def test_one_object_at_a_time_has_the_lock(tmp_path: Path) -> None:
    first, second = login_in(tmp_path), login_in(tmp_path)
    assert first.try_lock()
    assert not first.try_lock()
    assert not second.try_lock()
    first.unlock()
    assert second.try_lock()
    second.unlock()


def find(url: str | None, client: str | None) -> Callable[[Path], KeptLogin]:
    return lambda base: find_login(url, client, base=base, environ={})


def test_the_login_that_is_meant_is_found(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no login here.*restante-agent login --url URL"):
        find(None, None)(tmp_path)
    begin(login_in(tmp_path))
    for url, client in ((None, None), (URL, None), (URL + "/", AGENT), (None, "restante-agent")):
        assert find(url, client)(tmp_path).agent_id == AGENT
    begin(login_in(tmp_path, OTHER))
    assert find(URL, OTHER)(tmp_path).agent_id == OTHER
    with pytest.raises(ConfigurationError, match=f"more than one login .*{AGENT}.*{OTHER}"):
        find(URL, None)(tmp_path)
    with pytest.raises(ConfigurationError, match=r"no login of agt_x at https://other\.example"):
        find("https://other.example", "agt_x")(tmp_path)
    with pytest.raises(ConfigurationError, match="only agents log in"):
        find(URL, "svc_1")(tmp_path)
