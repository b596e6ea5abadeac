"""Templates of scopes that a tenant keeps: verbs by project, or by a pattern of projects, under a name.

A template is only what is written into an agent's grants when it is applied: nothing follows it later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import NotFound, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.grant_changes import Change
from restante.identity.grant_list import EVERY
from restante.identity.names import check_name
from restante.identity.roles import Right
from restante.identity.scopes import ProjectScope, Scope, Verb
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id, new_id
from restante.storage.tables.identity import scope_template

MOST_TEMPLATES = 100
MOST_RULES = 50
_PATTERN = re.compile(r"[A-Za-z0-9_*-]{1,64}")


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """`pattern`: `*`, which is the grant for all projects; a slug; or one with `*` for any letters."""

    pattern: str
    verbs: tuple[Verb, ...]

    def means(self, project: str) -> bool:
        """Whether it is about this project; `*` is one, and only the pattern `*` means it."""
        if EVERY in (self.pattern, project):
            return self.pattern == project
        parts = map(re.escape, self.pattern.split("*"))
        return re.fullmatch(".*".join(parts), project) is not None

    def __str__(self) -> str:
        return f"{self.pattern}: {', '.join(self.verbs) or 'nothing'}"


@dataclass(frozen=True, slots=True)
class ScopeTemplate:
    """`created_by`: a public id; `created_at`: UTC."""

    id: bytes
    name: str
    rules: Sequence[Rule]
    created_by: str
    created_at: datetime

    @property
    def public_id(self) -> str:
        """`tpl_…`."""
        return encode_id(Prefix.TEMPLATE, self.id)

    def verbs_of(self, project: str) -> frozenset[Verb] | None:
        """What it gives in a project; None: it says nothing of it."""
        meant = [rule for rule in self.rules if rule.means(project)]
        return frozenset(verb for rule in meant for verb in rule.verbs) if meant else None

    def changes(
        self, agent: str, held: Collection[Scope], slugs: Collection[str], *, alone: bool
    ) -> list[Change]:
        """What is to change of an agent's grants: the projects it means are as it says.

        `alone`: and there is nothing in the others; else they stay as they are.
        """
        found = []
        for project in (EVERY, *slugs):
            wanted = self.verbs_of(project)
            if wanted is None:
                if not alone:
                    continue
                wanted = frozenset()
            for verb in Verb:
                given = verb in wanted
                if given is not (ProjectScope(project, verb) in held):
                    found.append(Change(agent, project, verb.value, given))
        return sorted(found)


def rules_like(grants: Iterable[Scope]) -> list[Rule]:
    """Those that give what these grants give."""
    own = [scope for scope in grants if isinstance(scope, ProjectScope)]
    return [
        Rule(project, tuple(verb for verb in Verb if ProjectScope(project, verb) in own))
        for project in sorted({scope.project for scope in own})
    ]


def list_templates(session: Session, who: Administrator) -> list[ScopeTemplate]:
    """All of the tenant, by name; MOST_TEMPLATES at most. Raises what `Administrator.require` does."""
    who.require(Right.GRANTS_READ, Right.AGENTS_READ)
    rows = session.connection().execute(_of(who).order_by(scope_template.c.name))
    return [_template(row) for row in rows]


def read_template(session: Session, who: Administrator, public_id: str) -> ScopeTemplate:
    """One of the tenant. Raises NotFound and what `Administrator.require` does."""
    who.require(Right.GRANTS_READ, Right.AGENTS_READ)
    return _find(session, who, public_id)


def add_template(
    session: Session, who: Administrator, name: str, rules: Sequence[Rule]
) -> ScopeTemplate:
    """Keep one. Raises ValidationFailed (`/name`, `/rules/<place>`) and what `Administrator.require` does."""
    who.require(Right.GRANTS_WRITE)
    check_name(name)
    _check(rules)
    connection = session.connection()
    own = scope_template.c.tenant_id == who.tenant_id
    count = select(func.count()).select_from(scope_template).where(own)
    if connection.execute(count).scalar_one() >= MOST_TEMPLATES:
        raise ValidationFailed.at("/name", f"there are {MOST_TEMPLATES}, as many as may be")
    made = ScopeTemplate(
        new_id(),
        name,
        sorted(rules),
        who.by.actor.id or who.by.actor.kind.value,
        database_now(session),
    )
    row = {
        "template_id": made.id,
        "tenant_id": who.tenant_id,
        "name": name,
        "rules": json.dumps([[rule.pattern, list(rule.verbs)] for rule in made.rules]),
        "created_by": made.created_by,
        "created_at": made.created_at,
    }
    try:
        connection.execute(insert(scope_template), row)
    except IntegrityError:
        raise ValidationFailed.at("/name", "is taken by another template") from None
    _record(session, who, Action.SCOPE_TEMPLATE_CREATE, made)
    return made


def remove_template(session: Session, who: Administrator, public_id: str) -> None:
    """Forget it; what was granted by it stays. Raises NotFound and what `Administrator.require` does."""
    who.require(Right.GRANTS_WRITE)
    found = _find(session, who, public_id)
    gone = session.connection().execute(
        delete(scope_template).where(scope_template.c.template_id == found.id)
    )
    if not gone.rowcount:
        raise NotFound
    _record(session, who, Action.SCOPE_TEMPLATE_REMOVE, found)


def _check(rules: Sequence[Rule]) -> None:
    if not 1 <= len(rules) <= MOST_RULES:
        raise ValidationFailed.at("/rules", f"must be 1 to {MOST_RULES} projects or patterns")
    seen: set[str] = set()
    for place, rule in enumerate(rules):
        if not _PATTERN.fullmatch(rule.pattern):
            raise ValidationFailed.at(
                f"/rules/{place}",
                f"{rule.pattern[:64]!r} is no project: 1 to 64 letters, digits, - or _; * stands for any",
            )
        if rule.pattern in seen:
            raise ValidationFailed.at(f"/rules/{place}", f"names {rule.pattern} a second time")
        seen.add(rule.pattern)


def _record(session: Session, who: Administrator, action: Action, one: ScopeTemplate) -> None:
    reason = f"{one.name}: {'; '.join(map(str, one.rules))}"
    record(session, Entry(who.tenant_id, who.by, action, one.public_id, reason=reason))


def _of(who: Administrator) -> Any:
    return select(scope_template).where(scope_template.c.tenant_id == who.tenant_id)


def _find(session: Session, who: Administrator, public_id: str) -> ScopeTemplate:
    wanted = _of(who).where(scope_template.c.template_id == decode_id(Prefix.TEMPLATE, public_id))
    row = session.connection().execute(wanted).first()
    if row is None:
        raise NotFound
    return _template(row)


def _template(row: Any) -> ScopeTemplate:
    rules = [
        Rule(pattern, tuple(verb for verb in Verb if verb.value in verbs))
        for pattern, verbs in json.loads(row.rules)
    ]
    return ScopeTemplate(row.template_id, row.name, rules, row.created_by, row.created_at)
