"""What comes to the OAuth endpoints: a form, and at most one way in which its sender authenticates."""

from __future__ import annotations

from dataclasses import dataclass, field

from flask import Request, Response, request

from blueprints.oauth.basic import Basic, read_basic
from blueprints.oauth.refusals import refusal
from blueprints.request_ids import request_id
from blueprints.sent_form import read_form
from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.identity.assertions import TYPE, claimed_client
from restante.identity.token_refusals import Attempt

MOST_BYTES = 32 * 1024
MOST_NAME = 64
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Proof:
    """How the sender authenticates; all None: not at all. `named`: the client_id of the form."""

    basic: Basic | None
    assertion: str | None = field(repr=False)
    named: str | None

    @property
    def client(self) -> str | None:
        """Whose it says it is, unproven."""
        if self.basic is not None:
            return self.basic.client_id[:MOST_NAME]
        if self.assertion is not None:
            return claimed_client(self.assertion)
        return self.named

    @property
    def is_public(self) -> bool:
        """Whether nothing is proved, only a client named."""
        return self.basic is None and self.assertion is None and self.named is not None


def refuse_form(*required: str) -> Response | None:
    """The refusal of a request that is no proper form with these parameters, whatever it says; or None."""
    if request.method != "POST":
        return refusal("invalid_request", "This address takes POST.", 405, Allow="POST")
    request.max_content_length = MOST_BYTES
    fault = fault_of(request, *required)
    return refusal("invalid_request", fault) if fault else None


def fault_of(asked: Request, *required: str) -> str | None:
    """What is wrong with the form of a request, before anything that it says is believed; None: nothing."""
    if asked.query_string:
        return "Parameters belong into the body; this address takes no query."
    if asked.mimetype != _FORM:
        return f"The body must be {_FORM}."
    if asked.headers.get("Content-Encoding", "identity") != "identity":
        return "The body must come as it is, without Content-Encoding."
    if any(len(values) > 1 for _, values in read_form(asked).lists()):
        return "A parameter is repeated."
    for name in required:
        if not asked.form.get(name):
            return f"{name} is missing."
    return _fault_of_proof(asked)


def _fault_of_proof(asked: Request) -> str | None:
    authorization = asked.headers.get("Authorization", "")
    bodily = {"client_secret", "client_assertion", "client_assertion_type"} & asked.form.keys()
    if "," in authorization:
        return "More than one Authorization field."
    if (authorization and bodily) or {"client_secret", "client_assertion"} <= bodily:
        return "The client authenticates in more than one way."
    if "client_assertion_type" in bodily and asked.form["client_assertion_type"] != TYPE:
        return f"client_assertion_type must be {TYPE}."
    if bodily - {"client_secret"} and len(bodily) == 1:
        return "client_assertion and client_assertion_type go together."
    proof = proof_of(asked)
    if proof.named is not None and len(proof.named) > MOST_NAME:
        return "client_id is too long."
    if proof.named and not proof.is_public and proof.client not in (None, proof.named):
        return "client_id names another client than the one that authenticates."
    return None


def proof_of(asked: Request) -> Proof:
    """How its sender authenticates."""
    return Proof(
        read_basic(asked.headers.get("Authorization", "")),
        asked.form.get("client_assertion"),
        asked.form.get("client_id") or None,
    )


def attempt_of(asked: Request) -> Attempt:
    """The request as it is counted and told of in the audit."""
    proof = proof_of(asked)
    named = proof.client
    by = Origin(Actor(ActorKind.CLIENT, named), asked.remote_addr, request_id(asked))
    return Attempt(named, not proof.is_public, by)
