"""Which store of the system may hold a login's key."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from restante_agent.login.keychain import KeychainRefused, system_keychain
from tests.sdk.test_kept_login import Chain, Fail, Memory, PlaintextKeyring


def keyring_of(backend: object) -> ModuleType:
    module = ModuleType("keyring")
    module.get_keyring = lambda: backend  # type: ignore[attr-defined]  # a module of the test's own
    return module


@pytest.mark.parametrize("chosen", [Memory(), Chain(Fail(), Memory())])
def test_a_store_that_keeps_secrets_secret_is_a_keychain(
    monkeypatch: pytest.MonkeyPatch, chosen: object
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", keyring_of(chosen))
    assert system_keychain().name == "memory of the test"


@pytest.mark.parametrize("chosen", [PlaintextKeyring(), Fail(), Chain(PlaintextKeyring(), Fail())])
def test_a_store_that_anybody_can_read_is_none(
    monkeypatch: pytest.MonkeyPatch, chosen: object
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", keyring_of(chosen))
    with pytest.raises(KeychainRefused, match="no store of secrets"):
        system_keychain()


def test_without_the_package_there_is_no_keychain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(KeychainRefused, match=r"restante-agent\[keyring\]"):
        system_keychain()
