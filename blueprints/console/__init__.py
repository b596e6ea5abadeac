"""The console: pages for operators. A session instead of a token, forms that work without scripts."""

from __future__ import annotations

from flask import Flask

from blueprints.console import (
    account,
    again,
    agent,
    agent_credentials,
    agent_memory,
    agent_removal,
    amend,
    assignments,
    audit,
    audit_export,
    callback_decisions,
    callbacks,
    device,
    event,
    events,
    failures,
    inboxes,
    jobs,
    live,
    members,
    oidc,
    overview,
    patching,
    platform,
    projects,
    quarantine,
    reassigning,
    rooms,
    scope_changes,
    scopes,
    search,
    services,
    settings,
    sign_in,
    stored_templates,
    theme,
    triage,
    which,
)
from blueprints.console.callback_words import in_words
from blueprints.console.command_lines import for_shell
from blueprints.console.foreign_text import foreign, foreign_block, visible
from blueprints.console.lengths import instant, length, milliseconds
from blueprints.console.user_agents import browser
from restante.inbox.failures import alike

__all__ = ["install"]


BLUEPRINTS = (
    sign_in.blueprint,
    oidc.blueprint,
    which.blueprint,
    again.blueprint,
    account.blueprint,
    device.blueprint,
    theme.blueprint,
    quarantine.blueprint,
    triage.blueprint,
    patching.blueprint,
    jobs.blueprint,
    overview.blueprint,
    inboxes.blueprint,
    event.blueprint,
    amend.blueprint,
    search.blueprint,
    events.blueprint,
    assignments.blueprint,
    reassigning.blueprint,
    rooms.blueprint,
    platform.blueprint,
    agent.blueprint,
    agent_credentials.blueprint,
    agent_memory.blueprint,
    agent_removal.blueprint,
    callbacks.blueprint,
    callback_decisions.blueprint,
    scopes.blueprint,
    scope_changes.blueprint,
    stored_templates.blueprint,
    live.blueprint,
    projects.blueprint,
    services.blueprint,
    members.blueprint,
    settings.blueprint,
    audit.blueprint,
    audit_export.blueprint,
)
for _blueprint in BLUEPRINTS:
    failures.show_as_pages(_blueprint)


def install(app: Flask) -> None:
    """Give the application its console."""
    app.jinja_env.filters.update(
        alike=alike,
        browser=browser,
        for_shell=for_shell,
        in_words=in_words,
        foreign=foreign,
        foreign_block=foreign_block,
        visible=visible,
        instant=instant,
        length=length,
        milliseconds=milliseconds,
    )
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    failures.show_unknown_addresses(app)
