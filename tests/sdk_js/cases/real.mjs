/** Against a real server: PLACES = {url, plain: {client_id, client_secret}, strict: {…}, p256: {…}, project}. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Agent, Client, MemoryView, NotFound, StaleClaim, Turn } from "restante-agent";

import { inside, quiet } from "./fake.mjs";

const PLACES = JSON.parse(process.env.PLACES);
const { project } = PLACES;
const ODD = { type: "odd", text: 'Grüße \u2028 "quoted" \\ / 日本 🎈 \u0000\u001b', small: -0.1e-7, nested: [[], {}, null, true] };
const base = await mkdtemp(join(tmpdir(), "restante-js-"));
after(() => rm(base, { recursive: true }));

const clientOf = ({ client_id: clientId, client_secret: clientSecret }, options = {}) =>
  new Client({ url: PLACES.url, clientId, clientSecret, stateDir: base, ...options });

test("rung by a publish, handed the payload unchanged, a turn does all or nothing", async () => {
  const client = clientOf(PLACES.plain);
  const seen = [];
  const agent = new Agent(
    client,
    ({ event, generation, fence }) => {
      if (event.type === "follow") return agent.stop();
      seen.push([event.payload, generation, fence]);
      const follow = { recipients: [client.agentId], project, payload: { type: "follow" } };
      return new Turn({ ack: { fence }, publish: [follow], memory: { last: event.event_id } });
    },
    { log: quiet() },
  );
  const running = agent.run({ handleSignals: false });
  while ((await client.stats()).streams < 1) await new Promise((resolve) => setTimeout(resolve, 50));
  const order = { recipients: [client.agentId], project, payload: ODD, ordering_key: "k" };
  const made = await client.publish(order, { idempotencyKey: "once" });
  const again = await client.publish(order, { idempotencyKey: "once" });
  assert.equal(again.replayed, true);
  const { acked, claimed } = await running;
  assert.deepEqual([acked, claimed], [2, 2]);
  assert.deepEqual(seen, [[ODD, 1, 1]]);
  const [{ event_id: eventId }] = made.events;
  assert.deepEqual((await client.receipt(eventId)).result, { fence: 1 });
  const view = new MemoryView();
  await client.catchUp(view);
  assert.equal(view.get(project, "last").value, eventId);
  await assert.rejects(client.release(eventId, 1), (error) => error instanceof StaleClaim && error.reason === "completed");
  assert.match(client.serverVersion, /^\d/);
  await client.close();
});

test("a backlog is worked by ten at once, each key in its order", async () => {
  const client = clientOf(PLACES.backlog, { state: "memory" });
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  const recipients = [client.agentId];
  await client.publish(numbers.map((n) => ({ recipients, project, payload: { type: "n", n }, ordering_key: `k${n % 7}` })));
  const seen = [];
  const handler = ({ event }) => void seen.push(event.payload.n);
  const summary = await new Agent(client, handler, { log: quiet(), concurrency: 10 }).run({ untilEmpty: true });
  assert.equal(summary.acked, 40);
  for (const key of numbers.slice(0, 7)) {
    const mine = seen.filter((n) => n % 7 === key);
    assert.deepEqual(mine, [...mine].sort((a, b) => a - b));
  }
  assert.deepEqual([...seen].sort((a, b) => a - b), numbers);
  await client.close();
});

test("a position in a history that is gone is left for the state's", async () => {
  const client = clientOf(PLACES.plain);
  await client.publish({ recipients: [client.agentId], project, payload: { type: "n" } });
  await (await client.core.state()).reset({ cursor: 1, epoch: "ep_of_another_history" });
  const told = [];
  const recovery = (gone, state) => told.push([gone.reason, state.memory.map(({ key }) => key)]);
  const summary = await new Agent(client, () => null, { log: quiet(), stream: false, recovery }).run({ untilEmpty: true });
  assert.equal(summary.acked, 1);
  assert.deepEqual(told, [["epoch", ["last"]]]);
  assert.notEqual((await (await client.core.state()).position()).epoch, "ep_of_another_history");
  await client.close();
});

for (const [name, algorithm] of [["strict", "ed25519"], ["p256", "ecdsa-p256-sha256"]]) {
  test(`a tenant that wants signatures is given them, by ${algorithm}, and by the same key in the next process`, async () => {
    const { platform } = await inside("platform");
    const known = platform.crypto;
    if (name === "p256") platform.crypto = withoutEd25519(known);
    try {
      for (let process = 0; process < 2; process += 1) {
        const client = clientOf(PLACES[name]);
        await client.publish({ recipients: [client.agentId], project, payload: { type: "n", text: "Grüße" } });
        const { events } = await client.claim({ limit: 5, lease_seconds: 60 });
        assert.equal(events.at(-1).producer.signed, true);
        const stream = await client.subscribe();
        for await (const { kind } of stream) {
          assert.equal(kind, "ready");
          break;
        }
        await assert.rejects(client.event("evt_" + "0".repeat(32)), NotFound);
        const { keys } = await signingKeys(client);
        assert.deepEqual(keys.map((key) => key.algorithm), [algorithm]);
        await client.close();
      }
    } finally {
      platform.crypto = known;
    }
  });
}

/** A call that the client has no method for. */
async function signingKeys(client) {
  const { perform } = await inside("call");
  return perform(client.core, { request: { method: "GET", path: `${client.core.agentPath}/signing-keys` } });
}

function withoutEd25519(known) {
  const generateKey = async (how, ...rest) => {
    if (how.name === "Ed25519") throw new DOMException("Unrecognized name.", "NotSupportedError");
    return known.subtle.generateKey(how, ...rest);
  };
  const subtle = new Proxy(known.subtle, { get: (of, name) => (name === "generateKey" ? generateKey : of[name].bind(of)) });
  return { subtle, getRandomValues: (bytes) => known.getRandomValues(bytes), randomUUID: () => known.randomUUID() };
}
