"""`restante db restored`: nothing that is good once outlives it (contract section 8)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, insert, select

from restante.audit.entries import IN_PROCESS
from restante.identity.device_logins import LoggedIn, Poll
from restante.identity.operators import Operator, invite
from restante.identity.recent import STATE_SECONDS
from restante.identity.restored import Ended, end_logins
from restante.identity.roles import Role
from restante.identity.sessions import resume_session
from restante.identity.sign_in import sign_in_by_link
from restante.identity.sign_in_links import Purpose, Refusal, Refused, make_link, take_link
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.operators import oidc_transaction
from restante.storage.tables.signals import subscribe_ticket
from tests.oauth.logging_in import Login


def test_refresh_tokens_are_spent_and_logins_end(login: Login) -> None:
    begun = login.log_in()
    old, newest = begun.refresh_token, login.child(begun.refresh_token)
    assert login.run(end_logins).logins == 1
    for token in (newest, old):
        assert login.refresh(token) is None
    assert login.audited("refresh.reuse") == 0  # nobody has stolen anything
    assert login.run(end_logins) == Ended(0, 0)
    assert isinstance(login.log_in(), LoggedIn)


def test_a_secret_stays_good(login: Login) -> None:
    token = login.server.token(login.bob)
    login.run(end_logins)
    login.server.pass_time(2 * STATE_SECONDS)
    assert login.server.call(token).status_code == 200
    assert login.server.token(login.bob)


def test_codes_that_wait_and_those_that_are_approved_give_nothing(login: Login) -> None:
    waits, approved = login.start(), login.start()
    assert login.approve(approved.user_code)
    login.run(end_logins)
    assert login.approve(waits.user_code) is None
    for started in (waits, approved):
        assert login.poll(started.device_code) is Poll.INVALID


def test_operators_sign_in_anew_by_new_links(login: Login) -> None:
    who: Operator = login.run(
        lambda s: invite(s, login.tenant.id, email="ops@example.com", role=Role.OPERATOR)
    )
    used, link = (login.run(lambda s: make_link(s, who, Purpose.SIGN_IN)) for _ in range(2))
    cookie = login.run(lambda s: sign_in_by_link(s, used, by=IN_PROCESS))
    assert login.run(lambda s: resume_session(s, cookie))
    assert login.run(end_logins).sessions == 1
    assert login.run(lambda s: resume_session(s, cookie)) is None
    refused = login.run(lambda s: take_link(s, link))
    assert isinstance(refused, Refused)
    assert refused.why is Refusal.SPENT


def test_tickets_and_sign_ins_at_a_provider_are_gone(login: Login) -> None:
    def fill(session: Any) -> None:
        now = database_now(session)
        session.connection().execute(
            insert(subscribe_ticket).values(
                ticket_hash=bytes(32),
                recipient_id=login.bob.id,
                credential_id=new_id(),
                token_id="t",
                kid="k",
                scopes="",
                issued_at=0,
                token_expires_at=0,
                expires_at=now,
            )
        )
        session.connection().execute(
            insert(oidc_transaction).values(
                state_hash=bytes(32),
                browser_hash=bytes(32),
                nonce_hash=bytes(32),
                verifier_sealed=b"",
                return_path="/account",
                created_at=now,
                expires_at=now,
            )
        )

    login.run(fill)
    login.run(end_logins)
    for table in (subscribe_ticket, oidc_transaction):
        counted = select(func.count()).select_from(table)
        assert login.run(lambda s, c=counted: s.connection().execute(c).scalar()) == 0
