"""/docs: the pages of `docs/` for whoever reads them here: no sign-in, no script, nothing from elsewhere."""

from __future__ import annotations

from blueprints.manual.views import blueprint

__all__ = ["blueprint"]
