"""Rooms: who is in one and has read how far; what was posted, when it is asked for."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.laid_out import MOST, laid_out, lines
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.coordination.room_list import list_heads, list_rooms, read_contents, read_room
from restante.coordination.rooms import members_of
from restante.identity.called import called
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.identity.tenant_settings import redacted_for
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_rooms", __name__)
ROOMS = 25
POSTS = 20
MEMBERS = 50
MOST_OF_POST = MOST // 8


@blueprint.get("/rooms")
@with_session(Right.EVENTS_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """All of them, the newest first."""
    admin = administrator(who)
    found, token = list_rooms(session, admin, limit=ROOMS, token=request.args.get("page"))
    return shell(
        "rooms.html",
        session,
        who,
        here="rooms",
        rooms=found,
        page_token=token,
        first="page" not in request.args,
        names=called(session, admin.tenant_id, [one.room.created_by for one in found]),
    )


@blueprint.get("/rooms/<room_id>")
@with_session(Right.EVENTS_READ)
def room(session: Session, who: SignedIn, room_id: str) -> Response:
    """One, without what the posts say."""
    return _room(session, who, room_id, told=False)


@blueprint.post("/rooms/<room_id>/posts")
@with_session(Right.EVENTS_READ)
def posts(session: Session, who: SignedIn, room_id: str) -> Response:
    """The same with it: that it was shown is in the audit, so no link leads here."""
    return _room(session, who, room_id, told=True)


def _room(session: Session, who: SignedIn, room_id: str, *, told: bool) -> Response:
    admin = administrator(who)
    line = read_room(session, admin, decode_id(Prefix.ROOM, room_id))
    before = _number(request.values.get("before", ""))
    heads = list_heads(session, admin, line.room, before=before, limit=POSTS + 1)
    shown, contents, rules = heads[:POSTS], {}, redacted_for(session, admin)
    if told:
        contents = read_contents(session, admin, line.room, before=before, limit=POSTS)
    members = [
        (encode_id(Prefix.AGENT, one.agent_id), one)
        for one in sorted(members_of(session, line.room.id), key=lambda one: one.read_number)
    ]
    parties = [line.room.created_by, *(post.author for post in shown)]
    parties += [public_id for public_id, _ in members[:MEMBERS]]
    return shell(
        "room.html",
        session,
        who,
        here="rooms",
        line=line,
        posts=shown,
        contents={
            n: lines(laid_out(text, None)[:MOST_OF_POST], rules=rules)
            for n, text in contents.items()
        },
        rules=rules,
        most=MOST_OF_POST,
        told=told,
        before=before,
        older=shown[-1].number if len(heads) > POSTS else None,
        members=members[:MEMBERS],
        more_members=max(0, len(members) - MEMBERS),
        names=called(session, admin.tenant_id, parties),
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
