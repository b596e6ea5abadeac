"""Access tokens that are bent, out of time or meant for something else (JO-016 to JO-032)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc.jwk import OKPKey

from restante.identity.client_keys import add_client_key
from restante.identity.tokens import LEEWAY_SECONDS, LIFETIME_SECONDS
from tests.attacks.arena import Attacker, Tenant, unknown_id
from tests.oauth.forging import decode, encode, header_of, payload_of

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def refused(alice: Attacker, *tokens: str) -> None:
    for token in tokens:
        assert alice.stats(token).is_invalid_token, token[-80:]


def taken(alice: Attacker, *tokens: str) -> None:
    for token in tokens:
        answer = alice.stats(token)
        assert answer.status == 200, answer.body


def test_jo_016_signature_removed_cut_or_flipped(alice: Attacker) -> None:
    head, body, signature = alice.token.split(".")
    raw = decode(signature)
    refused(alice, f"{head}.{body}.", f"{head}.{body}", f"{head}.{body}.{encode(raw[:32])}")
    for index in (0, 31, 63):
        flipped = bytes([*raw[:index], raw[index] ^ 1, *raw[index + 1 :]])
        refused(alice, f"{head}.{body}.{encode(flipped)}")
    refused(alice, f"{head}.{body}.{encode(raw + raw)}", f"{head}.{body}.{signature}.{signature}")


def test_jo_017_payload_swapped(alice: Attacker) -> None:
    other = alice.signed_in("agent:a:read").token.split(".")
    head, _, signature = alice.token.split(".")
    refused(alice, f"{head}.{other[1]}.{signature}", f"{head}.{other[1]}.{other[2][::-1]}")


def test_jo_018_a_claim_twice(alice: Attacker, acme: Tenant) -> None:
    victim = acme.agent()
    plain = json.dumps(payload_of(alice.token))[1:-1]
    for first, second in ((victim.id, alice.id), (alice.id, victim.id)):
        rest = plain.replace(f'"sub": "{alice.id}", ', "")
        assert rest != plain
        claims = f'{{"sub":"{first}",{rest},"sub":"{second}"}}'.encode()
        refused(alice, alice.forged(claims=claims))
    scopes = f'{{"scope":"agent:b:read",{plain}}}'.encode()
    refused(alice, alice.forged(claims=scopes))


def test_jo_019_another_spelling_of_a_good_token(alice: Attacker) -> None:
    head, body, signature = alice.token.split(".")
    # 64 bytes leave four bits of the last letter unused
    last = ALPHABET[ALPHABET.index(signature[-1]) ^ 1]
    refused(
        alice,
        f"{alice.token}==",
        f"{head}=.{body}.{signature}",
        f"{head}.{body}.{signature[:-1]}{last}",
        f"{head}.{body}.{signature[:40]}+/{signature[42:]}",
    )
    for spaced in (f"{head}.{body}\t.{signature}", f"{head}. {body}.{signature}"):
        refused(alice, spaced)


def test_jo_020_expired(alice: Attacker) -> None:
    """There is no leeway: the clock it is compared with is the one that made it."""
    now = alice.arena.now()
    refused(alice, alice.bent(iat=now - 60, exp=now - 1), alice.bent(iat=now - 700, exp=now - 100))
    taken(alice, alice.bent(iat=now - 60, exp=now + 60))
    assert LEEWAY_SECONDS <= 30


def test_jo_021_not_before_later(alice: Attacker) -> None:
    now = alice.arena.now()
    refused(alice, alice.bent(nbf=now + 600), alice.bent(nbf=str(now)), alice.bent(nbf=now + 60))


def test_jo_022_issued_later(alice: Attacker) -> None:
    now = alice.arena.now()
    refused(alice, alice.bent(iat=now + 600, exp=now + 1200), alice.bent(iat=now + 60))


def test_jo_023_no_expiry(alice: Attacker) -> None:
    refused(alice, alice.bent(exp=None), alice.bent(iat=None))


@pytest.mark.parametrize(
    "exp", ['"9999999999"', "1e400", "true", "null", "-1", "1" + "0" * 18, "[]"]
)
def test_jo_024_expiry_of_a_wrong_type_or_size(alice: Attacker, exp: str) -> None:
    claims = {k: v for k, v in payload_of(alice.token).items() if k != "exp"}
    text = json.dumps(claims)[:-1] + f',"exp":{exp}}}'
    refused(alice, alice.forged(claims=text.encode()))
    now = alice.arena.now()
    refused(alice, alice.bent(iat=now, exp=now + LIFETIME_SECONDS + 1))


def test_jo_025_another_audience(alice: Attacker) -> None:
    issuer = alice.arena.issuer
    for aud in (
        "https://other.example",
        f"{issuer}/",
        issuer.upper(),
        f"{issuer}/api/v1",
        alice.id,
    ):
        refused(alice, alice.bent(aud=aud), alice.bent(aud=[aud]))


def test_jo_026_no_audience(alice: Attacker) -> None:
    odd: list[Any] = [[], {}, "", 1, True]
    refused(alice, alice.bent(aud=None), *(alice.bent(aud=aud) for aud in odd))


def test_jo_027_an_audience_that_contains_us(alice: Attacker) -> None:
    taken(alice, alice.bent(aud=["https://other.example", alice.arena.issuer]))
    taken(alice, alice.bent(aud=[alice.arena.issuer]))


def test_jo_028_another_issuer(alice: Attacker) -> None:
    issuer = alice.arena.issuer
    for iss in (
        *("https://other.example", f"{issuer}/", issuer.upper()),
        *(issuer.replace("http:", "https:"), [issuer], None),
    ):
        refused(alice, alice.bent(iss=iss))


def test_jo_029_an_id_token_for_an_access_token(alice: Attacker) -> None:
    now = alice.arena.now()
    idp = OKPKey.generate_key("Ed25519")
    claims = {
        "iss": "https://accounts.example",
        "aud": "client-1",
        "sub": "8c1f",
        "iat": now,
        "exp": now + 300,
        "nonce": "n",
    }
    refused(
        alice,
        alice.forged(header={"alg": "EdDSA", "typ": "JWT", "kid": "i"}, claims=claims, key=idp),
    )
    refused(alice, alice.with_header(typ="JWT"))
    own = {**claims, "iss": alice.arena.issuer, "aud": alice.arena.issuer, "sub": alice.id}
    refused(alice, alice.forged(header={**header_of(alice.token), "typ": "JWT"}, claims=own))
    refused(alice, alice.forged(claims=own))


def test_jo_030_no_type(alice: Attacker) -> None:
    refused(alice, alice.with_header(typ=None))
    for typ in ("", " ", "jwt", "at", "application/jwt", "at+jwt ", ["at+jwt"], 1):
        refused(alice, alice.with_header(typ=typ))


def test_jo_031_the_type_in_other_case(alice: Attacker) -> None:
    for typ in ("AT+JWT", "application/at+jwt", "Application/At+Jwt"):
        taken(alice, alice.with_header(typ=typ))


def test_jo_032_an_assertion_as_a_token_and_the_reverse(alice: Attacker) -> None:
    arena, key = alice.arena, Ed25519PrivateKey.generate()
    jwk = OKPKey.import_key(key.public_key()).as_dict(private=False)
    arena.run(lambda s: add_client_key(s, alice.raw, jwk))
    now = arena.now()
    claims = {
        "iss": alice.id,
        "sub": alice.id,
        "aud": arena.issuer,
        "jti": unknown_id("x"),
        "iat": now,
        "exp": now + 60,
    }
    parts = [json.dumps(p).encode() for p in ({"alg": "EdDSA", "typ": "JWT"}, claims)]
    message = ".".join(map(encode, parts))
    refused(alice, f"{message}.{encode(key.sign(message.encode()))}")
    for token in (alice.token, alice.bent(iss=alice.id)):
        answer = alice.wire.form(
            "/oauth/token",
            grant_type="client_credentials",
            client_assertion=token,
            client_assertion_type="urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        )
        assert answer.error == "401 invalid_client"
