"""What is worth an entry in the audit. Pure; only added to, since entries are kept for good."""

from __future__ import annotations

from enum import StrEnum


class Action(StrEnum):
    """`<what>.<done to it>`; at most 40 characters of ASCII."""

    TENANT_CREATE = "tenant.create"
    TENANT_UPDATE = "tenant.update"
    PROJECT_CREATE = "project.create"
    PROJECT_UPDATE = "project.update"
    AGENT_CREATE = "agent.create"
    AGENT_UPDATE = "agent.update"
    AGENT_DISABLE = "agent.disable"
    AGENT_ENABLE = "agent.enable"
    AGENT_REMOVE = "agent.remove"
    AGENT_PAUSE = "agent.pause"
    AGENT_RESUME = "agent.resume"
    SERVICE_CREATE = "service.create"
    SERVICE_UPDATE = "service.update"
    SERVICE_DISABLE = "service.disable"
    SERVICE_ENABLE = "service.enable"
    SERVICE_REMOVE = "service.remove"
    GRANT_ASSIGN = "grant.assign"
    SCOPE_TEMPLATE_CREATE = "scope_template.create"
    SCOPE_TEMPLATE_REMOVE = "scope_template.remove"
    CREDENTIAL_CREATE = "credential.create"
    CREDENTIAL_REVOKE = "credential.revoke"
    SIGNING_KEY_CREATE = "signing_key.create"
    SIGNING_KEY_REVOKE = "signing_key.revoke"
    SIGNATURE_REFUSE = "signature.refuse"
    TOKEN_ISSUE = "token.issue"  # at a login, not at every refresh
    TOKEN_REFUSE = "token.refuse"
    TOKEN_REVOKE = "token.revoke"
    REFRESH_REUSE = "refresh.reuse"
    REQUEST_REFUSE = "request.refuse"
    DEVICE_APPROVE = "device.approve"
    DEVICE_DENY = "device.deny"
    DEVICE_REFUSE = "device.refuse"
    OPERATOR_INVITE = "operator.invite"
    OPERATOR_BIND = "operator.bind"
    OPERATOR_UPDATE = "operator.update"
    OPERATOR_DISABLE = "operator.disable"
    OPERATOR_ENABLE = "operator.enable"
    LINK_CREATE = "link.create"
    SESSION_BEGIN = "session.begin"
    SESSION_SUDO = "session.sudo"
    SESSION_END = "session.end"
    SESSION_REVOKE = "session.revoke"
    SIGNIN_REFUSE = "signin.refuse"
    KEYS_ROTATE = "keys.rotate"
    KEYS_REMOVE = "keys.remove"
    SECRETS_ROTATE = "secrets.rotate"
    CALLBACK_REGISTER = "callback.register"
    CALLBACK_UPDATE = "callback.update"
    CALLBACK_CHALLENGE = "callback.challenge"
    CALLBACK_APPROVE = "callback.approve"
    CALLBACK_REJECT = "callback.reject"
    CALLBACK_SUSPEND = "callback.suspend"
    CALLBACK_RESUME = "callback.resume"
    CALLBACK_SECRET = "callback.secret"
    CALLBACK_REMOVE = "callback.remove"
    EVENT_REDRIVE = "event.redrive"
    EVENT_DISCARD = "event.discard"
    EVENT_CANCEL = "event.cancel"
    EVENT_AMEND = "event.amend"
    ASSIGNMENT_REASSIGN = "assignment.reassign"
    PAYLOAD_READ = "payload.read"
    AUDIT_EXPORT = "audit.export"
    JOB_CANCEL = "job.cancel"
    DATABASE_RESTORED = "database.restored"
    DATABASE_COPIED = "database.copied"


class Outcome(StrEnum):
    """How it ended."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


class ActorKind(StrEnum):
    """Who did it."""

    AGENT = "agent"
    SERVICE = "service"
    OPERATOR = "operator"
    CLIENT = "client"  # who says so and has not proved it
    COMMAND = "command"  # the `restante` command; its id: who ran it
    SERVER = "server"  # nobody's doing: a schedule, a limit
    APPLICATION = "application"  # one that calls the engine in its own process
