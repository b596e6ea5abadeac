"""The audit: who did what to what, one entry, and whether all of it is what was written."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.audit_narrowing import TITLES, audit_narrowing
from blueprints.console.audit_words import KINDS, about
from blueprints.console.pages import as_it_is
from blueprints.console.sessions import asks_by_itself, with_session
from blueprints.console.shell import administrator, shell
from restante.audit.actions import Action
from restante.audit.listing import EntryPage, list_entries, read_entry
from restante.audit.verification import Progress, begin_chain, verify_on
from restante.identity.called import called
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.storage import page_token
from restante.storage.transaction import Session

blueprint = Blueprint("console_audit", __name__)
ENTRIES = 50
PIECE = 2_000
"""Entries that one request verifies: a fraction of a second, so that nobody waits for it."""


@blueprint.get("/audit")
@with_session(Right.AUDIT_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """A page of entries, the newest first."""
    admin = administrator(who)
    admin.require(Right.AUDIT_READ)
    chosen = audit_narrowing(session, admin, request.args)
    found = EntryPage([], None)
    if not chosen.faults:
        token = request.args.get("page")
        found = list_entries(session, admin.tenant_id, limit=ENTRIES, token=token, **chosen.filters)
    ids = [one for entry in found.entries for one in (entry.actor_id, entry.target)]
    return shell(
        "audit.html",
        session,
        who,
        here="audit",
        chosen=chosen,
        titles=TITLES,
        entries=found.entries,
        page_token=found.next_page_token,
        first="page" not in request.args,
        actions=list(Action),
        names=called(session, admin.tenant_id, ids),
        about=about,
        kinds=KINDS,
    )


@blueprint.get("/audit/entries/<entry_id>")
@with_session(Right.AUDIT_READ)
def entry(session: Session, who: SignedIn, entry_id: str) -> Response:
    """One, whole, and its place in the chain."""
    admin = administrator(who)
    admin.require(Right.AUDIT_READ)
    found = read_entry(session, admin.tenant_id, entry_id)
    return shell(
        "audit_entry.html",
        session,
        who,
        here="audit",
        found=found,
        entry=found.entry,
        names=called(session, admin.tenant_id, [found.entry.actor_id, found.entry.target]),
        about=about,
        kinds=KINDS,
    )


@blueprint.get("/audit/verification")
@with_session(Right.AUDIT_READ)
def verification(session: Session, who: SignedIn) -> Response:
    """The next piece of the chain; the page goes on by itself, and ends with what was found."""
    if asks_by_itself():  # to look again is for whoever reads it to say
        return as_it_is()
    admin = administrator(who)
    admin.require(Right.AUDIT_READ)
    of = ("audit verification", admin.tenant_id.hex())
    progress = begin_chain(admin.tenant_id)
    reached = page_token.take(session, of, request.args.get("from"))
    if reached is not None:
        number, last_hash, entries = reached
        progress = Progress(
            progress.chain_id,
            in_chain=True,
            number=number,
            last_hash=bytes.fromhex(last_hash),
            chains=1,
            entries=entries,
        )
    progress = verify_on(session, progress, batch=PIECE)
    goes_on = progress.in_chain and not progress.finished
    token = None
    if goes_on:
        reached = [progress.number, progress.last_hash.hex(), progress.entries]
        token = page_token.give(session, of, reached)
    return shell(
        "audit_verification.html",
        session,
        who,
        here="audit",
        progress=progress,
        token=token,
    )
