"""An endpoint: route, access, models and examples said in one place, from which the document is made.

A request goes: who calls → did he sign it → may he → what does he say → one unit of work → the answer.
Nothing is looked up per request that could be known when the route was made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from flask import Blueprint, Response, request
from pydantic import BaseModel, ValidationError

from blueprints.access import Access, states
from blueprints.bodies import (
    has_no_body,
    media_type,
    read_body,
    read_bytes,
    read_content,
    read_query,
)
from blueprints.calls import Call, Reply
from blueprints.changed import changed_by
from blueprints.cloud_events import Reading, negotiated
from blueprints.fields import Query
from blueprints.principal import authenticate
from blueprints.signatures import check_signature, check_unsigned, is_signed
from blueprints.waiting import hold
from extensions import house
from restante.errors import RestanteError, ValidationFailed
from restante.signals.changes import Topic
from restante.storage.combine import Sharing
from restante.storage.transaction import Session

Handler = Callable[[Session, Call], Reply]
Look = Callable[[], Reply]
_ENDPOINT = "restante_endpoint"
BEGAN = "restante.began"
"""Key of a request's environ: when it began (time.perf_counter), where its length is to be measured."""


class NoQuery(Query):
    """No parameters."""


def _alone(call: Call) -> None:
    """Most calls have a transaction of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """What callers are told of an endpoint; `examples` and `answer_examples` by name."""

    method: str
    access: Access
    tag: str
    summary: str
    description: str
    answer: type[BaseModel]
    answer_examples: dict[str, Any]
    status: int = 200
    # by status: when it is given, and which of the examples it has; same shape
    other_statuses: dict[int, tuple[str, str]] = field(default_factory=dict)
    body: type[BaseModel] | None = None
    examples: dict[str, Any] = field(default_factory=dict)
    # the same body in other media types
    also: Mapping[str, Reading] = field(default_factory=dict)
    # answers with CloudEvents where they are asked for
    cloud_events: bool = False
    # no body at all means {}
    body_optional: bool = False
    query: type[BaseModel] = NoQuery
    problems: tuple[type[RestanteError], ...] = ()
    # how long a call may be held until its reply is not empty
    wait_seconds: Callable[[Call], int] | None = None
    # an Idempotency-Key is read
    creates: bool = False
    # a traceparent is read
    traced: bool = False
    # answers with an ETag and 304
    revalidates: bool = False
    # reads If-Match and If-None-Match, and answers with an ETag
    conditional: bool = False
    # need not be signed, whatever the tenant wants
    unsigned: bool = False
    # how a call may share a transaction with others that wait; None: not at all
    shares: Callable[[Call], Sharing | None] = _alone

    def route(self, blueprint: Blueprint, rule: str) -> Callable[[Handler], Handler]:
        """Decorate the handler; a blueprint's prefix comes before `rule`."""

        def decorated(handler: Handler) -> Handler:
            self._add(blueprint, rule, handler.__name__, lambda call: _look(self, handler, call))
            return handler

        return decorated

    def route_calling_out(
        self, blueprint: Blueprint, rule: str
    ) -> Callable[[Callable[[Call], Reply]], Callable[[Call], Reply]]:
        """The same for a handler that has somebody called, which no transaction may wait for.

        It is given no session: the verb it calls opens a unit of work before the call and one after it.
        """

        def decorated(handler: Callable[[Call], Reply]) -> Callable[[Call], Reply]:
            self._add(blueprint, rule, handler.__name__, lambda call: lambda: handler(call))
            return handler

        return decorated

    def _add(
        self, blueprint: Blueprint, rule: str, name: str, look_of: Callable[[Call], Look]
    ) -> None:
        topics = changed_by(self.method, f"{blueprint.url_prefix or ''}{rule}")
        view = states(self.access)(_view(self, look_of, topics))
        setattr(view, _ENDPOINT, self)
        blueprint.add_url_rule(rule, name, view, methods=[self.method])


def endpoint_of(view: Callable[..., Any]) -> Endpoint | None:
    """The endpoint whose view this is."""
    found: Endpoint | None = getattr(view, _ENDPOINT, None)
    return found


def _view(
    endpoint: Endpoint, look_of: Callable[[Call], Look], topics: Sequence[Topic]
) -> Callable[..., Response]:
    access, body, query = endpoint.access, endpoint.body, endpoint.query
    wait_seconds = endpoint.wait_seconds
    defaults = _defaults(query)

    def view(**path: str) -> Response:
        asked = request._get_current_object()  # type: ignore[attr-defined] # noqa: SLF001 - Flask's own way
        asked.environ[BEGAN] = perf_counter()
        here = house()
        claims, principal = authenticate(asked)
        if is_signed(asked.environ):
            limit = here.settings.body_limit_bytes
            principal = check_signature(asked, principal, lambda: read_content(asked, limit))
        elif principal.must_sign and not endpoint.unsigned:
            check_unsigned(asked, principal)
        access.admit(principal, path)
        here.rates.take(principal.id)
        if access.own:
            here.notes.note(principal.id)
        call = Call(asked, claims, principal, path)
        if defaults is None or asked.environ.get("QUERY_STRING"):
            call.query = read_query(asked, query)
        else:
            call.query = defaults
        if body is not None:
            _take_body(endpoint, body, call)

        look = look_of(call)
        seconds = wait_seconds(call) if wait_seconds is not None and asked.method != "HEAD" else 0
        if seconds:
            del asked.environ[BEGAN]  # how long it is held says nothing about the server
            reply = hold(call, look, seconds, access=access)
        else:
            reply = look()
        if topics:
            here.changes.note(principal.tenant_id, topics)
        if endpoint.cloud_events:
            reply = negotiated(reply, asked)
        return reply.response()

    return view


def _take_body(endpoint: Endpoint, body: type[BaseModel], call: Call) -> None:
    """Read the body into the call."""
    asked, also = call.request, endpoint.also
    if endpoint.body_optional and has_no_body(asked):
        call.body = body()
        return
    call.text = read_bytes(asked, house().settings.body_limit_bytes, also)
    other = also.get(media_type(asked)) if also else None
    call.body = read_body(call.text, body) if other is None else other.read(call.text)


def _look(endpoint: Endpoint, handler: Handler, call: Call) -> Look:
    """The call as a unit of work, which it may share with others that wait."""
    here, sharing = house(), endpoint.shares(call)

    def work(session: Session) -> Reply:
        return handler(session, call)

    if sharing is None:
        return lambda: here.database.run(work)
    combiner = here.combiners[sharing.kind]
    return lambda: combiner.run(work, sharing)


def _defaults(query: type[BaseModel]) -> BaseModel | None:
    """What no parameters mean, or None where that has to be refused anew each time."""
    try:
        return query()
    except (ValidationError, ValidationFailed):
        return None
