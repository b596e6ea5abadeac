"""Rules of templates of scopes: which projects they mean, and what comes of them for an agent."""

from __future__ import annotations

from datetime import datetime

import pytest

from restante.identity.scope_templates import Rule, ScopeTemplate, rules_like
from restante.identity.scopes import Scope, Verb, parse_scope

SLUGS = ["build-1", "build-2", "docs"]


def scopes(*texts: str) -> set[Scope]:
    return {scope for text in texts if (scope := parse_scope(f"agent:{text}"))}


def template(**rules: str) -> ScopeTemplate:
    """Of patterns (`_` for `-`, `every` for `*`) and verbs by their first letters."""
    made = [
        Rule(
            "*" if name == "every" else name.replace("_", "-").replace("any", "*"),
            tuple(verb for verb in Verb if verb[0] in letters),
        )
        for name, letters in rules.items()
    ]
    return ScopeTemplate(bytes(16), "t", made, "opr_x", datetime(2030, 1, 1))


@pytest.mark.parametrize(
    ("pattern", "means"),
    [
        ("*", ["*"]),
        ("docs", ["docs"]),
        ("build-*", ["build-1", "build-2"]),
        ("*-2", ["build-2"]),
        ("**", ["build-1", "build-2", "docs"]),
        ("doc", []),
        ("BUILD-*", []),
    ],
)
def test_a_pattern_means_these(pattern: str, means: list[str]) -> None:
    rule = Rule(pattern, (Verb.READ,))
    assert [slug for slug in ("*", *SLUGS) if rule.means(slug)] == means


def test_what_it_means_is_as_it_says_and_the_rest_stays() -> None:
    held = scopes("build-1:read", "build-1:publish", "docs:read")
    made = template(build_any="r", build_2="m").changes("agt_1", held, SLUGS, alone=False)
    assert [str(change) for change in made] == [
        "-agt_1.agent:build-1:publish",
        "+agt_1.agent:build-2:memory",
        "+agt_1.agent:build-2:read",
    ]


def test_alone_takes_what_is_elsewhere() -> None:
    held = scopes("*:read", "build-1:read", "docs:read")
    made = template(build_1="r").changes("agt_1", held, SLUGS, alone=True)
    assert [str(change) for change in made] == ["-agt_1.agent:*:read", "-agt_1.agent:docs:read"]


def test_a_project_without_a_verb_has_none() -> None:
    held = scopes("docs:read", "*:read")
    (change,) = template(docs="").changes("agt_1", held, SLUGS, alone=False)
    assert str(change) == "-agt_1.agent:docs:read"


def test_like_an_agent_it_gives_what_that_one_has() -> None:
    held = scopes("docs:claim", "docs:read", "*:publish")
    rules = rules_like(held)
    assert [str(rule) for rule in rules] == ["*: publish", "docs: read, claim"]
    like = ScopeTemplate(bytes(16), "t", rules, "opr_x", datetime(2030, 1, 1))
    assert like.changes("agt_1", held, SLUGS, alone=True) == []
