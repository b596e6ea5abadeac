"""Administration of a tenant by services (contract 6.3)."""

from blueprints.admin import (
    agent_states,
    agents,
    assignments,
    audit,
    callbacks,
    credentials,
    grants,
    jobs,
    projects,
    quarantine,
    services,
    tenant,
    triage,
)
from blueprints.admin.blueprint import admin

__all__ = [
    "admin",
    "agent_states",
    "agents",
    "assignments",
    "audit",
    "callbacks",
    "credentials",
    "grants",
    "jobs",
    "projects",
    "quarantine",
    "services",
    "tenant",
    "triage",
]
