/** A server that does not answer: a run until the inbox is empty ends, any other asks for ever. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Agent, ConfigurationError, ServerFailure, Unreachable } from "restante-agent";

import { broken, problem, quiet, stage } from "./fake.mjs";

const agentOf = ({ client }, handler = () => null) => new Agent(client, handler, { stream: false, log: quiet() });
const untilEmpty = (there, options = {}) => agentOf(there).run({ untilEmpty: true, handleSignals: false, ...options });

test("a run until the inbox is empty gives up a server that does not answer for a minute", async () => {
  const there = stage();
  there.inbox.before = broken;
  const began = there.clock.seconds;
  await assert.rejects(untilEmpty(there), Unreachable);
  const waited = there.clock.seconds - began;
  assert.ok(waited > 10 && waited < 70, `${waited} s`);
});

test("a wait that the server names is not cut short to fit in, and patience is no negative number", async () => {
  const there = stage();
  there.inbox.before = ({ path }) => (path.endsWith("/claim") ? problem(503, "overloaded", {}, { "retry-after": "90" }) : null);
  await assert.rejects(untilEmpty(there), ServerFailure);
  assert.equal(there.inbox.count("/claim"), 1);
  await assert.rejects(untilEmpty(there, { giveUpSeconds: -1 }), ConfigurationError);
});

test("an outage that is shorter is waited out, and a run without an end asks for ever", async () => {
  const there = stage();
  there.inbox.publish();
  let tries = 0;
  there.inbox.before = ({ path }) => (path.endsWith("/claim") && tries++ < 4 ? broken() : null);
  assert.equal((await untilEmpty(there)).acked, 1);
  const agent = agentOf(there);
  there.inbox.before = () => {
    tries += 1;
    if (tries > 200) agent.stop();
    return broken();
  };
  await agent.run({ handleSignals: false });
  assert.ok(tries > 200);
});
