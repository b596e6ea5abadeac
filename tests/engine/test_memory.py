"""Memory: put, merge, delete, read; versions, what is expected, limits, the event (contract 5.8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest
from sqlalchemy import func, select

from restante.coordination import memory_rows
from restante.coordination.entries import Expect
from restante.coordination.memory import VALUE_BYTES, Merge, Put, writable
from restante.errors import (
    InsufficientScope,
    NotFound,
    PayloadTooLarge,
    TooManyMemoryKeys,
    VersionConflict,
)
from restante.inbox import capacity
from restante.storage.tables.memory import agent_memory, memory_entry
from tests.engine.remembering import (
    delete,
    forget,
    get,
    keeper,
    merge,
    put,
    scribe,
    since,
    version,
    write,
    writer_in,
)
from tests.factories import Mailbox, Tenant, make_tenant, pass_time, set_rules

ABSENT = Expect(present=False)
PRESENT = Expect(present=True)


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    return keeper(tenant)


def rows(mail: Mailbox) -> int:
    counted = select(func.count()).select_from(memory_entry)
    return mail.run(lambda session: session.connection().execute(counted).scalar_one())


@pytest.mark.parametrize(
    "value",
    [
        b'{ "a" : 1.50, "b":"\\u00e9\xc3\xa9", "n": 123456789012345678901234567890 }',
        b"null",
        b"0",
        b'""',
        b"[ ]",
        b"true",
    ],
)
def test_a_value_is_kept_as_it_was_received(mail: Mailbox, value: bytes) -> None:
    written = put(mail, "k", value)
    read = get(mail, "k")
    assert (written.value, read.value, read.version) == (value, value, written.version)
    assert orjson.loads(orjson.dumps(read.told())) == {
        "project": "p",
        "key": "k",
        "value": orjson.loads(value),
        "version": 1,
        "memory_revision": 1,
        "updated_at": read.told()["updated_at"],
        "deleted": False,
    }


def test_null_is_a_value_and_deleted_is_none(mail: Mailbox) -> None:
    put(mail, "k", None)
    assert get(mail, "k").value == b"null"
    gone = delete(mail, "k")
    assert (gone.value, gone.version) == (None, 2)
    with pytest.raises(NotFound):
        get(mail, "k")
    with pytest.raises(NotFound):
        delete(mail, "k")


def test_versions_never_repeat(mail: Mailbox) -> None:
    """Not after a delete, not after its tombstone is forgotten, not among keys and projects."""
    set_rules(mail.database, retention_seconds=60)
    given = [put(mail, "k"), put(mail, "k", 2), delete(mail, "k"), put(mail, "k"), put(mail, "l")]
    given += [put(mail, "k", project="q"), delete(mail, "k")]
    pass_time(mail.database, 61)
    assert forget(mail) == 1
    given.append(put(mail, "k"))
    assert [entry.version for entry in given] == list(range(1, 9))


def test_keys_are_exact(mail: Mailbox) -> None:
    keys = ["k", "k ", "K", "é", "e\u0301", " k", "a/b", "k" * 200, "日本", "🗝"]
    for key in keys:
        put(mail, key, key)
    assert [get(mail, key).value for key in keys] == [orjson.dumps(key) for key in keys]
    assert [entry.key for entry in since(mail).entries] == keys


def test_projects_are_apart(mail: Mailbox) -> None:
    put(mail, "k", "in p")
    put(mail, "k", "in q", project="q")
    delete(mail, "k")
    assert get(mail, "k", "q").value == b'"in q"'
    with pytest.raises(NotFound):
        get(mail, "k")


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], {"a": 1}, {"a": 1}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        (None, {"a": "foo"}, {"a": "foo"}),
        (1, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merges_are_those_of_rfc_7396(mail: Mailbox, target: Any, patch: Any, result: Any) -> None:
    put(mail, "k", target)
    assert orjson.loads(merge(mail, "k", patch).value or b"") == result


def test_a_merge_into_nothing_makes_the_key(mail: Mailbox) -> None:
    assert merge(mail, "k", {"a": 1, "b": None}).value == b'{"a":1}'
    delete(mail, "k")
    assert merge(mail, "k", {"c": 1}).value == b'{"c":1}'


def test_a_merge_keeps_the_digits_of_what_it_does_not_name(mail: Mailbox) -> None:
    put(mail, "k", b'{"n":123456789012345678901234567890,"f":1.10,"t":{"x":1e400}}')
    patched = write(mail, "k", Merge(b'{"t":{"y":0.10}}'))
    assert patched.value == (
        b'{"n":123456789012345678901234567890,"f":1.10,"t":{"x":1e400,"y":0.10}}'
    )


def test_what_is_expected_must_be_there(mail: Mailbox) -> None:
    put(mail, "k", expect=ABSENT)
    put(mail, "k", 2, expect=version(1))
    put(mail, "k", 3, expect=PRESENT)
    put(mail, "k", 4, expect=Expect(frozenset({1, 3})))
    for wrong in (version(3), version(5), ABSENT):
        for attempted in (put, delete, lambda m, k, **t: merge(m, k, {}, **t)):
            with pytest.raises(VersionConflict) as refused:
                attempted(mail, "k", expect=wrong)
            assert refused.value.members == {"current_version": 4}
    delete(mail, "k", expect=version(4))
    for wrong in (version(4), version(5), PRESENT):
        with pytest.raises(VersionConflict) as refused:
            put(mail, "k", expect=wrong)
        assert refused.value.members == {"current_version": None}
    assert put(mail, "k", expect=ABSENT).version == 6


def test_a_refused_write_changes_nothing(mail: Mailbox) -> None:
    put(mail, "k")
    head, before = mail.inbox_row().head, since(mail)
    for refused in (
        lambda: put(mail, "k", 2, expect=version(9), notify=True),
        lambda: put(mail, "k", b'"' + b"x" * VALUE_BYTES + b'"', notify=True),
        lambda: delete(mail, "absent", notify=True),
    ):
        with pytest.raises((VersionConflict, PayloadTooLarge, NotFound)):
            refused()
    assert since(mail) == before
    assert mail.inbox_row().head == head


def test_a_value_has_at_most_256_kib_merged_too(mail: Mailbox) -> None:
    most = b'"' + b"x" * (VALUE_BYTES - 2) + b'"'
    assert put(mail, "k", most).value == most
    put(mail, "l", {"a": "x" * (VALUE_BYTES - 10)})
    with pytest.raises(PayloadTooLarge):
        merge(mail, "l", {"b": "y" * 20})


def test_so_many_keys_of_a_project_and_no_more(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_rows, "MOST_KEYS", 3)
    for key in ("a", "b", "c"):
        put(mail, key)
    with pytest.raises(TooManyMemoryKeys):
        put(mail, "d")
    put(mail, "a", 2)  # no new one
    put(mail, "d", project="q")  # another project
    delete(mail, "b")
    put(mail, "d")
    with pytest.raises(TooManyMemoryKeys):
        put(mail, "b")


def test_the_agent_is_told_of_what_others_write(mail: Mailbox, tenant: Tenant) -> None:
    put(mail, "own")
    assert mail.page().events == []
    other, service = writer_in(tenant, "p"), scribe(tenant)
    entries = [
        put(mail, "k", {"secret": 1}, by=other),
        merge(mail, "k", {"a": 1}, by=service),
        delete(mail, "k", by=service),
        put(mail, "own", notify=True),
    ]
    events = [orjson.loads(text) for text in mail.page().events]
    assert [(e["type"], e["payload"]["version"]) for e in events] == [
        ("memory_update", entry.version) for entry in entries
    ]
    assert events[0]["payload"] == {
        "type": "memory_update",
        "project": "p",
        "key": "k",
        "version": 2,
    }
    makers = [other.public_id, service.public_id, service.public_id, mail.agent.public_id]
    assert [e["producer"]["id"] for e in events] == makers
    assert [e["project"] for e in events] == ["p"] * 4


def test_the_write_and_its_event_are_one_transaction(
    mail: Mailbox, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(capacity, "check_tenant", fail)
    with pytest.raises(ZeroDivisionError):
        put(mail, "k", by=scribe(tenant))
    assert (rows(mail), mail.inbox_row().head) == (0, 0)
    assert since(mail).revision == 0


def test_a_full_inbox_takes_no_write_it_would_be_told_of(mail: Mailbox, tenant: Tenant) -> None:
    mail.publish()
    mail.set_limits(max_pending=1)
    with pytest.raises(Exception, match="too much waiting"):
        put(mail, "k", by=scribe(tenant))
    assert put(mail, "k").version == 1


def test_who_may_write(mail: Mailbox, tenant: Tenant) -> None:
    only_q = writer_in(tenant, "q")
    for slug in ("p", "no-such"):
        with pytest.raises(InsufficientScope):
            writable(only_q, slug)
        with pytest.raises(InsufficientScope):
            writable(tenant.service, slug)
    with pytest.raises(NotFound):
        writable(scribe(tenant), "no-such")
    assert writable(scribe(tenant), "q").slug == "q"


def test_whose_memory_may_be_written_alike_for_all_that_may_not(
    mail: Mailbox, tenant: Tenant
) -> None:
    put(mail, "k")
    foreign = keeper(make_tenant(mail.database))
    put(foreign, "k")
    without = keeper(tenant, "q")
    removed = keeper(tenant)
    removed.set_limits(status="removed")
    unknown = replace(mail, agent=replace(mail.agent, id=b"\0" * 16))
    for other in (foreign, without, removed, unknown):
        for writer in (scribe(tenant), writer_in(tenant, "p")):
            with pytest.raises(NotFound):
                put(other, "k", by=writer, expect=version(9))
    assert get(foreign, "k").version == 1
    made = select(func.count()).select_from(agent_memory)
    assert mail.run(lambda s: s.connection().execute(made).scalar_one()) == 2


def test_reading_is_for_the_projects_covered(mail: Mailbox) -> None:
    put(mail, "k")
    for slug in ("p", "no-such"):
        with pytest.raises(InsufficientScope):
            get(mail.only("q"), "k", slug)


def test_the_row_says_who_wrote_it(mail: Mailbox, tenant: Tenant) -> None:
    service = scribe(tenant)
    write(mail, "k", Put(b"1"), by=service)
    row = mail.run(lambda s: s.connection().execute(select(memory_entry)).one())
    assert (row.writer, row.entry_key, row.value_bytes) == (service.public_id, "k", 1)
