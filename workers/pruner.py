"""Deletes what is only kept for a while: spent keys, records of claims, rings, samples, past work, posts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from restante.coordination.past_assignments import ASSIGNMENTS, prune_assignments
from restante.identity.families import prune_families
from restante.inbox import superseding
from restante.inbox.retention import prune_with_retention
from restante.signals.pruning import RingPruner
from restante.signals.registry import forget_nodes
from restante.storage.pruning import ROWS, prune
from restante.storage.tables.assignments import assignment_sticky
from restante.storage.tables.callbacks import (
    callback_attempt,
    callback_challenge,
    callback_host,
    callback_secret,
)
from restante.storage.tables.identity import token_key
from restante.storage.tables.keys import claim_record, idempotency_key, publication_key
from restante.storage.tables.logins import (
    device_authorization,
    refresh_token,
    revoked_token,
    used_assertion,
)
from restante.storage.tables.operation import inbox_history, sample, tenant_history
from restante.storage.tables.operators import (
    form_draft,
    oidc_transaction,
    operator_session,
    sign_in_link,
)
from restante.storage.tables.rooms import room_post
from restante.storage.tables.signals import subscribe_ticket
from restante.storage.tables.signatures import signature_nonce, signing_key
from restante.storage.tables.triage import triage_job
from restante.storage.tables.unread import unread_escalation
from restante.storage.transaction import Database
from workers.service import Service

KEPT = (
    (idempotency_key.c.keep_until, timedelta(0)),
    (publication_key.c.keep_until, timedelta(0)),
    # a claim lasts a day at most; whoever repeats it later learns that it is spent, for a while
    (claim_record.c.created_at, timedelta(days=2)),
    (signature_nonce.c.expires_at, timedelta(0)),
    # what ended is of no more use to anybody
    (signing_key.c.expires_at, timedelta(days=1)),
    (signing_key.c.revoked_at, timedelta(days=1)),
    (used_assertion.c.expires_at, timedelta(0)),
    (revoked_token.c.expires_at, timedelta(0)),
    (token_key.c.verifies_until, timedelta(0)),
    (subscribe_ticket.c.expires_at, timedelta(0)),
    (oidc_transaction.c.expires_at, timedelta(0)),
    (operator_session.c.expires_at, timedelta(0)),
    (form_draft.c.expires_at, timedelta(0)),
    # until then the late are told that it is over, and that a spent one was spent
    (device_authorization.c.expires_at, timedelta(days=1)),
    (sign_in_link.c.expires_at, timedelta(days=1)),
    (refresh_token.c.expires_at, timedelta(days=1)),
    (sample.c.sampled_at, timedelta(days=3)),
    (tenant_history.c.keep_until, timedelta(0)),
    (inbox_history.c.keep_until, timedelta(0)),
    (triage_job.c.finished_at, timedelta(days=30)),
    (callback_secret.c.signs_until, timedelta(0)),
    (callback_challenge.c.sent_at, timedelta(days=1)),
    (callback_host.c.challenged_at, timedelta(days=1)),
    (unread_escalation.c.noted_at, timedelta(days=30)),
    # whoever has the work of its key next is chosen anew
    (assignment_sticky.c.worked_at, timedelta(days=90)),
)

AS_EVENTS = (callback_attempt.c.at, room_post.c.created_at)
"""As long as events are kept."""


class Pruner(Service):
    """One bounded batch of each kind a pass."""

    name = "pruner"
    pause_seconds = 10.0

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._rings = RingPruner()

    def run_once(self) -> Mapping[str, int]:
        did: dict[str, int] = {}
        for column, kept in KEPT:
            name = column.table.name
            pruned = self._database.run(partial(prune, column=column, kept=kept))
            did[name] = did.get(name, 0) + pruned
        for column in AS_EVENTS:
            did[column.table.name] = self._database.run(
                partial(prune_with_retention, column=column)
            )
        did["superseding"] = self._database.run(partial(superseding.prune, limit=ROWS))
        did["refresh_family"] = self._database.run(prune_families)
        assignments = did["assignment"] = self._database.run(prune_assignments)
        did["wake"] = self._database.run(self._rings.run)
        did["node"] = self._database.run(forget_nodes)
        did["more"] = int(max(did.values()) >= ROWS or assignments >= ASSIGNMENTS)
        return did
