"""Administration of a tenant by services (contract 6.3)."""

from blueprints.admin import agents, audit, jobs, projects, quarantine, services, tenant, triage
from blueprints.admin.blueprint import admin

__all__ = [
    "admin",
    "agents",
    "audit",
    "jobs",
    "projects",
    "quarantine",
    "services",
    "tenant",
    "triage",
]
