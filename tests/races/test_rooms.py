"""Posts against posts, and against members that come and go."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy.orm import Session

from restante.coordination.posts import add_post, list_posts
from restante.coordination.rooms import add_member, create_room, members_of, remove_member
from restante.storage.ids import Prefix, encode_id
from tests.factories import Mailbox, Tenant
from tests.races.players import at_once

pytestmark = pytest.mark.servers_only

MOST = 100_000


def room_of(*members: Mailbox) -> bytes:
    ids = [m.id for m in members]
    return members[0].run(
        lambda s: create_room(s, members[0].agent, project="p", name="r", members=ids)
    )


def posts_in(mail: Mailbox) -> list[str]:
    """The posts of an inbox, in the order of its sequence numbers."""
    return [json.loads(e)["payload"]["post_id"] for e in mail.page(limit=1000).events]


def posting(mail: Mailbox, room_id: bytes) -> Callable[[Session], int]:
    return lambda s: add_post(s, mail.agent, room_id, b'"x"', most_bytes=MOST)


def test_posts_of_many_have_one_order_in_every_inbox(tenant: Tenant) -> None:
    members = [tenant.agent("p") for _ in range(4)]
    room_id = room_of(*members)
    for n in range(5):
        numbers = at_once(tenant.database, [posting(mail, room_id) for mail in members])
        assert sorted(numbers) == [4 * n + k for k in (1, 2, 3, 4)]
    found, more = members[0].run(
        lambda s: list_posts(s, members[0].agent, room_id, after=0, limit=100)
    )
    assert ([post.number for post in found], more) == (list(range(1, 21)), False)
    for mail in members:
        own = encode_id(Prefix.AGENT, mail.id)
        others = [encode_id(Prefix.POST, p.id) for p in found if p.author != own]
        assert posts_in(mail) == others


def test_members_come_and_go_while_others_post(tenant: Tenant) -> None:
    one, two, guest = (tenant.agent("p") for _ in range(3))
    room_id = room_of(one, two)
    for n in range(6):
        verb = remove_member if n % 2 else add_member
        moved: Callable[[Session], object] = partial(
            verb, who=two.agent, room_id=room_id, agent_id=guest.id
        )
        works = [posting(one, room_id), moved, posting(two, room_id)]
        outcomes = at_once(tenant.database, works)
        assert not [o for o in outcomes if isinstance(o, Exception)]
    assert {m.agent_id for m in one.run(lambda s: members_of(s, room_id))} == {one.id, two.id}
    assert (len(posts_in(one)), len(posts_in(two))) == (6, 6)
    assert len(set(posts_in(guest))) == len(posts_in(guest)) <= 12


def test_opposite_fan_outs_do_not_lock_each_other_out(tenant: Tenant) -> None:
    """Two rooms of the same many agents, each named in the other's order."""
    members = [tenant.agent("p") for _ in range(40)]
    rooms = [room_of(*members), room_of(*members[::-1])]
    authors = (members[0], members[-1])
    for _ in range(4):
        posts = [posting(who, room_id) for who in authors for room_id in rooms]
        outcomes = at_once(tenant.database, posts)
        assert not [o for o in outcomes if isinstance(o, Exception)]
    assert not tenant.database.retries
    assert {mail.inbox_row().head for mail in members[1:-1]} == {16}
    assert {mail.inbox_row().head for mail in authors} == {8}
