"""Administration of a tenant by services (contract 6.3)."""

from blueprints.admin import agents
from blueprints.admin.blueprint import admin

__all__ = ["admin", "agents"]
