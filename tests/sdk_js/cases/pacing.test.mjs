/** When to look, when to come back, when to renew: the rules without anything around them. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { RateLimited, Unreachable } from "restante-agent";

import { inside } from "./fake.mjs";

const { Pacing } = await inside("pacing");
const { Reconnecting } = await inside("reconnect");
const { waitBefore, DEFAULT_RETRY } = await inside("retry");

const claim = (members = {}) => ({ events: [], claimable: 0, ...members });
const limited = (seconds) => new RateLimited({ slug: "rate-limited", status: 429, retry_after_seconds: seconds, members: {} });
const ends = [() => 0, () => 1];

test("without a stream it looks after 1 s, doubling to 5 min, and after an event at 1 s again", () => {
  const pacing = new Pacing({ random: ends[0], now: 0 });
  const waits = [];
  for (let now = 0; waits.length < 11; ) {
    pacing.asking();
    pacing.answered(claim(), { asked: 1, now });
    waits.push(pacing.dueAt() - now);
    now = pacing.dueAt();
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  pacing.asking();
  pacing.answered(claim({ events: [{}] }), { asked: 2, now: 5000 });
  assert.equal(pacing.dueAt(), 5001);
});

test("next_poll_ms and Retry-After are never undercut, and spread upwards", () => {
  for (const random of ends) {
    const pacing = new Pacing({ random, now: 0 });
    pacing.answered(claim({ next_poll_ms: 20_000 }), { asked: 1, now: 0 });
    assert.ok(pacing.dueAt() >= 20 && pacing.dueAt() <= 24);
    pacing.failed(limited(30), { now: 100 });
    pacing.ring();
    assert.ok(pacing.dueAt() >= 130 && pacing.dueAt() <= 136, "a ring does not go before what the server asked");
  }
});

test("a ring is looked at now, one that is asked for already is not, and a lost stream soon", () => {
  const pacing = new Pacing({ random: ends[0], now: 0 });
  pacing.streamOpened();
  pacing.asking();
  pacing.answered(claim(), { asked: 1, now: 0 });
  assert.equal(pacing.dueAt(), 300);
  pacing.ring();
  assert.equal(pacing.dueAt(), -Infinity);
  pacing.asking();
  assert.equal(pacing.dueAt(), 300);
  pacing.streamLost(10);
  assert.equal(pacing.dueAt(), 11);
});

test("failures wait with full jitter up to a minute", () => {
  const pacing = new Pacing({ random: ends[1], now: 0 });
  const waits = Array.from({ length: 9 }, () => {
    pacing.failed(new Unreachable("away"), { now: 0 });
    return pacing.dueAt();
  });
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

test("a stream is opened again with full jitter, anew once it was good, and later when it was replaced", () => {
  const policy = new Reconnecting({ random: ends[1] });
  const losses = Array.from({ length: 8 }, () => policy.afterLoss());
  assert.deepEqual(losses, [1, 2, 4, 8, 16, 32, 60, 60]);
  policy.ready({ heartbeat_seconds: 2 });
  assert.equal(policy.afterLoss(), 60, "ready alone proves nothing: a proxy may have cut it");
  policy.proven();
  assert.equal(policy.afterLoss({ retryMs: 3000 }), 3);
  assert.equal(policy.silenceSeconds, 5);
  assert.equal(new Reconnecting({ random: ends[0] }).afterLoss(), 0);
  assert.equal(policy.afterLoss({ error: limited(40) }), 50);
  assert.equal(policy.afterGoodbye({ reason: "shutdown", retry_after_ms: 4000 }), 5);
  assert.equal(policy.afterGoodbye({ reason: "replaced", retry_after_ms: 0 }), 120);
});

test("a call is repeated within its budget, and never what is not to be", () => {
  const of = (error, attempt, waitedSeconds = 0) => waitBefore(DEFAULT_RETRY, attempt, error, { waitedSeconds, random: ends[1] });
  assert.deepEqual([1, 2, 3, 4, 5, 6].map((attempt) => of(new Unreachable("away"), attempt)), [0.5, 1, 2, 4, 8, null]);
  assert.equal(of(limited(50), 1), null, "62.5 s are beyond the budget of a minute");
  assert.equal(of(limited(10), 1, 55), null);
  assert.equal(of(Object.assign(limited(1), { retryable: false }), 1), null);
});
