/** A handler works in its publisher's trace, and what it calls is told; no OpenTelemetry is needed. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Agent, AttemptFailed, Client, ConfigurationError, NotFound } from "restante-agent";

import { AGENT, inside, quiet, stage } from "./fake.mjs";

const { platform } = await inside("platform");

const SENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER = SENT.replace("4bf9", "aaaa");
const OWN = SENT.replace("00f0", "1111");
const NONSENSE = ["nonsense", SENT.toUpperCase(), SENT.replace("00-", "ff-"), `${SENT}\n`, SENT.replace(/-0{2}f.*-/, `-${"0".repeat(16)}-`), 7];

const traces = (inbox, ending) =>
  inbox.requests.filter(({ path }) => path.endsWith(`/${ending}`)).map(({ headers }) => headers.traceparent);

async function work({ client }, handler, options = {}) {
  const agent = new Agent(client, handler, { stream: false, log: quiet(), ...options });
  await agent.run({ untilEmpty: true, handleSignals: false });
}

/** What the fake was sent is looked at. */
async function call(client, eventId = "evt_other") {
  await assert.rejects(client.cancel(eventId, { reason: "not needed" }), NotFound);
}

test("a handler is given its publisher's trace, its calls name it, and what comes again is to be linked", async () => {
  const there = stage();
  there.inbox.publish({ traceparent: SENT });
  const seen = [];
  await work(there, async ({ traceparent, links }) => {
    seen.push([traceparent, links]);
    await call(there.client);
    if (seen.length === 1) throw new AttemptFailed("later", "", { delay_seconds: 0 });
  });
  assert.deepEqual(seen, [[SENT, []], [SENT, [SENT]]]);
  assert.deepEqual(traces(there.inbox, "cancel"), [SENT, SENT]);
  for (const verb of ["claim", "release", "ack"]) assert.deepEqual(new Set(traces(there.inbox, verb)), new Set([undefined]), verb);
});

test("the calls of handlers that run at once do not mix, and an event of no trace has none", async () => {
  const there = stage();
  const sent = [SENT, OTHER, null, "nonsense"];
  for (const traceparent of sent) there.inbox.publish({ traceparent });
  const seen = [];
  let all;
  const together = new Promise((resolve) => (all = resolve));
  const handler = async ({ traceparent, links }) => {
    seen.push([traceparent, links]);
    if (seen.length === sent.length) all();
    await together;
    await call(there.client, `evt_${traceparent}`);
  };
  await work(there, handler, { concurrency: sent.length });
  assert.deepEqual(seen, [[SENT, []], [OTHER, []], [null, []], [null, []]]);
  const called = there.inbox.requests.filter(({ path }) => path.endsWith("/cancel"));
  for (const { path, headers } of called) assert.equal(headers.traceparent ?? "null", /evt_(.+)\/cancel/.exec(path)[1]);
});

test("a call names the trace that its client was given: a text, or what the program says at each", async () => {
  const there = stage({ traceparent: () => now });
  let now = OWN;
  const publish = (client) => client.publish({ recipients: [AGENT], project: "demo", payload: { type: "t" } });
  await publish(there.client);
  now = undefined;
  await publish(there.client);
  await publish(there.client.with({ traceparent: OTHER }));
  for (now of NONSENSE) await publish(there.client);
  assert.deepEqual(traces(there.inbox, "events"), [OWN, undefined, OTHER, ...NONSENSE.map(() => undefined)]);
  there.inbox.publish({ traceparent: SENT });
  for (const one of there.inbox.rows.values()) if (one.event.traceparent !== SENT) one.status = "completed";
  now = OWN;
  await work(there, () => call(there.client));
  assert.deepEqual(traces(there.inbox, "cancel"), [OWN], "a span of its own is nearer than the publisher's");
});

test("what is no traceparent is refused when it is given", () => {
  const { client } = stage();
  for (const traceparent of NONSENSE) {
    assert.throws(() => client.with({ traceparent }), ConfigurationError);
    assert.throws(() => stage({ traceparent }), ConfigurationError);
  }
  assert.ok(new Client({ url: "https://inbox.example", agentId: AGENT, token: async () => ({}), traceparent: SENT }));
});

test("where nothing follows a handler's calls, as in a page, it hands its trace on itself", async () => {
  const there = stage();
  there.inbox.publish({ traceparent: SENT });
  const { handled } = platform;
  platform.handled = { run: (_, made) => made(), current: () => null };
  try {
    await work(there, async ({ traceparent }) => {
      await call(there.client);
      await call(there.client.with({ traceparent }));
    });
  } finally {
    platform.handled = handled;
  }
  assert.deepEqual(traces(there.inbox, "cancel"), [undefined, SENT]);
});
