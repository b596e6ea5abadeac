"""Which scopes a token gets, and which of them still hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante.identity.principal import PrincipalKind
from restante.identity.requested_scopes import InvalidScope, scopes_for_token, still_given
from restante.identity.scopes import ProjectScope, Scope, TenantScope, Verb, covers, parse_scope

SLUGS = ("a", "b", "c")
grants = st.frozensets(
    st.one_of(
        st.builds(
            ProjectScope, st.sampled_from(("*", *SLUGS, "gone")), st.sampled_from(list(Verb))
        ),
        st.sampled_from(list(TenantScope)),
    ),
    max_size=12,
)
kinds = st.sampled_from(list(PrincipalKind))


@given(grants, kinds, st.text(alphabet="agentprojc:*read claimmemory", max_size=60))
def test_a_token_never_holds_more_than_granted(
    granted: frozenset[Scope], kind: PrincipalKind, asked: str
) -> None:
    try:
        scopes = scopes_for_token(asked, kind, grants=granted, slugs=SLUGS)
    except InvalidScope:
        return
    for scope in scopes:
        assert any(covers(grant, scope) for grant in granted)
        assert not isinstance(scope, ProjectScope) or scope.project in SLUGS


@given(grants, kinds)
def test_all_that_is_granted_can_be_asked_for(
    granted: frozenset[Scope], kind: PrincipalKind
) -> None:
    """One by one; and a scope the grants do not give is refused."""
    everything = [ProjectScope(slug, verb) for slug in (*SLUGS, "gone") for verb in Verb]
    for scope in [*everything, *TenantScope]:
        given_now = any(covers(grant, scope) for grant in granted) and (
            isinstance(scope, TenantScope) or scope.project in SLUGS
        )
        if given_now:
            assert scopes_for_token(str(scope), kind, grants=granted, slugs=SLUGS) == [scope]
        else:
            with pytest.raises(InvalidScope):
                scopes_for_token(str(scope), kind, grants=granted, slugs=SLUGS)


def test_asked_twice_is_asked_once() -> None:
    granted = {ProjectScope("*", Verb.READ)}
    text = "agent:a:read agent:a:read"
    assert scopes_for_token(text, PrincipalKind.AGENT, grants=granted, slugs=SLUGS) == [
        ProjectScope("a", Verb.READ)
    ]


def test_what_still_holds() -> None:
    token = [ProjectScope("a", Verb.READ), ProjectScope("gone", Verb.READ), TenantScope.AUDIT_READ]
    every = frozenset({ProjectScope("*", Verb.READ)})
    assert still_given(token, grants=every, slugs=SLUGS) == {ProjectScope("a", Verb.READ)}
    assert still_given(token, grants=frozenset(), slugs=SLUGS) == frozenset()
    # signed by ourselves or not: `*` in a token matches nothing
    assert still_given([ProjectScope("*", Verb.READ)], grants=every, slugs=SLUGS) == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "agent",
        "agent:a",
        "agent::read",
        "agent:a:read:x",
        "agent:ä:read",
        "agent:a b:read",
        "tenant:x:y",
        "agent:" + "a" * 65 + ":read",
        "agent:a:read\n",
        "Agent:a:read",
        "agent:a:Read",
    ],
)
def test_what_is_no_scope(text: str) -> None:
    assert parse_scope(text) is None
