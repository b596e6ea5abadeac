"""`restante operator`: as a person or a script runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from restante.identity.operators import Operator
from restante.identity.sign_in_links import take_link
from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.console.rogue_provider import RogueProvider
from tests.support.serving import RestanteCommand


@pytest.fixture
def command(tmp_path: Path, restante_command: Callable[[str], RestanteCommand]) -> RestanteCommand:
    made = restante_command(f"sqlite:///{tmp_path / 'mail.db'}")
    made.environment["RESTANTE_INSTANCE"] = str(tmp_path / "instance")
    made.environment["RESTANTE_PUBLIC_URL"] = "https://inbox.example.com"
    made.upgrade()
    made.create_tenant("acme")
    return made


def invited(command: RestanteCommand, *words: str) -> dict[str, str]:
    return command.json("operator", "invite", "--email", "ops@example.com", *words)


def test_an_invitation_and_a_new_link_let_in(command: RestanteCommand, tmp_path: Path) -> None:
    made = invited(command, "--tenant", "acme", "--role", "tenant_admin")
    again = command.json("operator", "link", "--email", "OPS@example.com")
    assert made.keys() == again.keys() == {"operator_id", "url"}
    assert made["operator_id"] == again["operator_id"]
    assert made["operator_id"].startswith("opr_")
    engine = make_engine(f"sqlite:///{tmp_path / 'mail.db'}")
    for told in (made, again):
        start, secret = told["url"].rsplit("/", 1)
        assert start == "https://inbox.example.com/sign-in"
        found = Database(engine).run(lambda s, x=secret: take_link(s, x))
        assert isinstance(found, Operator)
        assert (found.email, found.tenant_name) == ("ops@example.com", "acme")
    engine.dispose()


def test_what_is_refused_is_a_sentence(command: RestanteCommand) -> None:
    invite = ("operator", "invite", "--email")
    assert invited(command, "--role", "platform_admin")["operator_id"]
    invited(command, "--tenant", "acme", "--role", "operator")
    for words, expected in (
        ((*invite, "ops@example.com", "--tenant", "acme", "--role", "operator"), "already"),
        ((*invite, "nonsense", "--tenant", "acme", "--role", "operator"), "e-mail"),
        ((*invite, "a@example.com", "--role", "operator"), "tenant"),
        ((*invite, "a@example.com", "--tenant", "nobody", "--role", "operator"), "no tenant"),
        (("operator", "link", "--email", "b@example.com"), "no operator"),
        (("operator", "link", "--email", "ops@example.com"), "more than one"),
    ):
        done = command.run(*words)
        assert (done.returncode, done.stdout) == (1, ""), words
        assert expected in done.stderr
        assert "Traceback" not in done.stderr


def test_unbinding_disabling_and_what_doctor_says_of_a_provider(
    command: RestanteCommand, tmp_path: Path
) -> None:
    invited(command, "--tenant", "acme", "--role", "operator")
    assert command.json("operator", "unbind", "--email", "ops@example.com")["operator_id"]
    assert "no operator" in command.run("operator", "unbind", "--email", "x@example.com").stderr
    for act in ("disable", "enable"):
        assert command.json("operator", act, "--email", "ops@example.com")["operator_id"]
        refused = command.run("operator", "link", "--email", "ops@example.com").stderr
        assert ("disabled" in refused) is (act == "disable"), act
    provider = RogueProvider()
    try:
        command.environment |= {
            "RESTANTE_OIDC_ISSUER": provider.issuer,
            "RESTANTE_OIDC_CLIENT_ID": "restante",
            "RESTANTE_OIDC_CLIENT_SECRET": "not-to-be-shown",
            "RESTANTE_OIDC_GROUPS_CLAIM": "groups",
            "RESTANTE_OIDC_GROUPS": '{"a": ["acme:operator", "nowhere:operator"]}',
        }
        told = command.run("doctor").stdout
        assert "RESTANTE_OIDC_ISSUER does not do" not in told
        assert "'nowhere'" in told
        assert "identity_provider" in told
        assert "'acme'" not in told
        provider.discovery["issuer"] = "https://evil.example"
        done = command.run("doctor")
        assert "calls itself 'https://evil.example'" in done.stdout
        assert "not-to-be-shown" not in done.stdout + done.stderr
        assert done.returncode == 0, "links still let in, so it serves"
    finally:
        provider.close()
