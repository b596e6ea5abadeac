"""The console: pages for operators. A session instead of a token, forms that work without scripts."""

from __future__ import annotations

from flask import Flask

from blueprints.console import account, failures, sign_in

__all__ = ["install"]


BLUEPRINTS = (sign_in.blueprint, account.blueprint)
for _blueprint in BLUEPRINTS:
    failures.show_as_pages(_blueprint)


def install(app: Flask) -> None:
    """Give the application its console."""
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    failures.show_unknown_addresses(app)
