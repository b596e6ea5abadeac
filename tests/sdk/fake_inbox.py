"""An inbox that keeps the contract's fences in memory, for tests of the agent's side.

It answers as a server does (status, headers, body), so the same object stands behind
`httpx2.MockTransport` and behind a real socket. It has no priorities and no scopes beyond names.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from threading import RLock
from typing import Any
from urllib.parse import parse_qs

from tests.sdk.fake_answers import AGENT, SECRET, STATS, Reply, Row, problem


class FakeInbox:
    """`now` is the server's clock. `before` is called with each request and may answer instead."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.rows: dict[str, Row] = {}
        self.lock = RLock()
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.before: Callable[[str, str, Any], Reply | None] = lambda *_: None
        self.after: Callable[[str, str, Reply], Reply | None] = lambda *_: None
        self.claims: dict[str, list[tuple[str, int]]] = {}
        self.epoch, self.head, self.oldest = "ep_1", 0, 0
        self.tokens_issued = 0
        self.rejected_tokens: set[str] = set()
        self.token_seconds = 600
        self.next_poll_ms = 1000
        self.has_state = False
        self.keys: dict[str, tuple[str, dict[str, Any]]] = {}
        self.rung: Callable[[], None] = lambda: None

    def publish(self, payload: Any = None, **members: Any) -> str:
        with self.lock:
            self.head += 1
            event_id = f"evt_{self.head:032x}"
            event = {
                "event_id": event_id,
                "sequence_number": self.head,
                "project": members.pop("project", "demo"),
                "type": members.pop("type", "note"),
                "payload": {"n": self.head} if payload is None else payload,
                "priority": 0,
                "attempts": 0,
                "max_attempts": 5,
                "ordering_key": members.pop("ordering_key", None),
                "created_at": "2026-01-01T00:00:00.000000Z",
                **members,
            }
            self.rows[event_id] = Row(event)
        self.rung()
        return event_id

    def statuses(self) -> dict[str, str]:
        with self.lock:
            return {event_id: row.status for event_id, row in self.rows.items()}

    def all_completed(self) -> bool:
        return set(self.statuses().values()) <= {"completed"}

    def count(self, ending: str) -> int:
        """Requests whose path ends so."""
        return sum(1 for _, path, _, _ in list(self.requests) if path.endswith(ending))

    def handle(
        self, method: str, path: str, query: str, headers: dict[str, str], content: bytes
    ) -> Reply:
        with self.lock:
            if path == "/oauth/token":
                body: Any = {k: v[0] for k, v in parse_qs(content.decode()).items()}
            else:
                body = json.loads(content) if content else None
            self.requests.append((method, path, headers, body))
            reply = self.before(method, path, body)
            if reply is None:
                reply = self._answer(method, path, query, headers, body)
            return self.after(method, path, reply) or reply

    def _answer(
        self, method: str, path: str, query: str, headers: dict[str, str], body: Any
    ) -> Reply:
        if path == "/oauth/token":
            return self._token(headers, body)
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if not token.startswith("token-") or token in self.rejected_tokens:
            return problem(401, "unauthenticated")
        parameters = {name: values[0] for name, values in parse_qs(query).items()}
        if path == "/api/v1/events" and method == "POST":
            return self._publish(headers, body)
        rest = path.removeprefix(f"/api/v1/agents/{AGENT}")
        routes: dict[str, Callable[[], Reply]] = {
            "/inbox": lambda: self._read(parameters),
            "/inbox/claim": lambda: self._claim(body),
            "/inbox/claims": lambda: (200, {}, {"events": self._live(parameters.get("consumer"))}),
            "/inbox/release": lambda: self._release_all(body),
            "/inbox/settle": lambda: self._settle_all(body),
            "/inbox/stats": lambda: (200, {}, self._stats()),
            "/state": self._state,
        }
        if rest in routes:
            return routes[rest]()
        if match := re.fullmatch(r"/inbox/(evt_\w+)/(ack|release|reject|renew)", rest):
            return self._settle(match[1], match[2], body)
        if (match := re.fullmatch(r"/inbox/(evt_\w+)", rest)) and match[1] in self.rows:
            return 200, {}, self._shown(self.rows[match[1]])
        return problem(404, "not-found")

    def _state(self) -> Reply:
        if not self.has_state:
            return problem(404, "not-found")
        return 200, {}, {"cursor": self.head, "epoch": self.epoch, "memory_revision": 7}

    def _token(self, headers: dict[str, str], body: dict[str, str]) -> Reply:
        pair = base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode()
        if pair != f"{AGENT}:{SECRET}":
            return 401, {}, {"error": "invalid_client", "error_description": "unknown client"}
        self.tokens_issued += 1
        token = f"token-{self.tokens_issued}"
        seconds = self.token_seconds
        return 200, {}, {"access_token": token, "token_type": "Bearer", "expires_in": seconds}

    def _publish(self, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        key, text = headers["idempotency-key"], json.dumps(body)
        if key in self.keys:
            if self.keys[key][0] != text:
                return problem(422, "idempotency-key-reused")
            return 201, {"idempotency-replayed": "true"}, self.keys[key][1]
        made = []
        for one in body.get("events", [body]):
            for recipient in one["recipients"]:
                event_id = self.publish(
                    one["payload"], type=one.get("type", "note"), project=one["project"]
                )
                made.append(
                    {
                        "event_id": event_id,
                        "recipient_id": recipient,
                        "sequence_number": self.head,
                        "status": "pending",
                        "reachability": {"mode": "away", "pending": 1},
                    }
                )
        self.keys[key] = (text, {"events": made})
        return 201, {}, {"events": made}

    def _gone(self, cursor: object, epoch: object) -> Reply | None:
        if epoch is not None and epoch != self.epoch:
            lost: Any = None
        elif cursor is not None and not self.oldest <= int(str(cursor)) <= self.head:
            lost = {"from": 1, "to": self.oldest, "count": self.oldest, "unsettled": 1}
        else:
            return None
        return problem(
            410,
            "cursor-gone",
            reason="retention" if lost else "epoch",
            oldest_cursor=self.oldest,
            head=self.head,
            epoch=self.epoch,
            lost=lost,
            state_url=f"/api/v1/agents/{AGENT}/state",
        )

    def _read(self, query: dict[str, str]) -> Reply:
        after = int(query.get("after_cursor", self.oldest))
        if gone := self._gone(after, query.get("epoch")):
            return gone
        limit = int(query.get("limit", 10))
        rows = [r for r in self.rows.values() if r.event["sequence_number"] > after]
        page = [self._shown(row) for row in rows[:limit]]
        body = {
            "events": page,
            "next_cursor": page[-1]["sequence_number"] if page else after,
            "has_more": len(rows) > limit,
            "claimable": len(self._claimable()),
            "epoch": self.epoch,
            "next_poll_ms": self.next_poll_ms,
        }
        return 200, {"etag": f'W/"{self.head}"'}, body

    def _claimable(self) -> list[Row]:
        self._run_timers()
        busy, found = set(), []
        for row in self.rows.values():
            key = row.event["ordering_key"]
            if row.status in ("pending", "claimed") and key is not None:
                if key in busy:
                    continue
                busy.add(key)
            if row.status == "pending" and row.due <= self.now():
                found.append(row)
        return found

    def _run_timers(self) -> None:
        for row in self.rows.values():
            if row.status == "claimed" and row.deadline <= self.now():
                self._end(row, "lease_expired", failed=True)

    def _end(self, row: Row, how: str, *, failed: bool) -> None:
        if row.event.get("cancel_requested"):
            row.status, row.consumer = "cancelled", None
            return
        over = failed and row.event["attempts"] >= row.event["max_attempts"]
        row.status = "quarantined" if over else "pending"
        row.consumer, row.ended_as = None, how

    def _claim(self, body: dict[str, Any]) -> Reply:
        if gone := self._gone(body.get("after_cursor"), body.get("epoch")):
            return gone
        claim_id = body["claim_id"]
        answer = {"claim_id": claim_id, "claimable": 0, "next_poll_ms": self.next_poll_ms}
        if claim_id in self.claims:
            live = {e["event_id"]: e for e in self._live(body.get("consumer"))}
            events = [live[i] for i, g in self.claims[claim_id] if i in live]
            return 200, {}, {**answer, "events": events, **({} if events else {"spent": True})}
        taken = self._claimable()[: body["limit"]]
        for row in taken:
            row.generation += 1
            row.event["attempts"] += 1
            row.status, row.consumer = "claimed", body.get("consumer")
            row.deadline = self.now() + body.get("lease_seconds", 60)
        if taken:
            self.claims[claim_id] = [(r.event["event_id"], r.generation) for r in taken]
        answer["claimable"] = len(self._claimable())
        return 200, {}, {**answer, "events": [self._shown(row) for row in taken]}

    def _live(self, consumer: str | None) -> list[dict[str, Any]]:
        self._run_timers()
        held = [r for r in self.rows.values() if r.status == "claimed"]
        return [self._shown(r) for r in held if consumer in (None, r.consumer)]

    def _release_all(self, body: dict[str, Any]) -> Reply:
        held = [r for r in self.rows.values() if r.status == "claimed"]
        mine = [r for r in held if r.consumer == body["consumer"]]
        for row in mine:
            row.event["attempts"] -= 1
            self._end(row, "released", failed=False)
        return 200, {}, {"released": len(mine)}

    def _settle_all(self, body: dict[str, Any]) -> Reply:
        results = []
        for verb, orders in body.items():
            for order in orders:
                status, _, said = self._settle(order["event_id"], verb, order)
                settled = said if status == 200 else {"problem": said}
                results.append({"event_id": order["event_id"], **settled})
        return 200, {}, {"results": results}

    def _settle(self, event_id: str, verb: str, body: dict[str, Any]) -> Reply:
        row = self.rows.get(event_id)
        if row is None:
            return problem(404, "not-found")
        self._run_timers()
        generation = body["claim_generation"]
        if row.status == "completed" and verb == "ack" and generation == row.generation:
            return 200, {}, {"event_id": event_id, "status": "completed"}
        if row.status != "claimed" or generation != row.generation:
            reason = {"pending": row.ended_as, "claimed": "reclaimed"}.get(row.status, row.status)
            return problem(409, "stale-claim", reason=reason, current_generation=row.generation)
        row.effects.append(verb)
        if verb == "ack":
            row.status, row.result = "completed", body.get("result")
            return 200, {}, {"event_id": event_id, "status": "completed"}
        if verb == "renew":
            seconds = body.get("lease_seconds", 60)
            row.deadline = self.now() + seconds
            cancel = bool(row.event.get("cancel_requested"))
            return 200, {}, {"lease_remaining_ms": seconds * 1000, "cancel_requested": cancel}
        if verb == "reject":
            row.status = "quarantined"
            return 200, {}, {"status": "quarantined"}
        error = body.get("error")
        row.last_error = error or row.last_error
        row.event["attempts"] -= 0 if error else 1
        row.due = self.now() + body.get("delay_seconds", 0)
        self._end(row, "released", failed=error is not None)
        return 200, {}, {"status": row.status, "not_before": None}

    def _stats(self) -> dict[str, Any]:
        statuses = list(self.statuses().values())
        lie = {status: statuses.count(status) for status in ("pending", "claimed", "quarantined")}
        place = {"head": self.head, "oldest_cursor": self.oldest, "epoch": self.epoch}
        return {**STATS, **lie, **place, "claimable": len(self._claimable())}

    def _shown(self, row: Row) -> dict[str, Any]:
        shown = {**row.event, "status": row.status, "claim_generation": row.generation}
        shown["lease_remaining_ms"] = max(0, round((row.deadline - self.now()) * 1000))
        shown["fence"] = row.generation if row.event["ordering_key"] else None
        if row.status == "completed":
            shown["payload"] = None
        return {**shown, "result": row.result, "last_error": row.last_error, "unheard_of": True}
