"""Commands that pages show hold names of others: pasted, they name these and run nothing else."""

from __future__ import annotations

import shlex

from restante.identity.roles import Role
from tests.console.browsing import signed_in
from tests.http.world import World

CRAFTED = "O'Brien'; touch x; '"


def test_a_crafted_name_of_a_tenant_is_one_word_of_what_is_pasted(world: World) -> None:
    world.tenant(CRAFTED, "main")
    email = "o'brien$(id)@example.com"
    browser = signed_in(world, tenant=CRAFTED, email=email, role=Role.TENANT_ADMIN)
    for path, words in (
        ("/sign-in/again", ["operator", "link", "--email", email, "--tenant", CRAFTED]),
        ("/inboxes", ["agent", "create", "--tenant", CRAFTED, "--name", "laptop"]),
    ):
        browser.get(path)
        typed = browser.page.one("pre").text.replace("\\ ", " ")
        assert shlex.split(typed) == ["restante", *words], path
