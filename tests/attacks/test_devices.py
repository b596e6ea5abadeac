"""Logins by device code under attack (JO-074 to JO-083)."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest
from sqlalchemy import select

from restante.identity.devices import MOST_WRONG_CODES, MOST_WRONG_CODES_OF_ALL
from restante.identity.logins import hash_of
from restante.identity.user_codes import LENGTH, LETTERS
from restante.storage.clock import database_now
from restante.storage.tables.identity import failed_attempt
from restante.storage.tables.logins import device_authorization as device
from tests.attacks.arena import Attacker, Tenant
from tests.attacks.logins import DEVICE, begin, change_device, poll
from tests.attacks.operators import Operator, new_operator
from tests.attacks.wire import new_address


@pytest.fixture
def bob(acme: Tenant) -> Attacker:
    one = acme.agent()
    one.address = new_address()
    return one


@pytest.fixture
def boss(acme: Tenant) -> Operator:
    """Somebody who may approve devices of acme."""
    return new_operator(acme)


def row_of(bob: Attacker, code: str) -> object:
    wanted = select(device).where(device.c.device_code_hash == hash_of(code))
    return bob.arena.run(lambda s: s.connection().execute(wanted).one())


def polled_before(bob: Attacker, code: str, seconds: float) -> None:
    now = bob.arena.run(database_now)
    change_device(bob, code, polled_at=now - timedelta(seconds=seconds))


def test_jo_074_polling_too_fast(bob: Attacker) -> None:
    code = begin(bob)["device_code"]
    assert poll(bob, code).error == "400 authorization_pending"
    for before, error, interval in (
        (1, "400 slow_down", 10),
        (6, "400 slow_down", 15),
        (16, "400 authorization_pending", 15),
    ):
        polled_before(bob, code, before)
        assert poll(bob, code).error == error
        assert row_of(bob, code).interval_seconds == interval


def test_jo_075_pending(bob: Attacker) -> None:
    begun = begin(bob)
    assert begun["interval"] == 5
    for _ in range(3):
        assert poll(bob, begun["device_code"]).error == "400 authorization_pending"
        polled_before(bob, begun["device_code"], 6)


def test_jo_076_a_code_that_is_over(bob: Attacker, boss: Operator) -> None:
    begun = begin(bob)
    over = bob.arena.run(database_now) - timedelta(seconds=1)
    change_device(bob, begun["device_code"], expires_at=over)
    assert poll(bob, begun["device_code"]).error == "400 expired_token"
    page = boss.approve(begun["user_code"])
    assert page.status == 404
    assert b"No device waits with this code" in page.body
    assert row_of(bob, begun["device_code"]).status == "pending"
    approved = begin(bob)
    assert boss.approve(approved["user_code"]).status == 200
    change_device(bob, approved["device_code"], expires_at=over)
    assert poll(bob, approved["device_code"]).error == "400 expired_token"


def test_jo_077_the_operator_says_no(bob: Attacker, boss: Operator) -> None:
    begun = begin(bob)
    assert boss.refuse(begun["user_code"]).status == 200
    for _ in range(2):
        assert poll(bob, begun["device_code"]).error == "400 access_denied"
    boss.approve(begun["user_code"])
    assert poll(bob, begun["device_code"]).error == "400 access_denied"


def test_jo_078_a_code_twice(bob: Attacker, boss: Operator) -> None:
    """Also when both ask at one moment: one login comes of it."""
    begun = begin(bob)
    assert boss.approve(begun["user_code"]).status == 200
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(poll, bob, begun["device_code"]) for _ in range(6)]
        answers = [one.result() for one in asked]
    assert sorted(answer.status for answer in answers) == [200] + [400] * 5
    assert {a.error for a in answers if a.status == 400} == {"400 invalid_grant"}
    assert poll(bob, begun["device_code"]).error == "400 invalid_grant"
    assert len(bob.arena.audited("token.issue", bob.id)) == 1


def test_jo_079_the_code_of_another_client(bob: Attacker, acme: Tenant, boss: Operator) -> None:
    begun, eve = begin(bob), acme.agent()
    for other in (eve.id, "restante-agent", "agt_" + "0" * 32):
        assert poll(bob, begun["device_code"], other).error == "400 invalid_grant"
    assert boss.approve(begun["user_code"]).status == 200
    assert poll(bob, begun["device_code"], eve.id).error == "400 invalid_grant"
    assert poll(bob, begun["device_code"]).status == 200


def test_jo_080_guessing_user_codes(bob: Attacker, acme: Tenant, boss: Operator) -> None:
    """Ten wrong ones by an operator or from an address, 200 by all together, and no more that minute."""
    bob.arena.change(failed_attempt.delete())
    code = begin(bob)["user_code"]
    csrf = csrf_of(boss)
    for _ in range(MOST_WRONG_CODES):
        assert boss.post("/device", csrf=csrf, user_code="BCDFG-BCDFG").status == 404
    for target in ("/device", "/device/approve", "/device/refuse"):
        answer = boss.post(target, csrf=csrf, user_code=code, same="yes")
        assert answer.status == 429
        assert 1 <= int(answer.headers["Retry-After"]) <= 60
    # the operator is as tired from another address, and another one from his
    moved = replace(boss, wire=bob.arena.wire(new_address()))
    assert moved.post("/device", csrf=csrf, user_code=code).status == 429
    beside = replace(new_operator(acme), wire=boss.wire)
    assert beside.post("/device", user_code=code).status == 429
    # many operators from many addresses: all but two of what is let pass of all together
    together = failed_attempt.c.subject_hash == sha256(b"user_code:all").digest()
    counted = failed_attempt.update().where(together)
    bob.arena.change(counted.values(failures=MOST_WRONG_CODES_OF_ALL - 2))
    for _ in range(2):
        assert new_operator(acme).approve("BCDFG-BCDFG").status == 404
    assert new_operator(acme).approve(code).status == 429
    # as many as are let pass while a code lives hit it with 2^-32 at most
    assert len(LETTERS) ** LENGTH / 2**32 >= MOST_WRONG_CODES_OF_ALL * 10
    bob.arena.change(failed_attempt.delete())
    assert boss.approve(code).status == 200


def csrf_of(boss: Operator) -> str:
    """What the forms of his pages carry."""
    return boss.get("/device").body.decode().partition('name="csrf" value="')[2].partition('"')[0]


def test_jo_081_the_complete_address_approves_nothing(bob: Attacker, boss: Operator) -> None:
    """Opening it shows a form that asks; only that form decides, and it belongs to its session."""
    begun = begin(bob)
    target = begun["verification_uri_complete"].removeprefix(bob.arena.issuer)
    for _ in range(2):
        page = boss.get(target)
        assert page.status == 200
        assert begun["user_code"].encode() in page.body
    for csrf in ("", "x", csrf_of(new_operator(bob.tenant))):
        answer = boss.post("/device/approve", csrf=csrf, user_code=begun["user_code"], same="yes")
        assert answer.status == 403
    assert boss.get(f"/device/approve?user_code={begun['user_code']}").status in (404, 405)
    assert row_of(bob, begun["device_code"]).status == "pending"
    assert poll(bob, begun["device_code"]).error == "400 authorization_pending"
    shown = boss.post("/device", user_code=begun["user_code"])
    assert shown.status == 200
    for told in (b"agent:a:claim", b"agent:a:read", begun["user_code"].encode()):
        assert told in shown.body
    assert row_of(bob, begun["device_code"]).status == "pending"


def test_jo_082_an_operator_of_another_tenant(bob: Attacker, boss: Operator) -> None:
    begun = begin(bob)
    stranger = new_operator(bob.arena.tenant())
    for target in ("/device", "/device/approve", "/device/refuse"):
        foreign, nobody = (
            stranger.post(target, user_code=code, same="yes")
            for code in (begun["user_code"], "ZZZZZ-XXXXX")
        )
        assert foreign.status == nobody.status == 404
        pages = [
            re.sub(rb"<code>[^<]*</code>", b"", page.body).replace(code.encode(), b"")
            for page, code in ((foreign, begun["user_code"]), (nobody, "ZZZZZ-XXXXX"))
        ]
        assert pages[0] == pages[1]
    assert row_of(bob, begun["device_code"]).status == "pending"
    assert boss.approve(begun["user_code"]).status == 200


def test_jo_083_an_unknown_code(bob: Attacker) -> None:
    for code in ("rstd_" + "A" * 43, "x", "\x00", "\u00e9", "A" * 9000, "' OR 1=1 -- "):
        assert poll(bob, code).error == "400 invalid_grant"
    form = {"grant_type": DEVICE, "client_id": bob.id}
    assert bob.wire.form("/oauth/token", **form).error == "400 invalid_request"
