"""What is done to many quarantined events: how far it is, and its end."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from blueprints import examples
from blueprints.admin.blueprint import admin, administrator, having
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, NoBody
from blueprints.shapes import WireInstant
from restante.identity.roles import Right
from restante.inbox.envelope import instant
from restante.inbox.triage import jobs
from restante.inbox.triage.patching import Fit
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.transaction import Session

TAG = "Quarantine"


class Actor(Answer):
    """Who wanted it."""

    kind: str
    id: str | None


class PatchFit(Answer):
    """What a merge patch would make of the first payloads."""

    looked_at: int
    fits: int
    no_object: int = Field(description="They are no JSON objects.")
    unchanged: int = Field(description="It would leave them as they are.")
    too_large: int = Field(description="It would make them larger than a payload may be.")
    first_event_id: str | None = Field(description="One that it fits.")


class Job(Answer):
    """A job, or a dry run of one, which has no id. Counts are of events."""

    job_id: str | None
    action: Literal["redrive", "discard", "amend"]
    state: Literal["dry_run", "running", "completed", "cancelled"]
    reason: str | None
    matched: int = Field(
        description="How many were meant. A filter of a redrive means none whose work went on in another "
        "event (`superseded_by`)."
    )
    later_settled: int = Field(
        description="Of these: later events of their ordering key are settled; needs `force`."
    )
    beyond_dedup_horizon: int = Field(
        description="Of these: more than 10,000 events came after them, so that their agent may have "
        "forgotten that it worked them; needs `force`."
    )
    assigned: int | None = Field(
        description="Of these, of a dry run that amends: they belong to assignments, and are left out; "
        "redrive them or reassign the assignments."
    )
    removed: int | None = Field(
        description="Of those matched, of a dry run but for discards: their agents are removed, so nobody "
        "would claim them; they are left out, of the counts before too. Discard them."
    )
    capped: bool = Field(description="There are more; ask again for those.")
    total: int = Field(description="How many go.")
    done: int
    skipped: int = Field(
        description="By then they had left quarantine, had gone on in another event, needed `force` or had "
        "lost their agent; or are `unpatched`."
    )
    unpatched: int = Field(
        description="Of these: a merge patch did not fit them, or would have left them as they were."
    )
    patch_fit: PatchFit | None = Field(description="Of a dry run with `merge_patch`.")
    canary: bool = Field(description="One goes first, the rest once that one is completed.")
    canary_event_id: str | None = Field(description="Which one went first.")
    stopped_because: Literal["canary_failed", "canary_late"] | None = Field(
        description="Why the rest stayed in quarantine: the first one failed once more, or was not "
        "completed within ten minutes."
    )
    actor: Actor | None
    created_at: WireInstant | None
    finished_at: WireInstant | None


JOB: dict[str, Any] = {
    "job_id": "job_0198c5b27c3d7e408f1a2b3c4d5e6f71",
    "action": "redrive",
    "state": "running",
    "reason": "The schema has the currency now.",
    "matched": 4783,
    "later_settled": 12,
    "beyond_dedup_horizon": 0,
    "assigned": None,
    "removed": None,
    "capped": False,
    "total": 4771,
    "done": 1200,
    "skipped": 0,
    "unpatched": 0,
    "patch_fit": None,
    "canary": False,
    "canary_event_id": None,
    "stopped_because": None,
    "actor": {"kind": "service", "id": examples.SERVICE_ID},
    "created_at": examples.CREATED_AT,
    "finished_at": None,
}
DRY_RUN = {
    **JOB,
    "job_id": None,
    "state": "dry_run",
    "removed": 0,
    "done": 0,
    "actor": None,
    "created_at": None,
}
PATCH_DRY_RUN = {
    **DRY_RUN,
    "action": "amend",
    "assigned": 0,
    "patch_fit": {
        "looked_at": 100,
        "fits": 97,
        "no_object": 0,
        "unchanged": 3,
        "too_large": 0,
        "first_event_id": examples.EVENT_ID,
    },
}


def shown_job(job: jobs.Job) -> dict[str, Any]:
    """As JSON has it."""
    return {
        "job_id": None if job.job_id is None else encode_id(Prefix.JOB, job.job_id),
        "action": job.action,
        "state": job.state or "dry_run",
        "reason": job.reason or None,
        "matched": job.matched,
        "later_settled": job.later_settled,
        "beyond_dedup_horizon": job.beyond_dedup_horizon,
        "assigned": job.assigned,
        "removed": job.removed,
        "capped": job.capped,
        "total": job.total,
        "done": job.done,
        "skipped": job.skipped,
        "unpatched": job.unpatched,
        "patch_fit": None if job.fit is None else _shown_fit(job.fit),
        "canary": job.canary,
        "canary_event_id": job.canary_event_id,
        "stopped_because": job.stopped_because,
        "actor": job.actor_kind and {"kind": job.actor_kind, "id": job.actor_id},
        "created_at": instant(job.created_at),
        "finished_at": instant(job.finished_at),
    }


def _shown_fit(fit: Fit) -> dict[str, Any]:
    told = asdict(fit)
    first = told.pop("first")
    del told["left_out"]
    return {**told, "first_event_id": first and encode_id(Prefix.EVENT, first)}


@Endpoint(
    method="GET",
    access=having(Right.QUARANTINE_READ, Right.EVENTS_REDRIVE, Right.EVENTS_DISCARD),
    tag=TAG,
    summary="Read a job",
    description="How far it is. It is kept for 30 days after its end.",
    answer=Job,
    answer_examples={"running": JOB},
).route(admin, "/jobs/<job_id>")
def read_job(session: Session, call: Call) -> Reply:
    """One."""
    return Reply(shown_job(jobs.read(session, administrator(call), _id(call))))


@Endpoint(
    method="POST",
    access=having(Right.EVENTS_REDRIVE, Right.EVENTS_DISCARD),
    tag=TAG,
    summary="Cancel a job",
    description="No further event of it goes; what is done stays. Of a job that has ended nothing changes.",
    body=NoBody,
    body_optional=True,
    examples={"plain": {}},
    answer=Job,
    answer_examples={
        "cancelled": {**JOB, "state": "cancelled", "finished_at": examples.LATER},
    },
).route(admin, "/jobs/<job_id>/cancel")
def cancel_job(session: Session, call: Call) -> Reply:
    """No more of it."""
    return Reply(shown_job(jobs.cancel(session, administrator(call), _id(call))))


def _id(call: Call) -> bytes | None:
    return decode_id(Prefix.JOB, call.path["job_id"])
