/** The runner: what handlers come to, leases, repeats, 410, access that is withdrawn. */
import assert from "node:assert/strict";
import { test } from "node:test";

import * as restante from "restante-agent";
import { Ack, Agent, AttemptFailed, Reject, Release, Turn } from "restante-agent";

import { AGENT, broken, ok, problem, quiet, stage } from "./fake.mjs";

/** A run until the inbox is empty. */
async function run({ client }, handler, options = {}) {
  const log = quiet();
  const agent = new Agent(client, handler, { stream: false, log, ...options });
  const summary = await agent.run({ untilEmpty: true, handleSignals: false });
  return { summary, log };
}

const verb = (inbox, ending) => inbox.requests.filter(({ path }) => path.endsWith(`/${ending}`)).map(({ body }) => body);

test("an event is handled with its fences and acked with the result", async () => {
  const there = stage();
  const eventId = there.inbox.publish({ payload: { text: "Grüße 🎈" } });
  const seen = [];
  const { summary } = await run(there, (delivery) => {
    seen.push([delivery.event.payload.text, delivery.generation, delivery.fence, delivery.stopped]);
    assert.ok(delivery.leaseRemainingMs > 59_000);
    return { heard: true };
  });
  assert.deepEqual(seen, [["Grüße 🎈", 1, null, false]]);
  assert.deepEqual([summary.claimed, summary.acked], [1, 1]);
  assert.deepEqual(there.inbox.row(eventId).result, { heard: true });
});

test("what a handler returns or throws says how the event ends", async () => {
  const there = stage();
  const ends = [
    () => undefined,
    () => new Ack({ n: 1 }),
    () => new Reject("never"),
    () => {
      throw new RangeError("too far");
    },
    () => {
      throw new AttemptFailed("no_stock", "none left", { outcome: "none", delay_seconds: 1000 });
    },
    () => new Release({ delay_seconds: 1000 }),
    () => 7,
    () => ({ text: "x".repeat(9000) }),
  ];
  const ids = ends.map((_, number) => there.inbox.publish({ payload: { number } }));
  const again = new Set();
  const { summary } = await run(there, ({ event }) => {
    if (again.has(event.event_id)) return null;
    again.add(event.event_id);
    return ends[event.payload.number]();
  });
  const [, one, never, , named, later, , large] = ids.map((id) => there.inbox.row(id));
  assert.deepEqual(one.result, { n: 1 });
  assert.deepEqual([never.status, never.reason], ["quarantined", "never"]);
  assert.deepEqual(named.error, { code: "no_stock", message: "none left", outcome: "none" });
  assert.equal(later.status, "pending");
  assert.equal(large.result, undefined, "a result that cannot be kept does not undo the work");
  const codes = verb(there.inbox, "release").map(({ error }) => error?.code);
  assert.deepEqual(codes, ["RangeError", "no_stock", undefined, "handler_result"]);
  assert.deepEqual([summary.acked, summary.rejected, summary.failed, summary.released], [5, 1, 3, 1]);
});

test("a result that the server refuses does not undo the work, now or at the next start", async () => {
  const there = stage();
  const eventId = there.inbox.publish();
  there.inbox.before = ({ path, body }) => (path.endsWith("/ack") && body.result ? problem(400, "malformed-json") : null);
  const { summary } = await run(there, () => ({ half: "\uD800" }));
  assert.deepEqual([summary.acked, there.inbox.row(eventId).status], [1, "completed"]);
  assert.deepEqual(verb(there.inbox, "ack").map(({ result }) => result ?? null), [{ half: "\uD800" }, null]);
  const thrown = there.inbox.publish();
  const failing = await run(there, () => {
    throw new AttemptFailed("odd", "half of \uD83D", { delay_seconds: 1000 });
  });
  assert.equal(failing.summary.failed, 1);
  assert.equal(there.inbox.row(thrown).error.message, "half of \uFFFD");
});

test("an event that was finished before is acked without work", async () => {
  const there = stage();
  const eventId = there.inbox.publish();
  let lost = 0;
  there.inbox.before = ({ path }) => (path.endsWith("/ack") && lost++ < 1 ? broken() : null);
  let worked = 0;
  const handler = () => ({ times: ++worked });
  there.client.core.retry = restante.NO_RETRY;
  await run(there, handler);
  Object.assign(there.inbox.row(eventId), { status: "pending", result: null });
  const { summary } = await run(there, handler);
  assert.equal(worked, 1);
  assert.equal(summary.known, 1);
  assert.deepEqual(there.inbox.row(eventId).result, { times: 1 });
});

test("a lease is renewed before half of it is gone, with the progress", async () => {
  const there = stage();
  const eventId = there.inbox.publish();
  await run(there, async (delivery) => {
    delivery.report({ step: 1 });
    await there.clock.sleep(200);
  });
  const row = there.inbox.row(eventId);
  assert.equal(row.status, "completed");
  assert.deepEqual(row.progress, { step: 1 });
  const times = there.inbox.requests.filter(({ path }) => /renew|claim$/.test(path)).map(({ at }) => at);
  for (const [index, at] of times.slice(1).entries()) assert.ok(at - times[index] < 30, `${at - times[index]} s`);
  assert.ok(row.effects.filter((effect) => effect === "renew").length >= 6);
});

test("many leases are renewed by one call, and a renewal that failed is tried again before half is gone", async () => {
  const there = stage();
  for (let n = 0; n < 3; n += 1) there.inbox.publish();
  let failures = 2;
  there.inbox.before = ({ path }) => (path.endsWith("/settle") && failures-- > 0 ? problem(503, "overloaded") : null);
  const { summary } = await run(there, () => there.clock.sleep(40), { concurrency: 3 });
  assert.equal(summary.acked, 3);
  const renewals = there.inbox.requests.filter(({ path }) => path.endsWith("/settle"));
  assert.ok(renewals.length >= 3 && renewals[2].at - 1000 < 30);
  assert.equal(renewals[0].body.renew.length, 3);
});

test("a handler whose lease is lost is told by its signal, and settles nothing", async () => {
  const there = stage();
  const eventId = there.inbox.publish();
  there.inbox.before = ({ path }) => {
    if (path.endsWith("/renew")) there.inbox.row(eventId).status = "cancelled";
    return null;
  };
  const reasons = [];
  const { summary } = await run(there, async ({ signal }) => {
    await there.clock.sleep(100, signal);
    reasons.push(signal.reason.reason);
    signal.throwIfAborted();
  });
  assert.deepEqual(reasons, ["lease_lost"]);
  assert.equal(summary.stopped, 1);
  assert.deepEqual(there.inbox.row(eventId).effects, []);
});

test("a lease that nobody could renew is over by the own clock", async () => {
  const there = stage();
  there.inbox.publish();
  there.inbox.before = ({ path }) => (path.endsWith("/renew") ? broken() : null);
  const reasons = [];
  await run(there, async (delivery) => {
    if (reasons.length) return;
    await there.clock.sleep(1000, delivery.signal);
    reasons.push([delivery.stopReason, there.clock.now()]);
    delivery.throwIfStopped();
  });
  assert.equal(reasons[0][0], "lease_expired");
  assert.ok(reasons[0][1] >= 1060 && reasons[0][1] < 1066);
});

test("a cancel that is asked for stops the handler; what it gives back is not a failure", async () => {
  const there = stage();
  const eventId = there.inbox.publish();
  there.inbox.row(eventId).cancel = true;
  const { summary } = await run(there, async (delivery) => {
    if (delivery.generation > 1) return;
    await there.clock.sleep(1000, delivery.signal);
    delivery.throwIfStopped();
  });
  assert.equal(summary.released, 1);
  assert.equal(verb(there.inbox, "release")[0].error, undefined);
});

test("stop lets handlers finish, and gives back what does not", async () => {
  const there = stage();
  const [quick, slow] = [there.inbox.publish({ payload: { s: 5 } }), there.inbox.publish({ payload: { s: 1e6 } })];
  const agent = new Agent(
    there.client,
    async ({ event }) => {
      if (event.event_id === slow) agent.stop();
      await there.clock.sleep(event.payload.s);
    },
    { stream: false, concurrency: 2, drainSeconds: 20, log: quiet() },
  );
  const summary = await agent.run({ handleSignals: false });
  assert.equal(there.inbox.row(quick).status, "completed");
  assert.equal(there.inbox.row(slow).status, "pending");
  assert.equal(there.inbox.count("/inbox/release"), 1);
  assert.deepEqual([summary.claimed, summary.acked], [2, 1]);
  assert.ok(there.clock.now() < 1030);
});

test("what an earlier run of this consumer held is settled first: known acked, begun failed", async () => {
  const there = stage();
  const ids = [there.inbox.publish(), there.inbox.publish()];
  await there.client.claim({ limit: 2, consumer: "one", lease_seconds: 600 });
  await there.state.add(ids[0], { done: 1 });
  await run(there, () => null, { consumer: "one" });
  assert.deepEqual(there.inbox.row(ids[0]).result, { done: 1 });
  assert.equal(verb(there.inbox, "release")[0].error.code, "consumer_lost");
});

test("a claim whose answer was lost is asked for again under its claim_id", async () => {
  const there = stage();
  there.inbox.publish();
  let lost = false;
  there.inbox.after = ({ path }, reply) => (path.endsWith("/claim") && !lost ? ((lost = true), broken()) : reply);
  const { summary } = await run(there, () => null);
  const ids = verb(there.inbox, "claim").map(({ claim_id }) => claim_id);
  assert.equal(ids[0], ids[1]);
  assert.notEqual(ids[1], ids[2]);
  assert.equal(summary.acked, 1);
});

test("a cursor that is gone is never repeated: the whole state once, with its memory, then on from there", async () => {
  const there = stage();
  there.inbox.publish();
  await there.state.reset({ cursor: 1, epoch: "ep_0" });
  const entry = (key, version) => ({ project: "demo", key, version, value: version, deleted: false });
  const pages = [
    { cursor: 1, epoch: "ep_1", memory_revision: 2, memory: [entry("a", 1)], next_page_token: "p2" },
    { memory: [entry("b", 2), entry("a", 3)] },
  ];
  there.inbox.before = ({ path, query }) => {
    if (path.endsWith("/state")) return ok(pages[query.get("page_token") ? 1 : 0]);
    if (!path.endsWith("/memory")) return null;
    assert.equal(query.get("after_revision"), "2");
    return ok({ entries: [entry("c", 4)], memory_revision: 4, has_more: false });
  };
  const told = [];
  await run(there, () => null, { recovery: (gone, state) => told.push([gone.lost.count, state]) });
  const [[lost, state]] = told;
  assert.equal(lost, 0);
  assert.deepEqual(state.memory.map(({ key, version }) => [key, version]).sort(), [["a", 3], ["b", 2], ["c", 4]]);
  assert.equal(state.memory_revision, 4);
  assert.deepEqual(verb(there.inbox, "claim").map(({ epoch }) => epoch).slice(0, 2), ["ep_0", "ep_1"]);
  assert.deepEqual(await there.state.position(), { cursor: 1, epoch: "ep_1" });
});

test("a turn is one call under a key of its claim, and a refused one a failed attempt", async () => {
  const there = stage();
  const eventId = there.inbox.publish();
  const answers = [broken, () => problem(409, "turn-conflict", { failures: [{ part: "memory", index: 0, problem: {} }] })];
  there.inbox.before = ({ path }) => (path.endsWith("/turn") ? answers.shift()() : null);
  const { summary } = await run(there, (delivery) => {
    if (delivery.generation > 1) return null;
    const publish = [{ recipients: [AGENT], project: "demo", payload: { type: "next" } }];
    return new Turn({ ack: { a: 1 }, publish, memory: { seen: 1, old: null } });
  });
  const turns = there.inbox.requests.filter(({ path }) => path.endsWith("/turn"));
  assert.deepEqual(new Set(turns.map(({ headers }) => headers["idempotency-key"])), new Set([`turn-${eventId}-1`]));
  assert.deepEqual(turns[0].body.ack, [{ event_id: eventId, claim_generation: 1, result: { a: 1 } }]);
  assert.deepEqual(turns[0].body.memory[1], { project: "demo", key: "old", value: null });
  const scope = "scope=agent%3Ademo%3Aclaim+agent%3Ademo%3Amemory+agent%3Ademo%3Apublish";
  assert.ok(there.inbox.requests.some(({ path, body }) => path === "/oauth/token" && body.includes(scope)));
  assert.equal(verb(there.inbox, "release")[0].error.code, "turn_conflict");
  assert.deepEqual([summary.failed, summary.acked], [1, 1]);
});

test("access that is taken away is waited out and said once; what was never let in ends", async () => {
  const there = stage();
  const log = quiet();
  let refused = 0;
  const agent = new Agent(there.client, () => null, { stream: false, log });
  there.inbox.before = ({ path }) => {
    if (!path.endsWith("/claim") || there.inbox.count("/claim") === 1) return null;
    refused += 1;
    if (refused < 5) return problem(403, "insufficient-scope", { required_scope: "agent:demo:claim" });
    if (refused === 6) agent.stop();
    return null;
  };
  await agent.run({ handleSignals: false });
  assert.deepEqual(log.said.map((text) => text.split(":")[0]), ["access-lost", "access-back"]);
  there.inbox.before = ({ path }) => (path.endsWith("/claim") ? problem(403, "insufficient-scope") : null);
  await assert.rejects(new Agent(there.client, () => null, { stream: false, log }).run({ handleSignals: false }), restante.InsufficientScope);
});

test("a run until all is done does not wait for access", async () => {
  const there = stage();
  there.inbox.publish();
  there.inbox.before = ({ path }) => {
    const shut = path.endsWith("/claim") && there.inbox.count("/claim") > 1;
    return shut ? problem(403, "insufficient-scope", { required_scope: "agent:demo:claim" }) : null;
  };
  await assert.rejects(run(there, () => null), restante.InsufficientScope);
  assert.equal(there.inbox.count("/ack"), 1);
});

test("of several projects the one that is shut is left out, and asked for again a minute later", async () => {
  const there = stage();
  const asked = [];
  const agent = new Agent(there.client, () => null, { stream: false, projects: ["a", "b"], log: quiet() });
  there.inbox.before = ({ path, body, at }) => {
    if (!path.endsWith("/claim")) return null;
    asked.push([body.projects.join(), at]);
    if (asked.length === 1 || !body.projects.includes("b")) return null;
    if (asked.length > 4) agent.stop();
    return problem(403, "insufficient-scope", { required_scope: "agent:b:claim" });
  };
  await agent.run({ handleSignals: false });
  assert.deepEqual(asked.slice(0, 3).map(([projects]) => projects), ["a,b", "a,b", "a"]);
  const again = asked.slice(3).find(([projects]) => projects === "a,b");
  assert.ok(again[1] - asked[1][1] >= 48);
});

test("pages are read by cursor, kept when the next is asked for, and go on after a 410", async () => {
  const there = stage();
  const page = (cursor, count, epoch) =>
    ok({ events: Array.from({ length: count }, () => ({})), next_cursor: cursor, has_more: count > 0, epoch, claimable: 0 });
  const answers = [page(5, 2, "ep_0"), there.inbox.gone(), page(9, 1, "ep_1"), page(9, 0, "ep_1")];
  there.inbox.before = ({ path }) => {
    if (path.endsWith("/inbox")) return answers.shift();
    return path.endsWith("/state") ? ok({ cursor: 8, epoch: "ep_1" }) : null;
  };
  const kept = [];
  const keep = async (position) => kept.push(`${position.epoch} ${position.cursor}`);
  const sizes = [];
  for await (const { events } of restante.pages(there.client, { follow: false, keep })) {
    sizes.push([events.length, kept.length]);
  }
  assert.deepEqual(sizes, [[2, 0], [1, 2]]);
  assert.deepEqual(kept, ["ep_0 5", "ep_1 8", "ep_1 9", "ep_1 9"]);
});
