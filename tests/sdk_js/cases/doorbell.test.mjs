/** The doorbell: frames from a fetch, its silence, coming back, and one stream for the pages of an origin. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Agent, NO_RETRY, TimedOut, UnexpectedAnswer } from "restante-agent";

import { inside, problem, quiet, stage } from "./fake.mjs";

const { Board } = await inside("board");
const { SharedDoorbell } = await inside("shared_doorbell");

const frame = (kind, data = {}) => `event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
const READY = frame("ready", { epoch: "ep_1", head: 0, claimable: 0, heartbeat_seconds: 2 });

/** An answer whose bytes come as they are said; `end` closes it. */
function streamOf(signal, chunks = []) {
  let controls;
  const body = new ReadableStream({ start: (given) => (controls = given) });
  const say = (text) => controls.enqueue(new TextEncoder().encode(text));
  chunks.forEach(say);
  signal.addEventListener("abort", () => controls.error(signal.reason));
  const answer = new Response(body, { headers: { "content-type": "text/event-stream" } });
  return { answer, say, end: () => controls.close() };
}

test("frames come however the bytes are cut; unknown ones and comments do no harm", async () => {
  const { inbox, client } = stage();
  const text = `: hello\r\nretry: 2500\r\n\r\n${READY}${frame("heard_of_later")}event: inbox_updated\r\ndata: {"cursor_hint":\r\ndata: 7}\r\n\r\n`;
  inbox.before = ({ path, signal }) => {
    if (!path.endsWith("/subscribe")) return null;
    const stream = streamOf(signal, [...text]);
    stream.end();
    return stream.answer;
  };
  const stream = await client.subscribe();
  const frames = [];
  for await (const one of stream) frames.push(one);
  assert.deepEqual(frames.map(({ kind }) => kind), ["ready", "unknown", "inbox_updated"]);
  assert.equal(frames[2].cursor_hint, 7);
  assert.equal(stream.retryMs, 2500);
  const { headers, path } = inbox.requests.at(-1);
  assert.ok(headers.authorization.startsWith("Bearer ") && !path.includes("token"));
});

test("a stream that falls silent is given up, and what is no stream is said to be none", async () => {
  const { inbox, client } = stage();
  inbox.before = ({ path, signal }) => (path.endsWith("/subscribe") ? streamOf(signal, [READY]).answer : null);
  const seen = [];
  await assert.rejects(async () => {
    for await (const { kind } of await client.subscribe({ silenceSeconds: 5 })) seen.push(kind);
  }, TimedOut);
  assert.deepEqual(seen, ["ready"]);
  inbox.before = ({ path }) => (path.endsWith("/subscribe") ? { status: 200, body: {} } : null);
  await assert.rejects(async () => {
    for await (const { kind } of await client.subscribe()) seen.push(kind);
  }, UnexpectedAnswer);
});

test("a ring is answered by a claim; a silent stream is missed after 2.5 heartbeats and opened again", async () => {
  const there = stage();
  const { inbox, clock } = there;
  const opened = [];
  const agent = new Agent(there.client, () => agent.stop(), { log: quiet() });
  inbox.nextPollMs = 300_000;
  inbox.before = ({ path, signal, at }) => {
    if (!path.endsWith("/subscribe")) return null;
    opened.push(at);
    const stream = streamOf(signal, [READY]);
    if (opened.length === 2) {
      clock.sleep(3).then(() => {
        inbox.publish();
        stream.say(frame("inbox_updated", { cursor_hint: 1 }));
      });
    }
    return stream.answer;
  };
  const summary = await agent.run({ handleSignals: false });
  assert.equal(summary.acked, 1);
  assert.ok(opened[1] - opened[0] >= 5 && opened[1] - opened[0] <= 6.1, `${opened}`);
  assert.ok(clock.now() - opened[1] < 4, "not by polling");
});

test("where the stream may not be read it polls, and a revoked token is forgotten", async () => {
  const there = stage();
  const { inbox } = there;
  let streams = 0;
  const agent = new Agent(there.client, () => agent.stop(), { log: quiet() });
  inbox.before = ({ path, signal }) => {
    if (!path.endsWith("/subscribe")) return null;
    streams += 1;
    if (streams > 2) inbox.publish();
    return streams === 1
      ? streamOf(signal, [READY, frame("revoked")]).answer
      : problem(403, "insufficient-scope", { required_scope: "agent:demo:read" });
  };
  assert.equal((await agent.run({ handleSignals: false })).acked, 1);
  assert.ok(inbox.tokens >= 2);
});

/** Locks and channels as an origin has them, of `pages` in one process. */
function originOf() {
  const queue = [];
  let held = false;
  const next = () => {
    if (held || !queue.length) return;
    held = true;
    const { work, done } = queue.shift();
    Promise.resolve(work()).then(done).finally(() => {
      held = false;
      next();
    });
  };
  const locks = {
    request: (_name, { signal }, work) =>
      new Promise((resolve, reject) => {
        const one = { work, done: resolve };
        queue.push(one);
        signal.addEventListener("abort", () => {
          if (queue.includes(one)) {
            queue.splice(queue.indexOf(one), 1);
            reject(Object.assign(new Error("aborted"), { name: "AbortError" }));
          }
        });
        next();
      }),
  };
  const channels = new Set();
  class Channel {
    constructor() {
      channels.add(this);
    }
    postMessage(data) {
      for (const one of channels) if (one !== this) queueMicrotask(() => one.onmessage?.({ data }));
    }
    close() {
      channels.delete(this);
    }
  }
  return { locks, Channel };
}

test("pages of an origin share one stream, and the next takes it up when its page goes", async () => {
  const { clock, inbox, client } = stage({ retry: NO_RETRY });
  const origin = originOf();
  const open = new Set();
  inbox.before = ({ path, signal }) => {
    if (!path.endsWith("/subscribe")) return null;
    const stream = streamOf(signal, [READY]);
    open.add(stream);
    signal.addEventListener("abort", () => open.delete(stream));
    return stream.answer;
  };
  const page = () => {
    const board = new Board({ clock, random: () => 0.5, patient: true, log: quiet() });
    const bell = new SharedDoorbell(client, board, origin);
    const leave = () => {
      Object.assign(board, { stopping: true, closed: true });
      board.changed();
      bell.abort();
    };
    return { board, leave, over: bell.run() };
  };
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0)).then(() => new Promise(setImmediate));
  clock.sleep = (_seconds, signal) => new Promise((resolve) => signal?.addEventListener("abort", resolve));
  const [first, second] = [page(), page()];
  for (let turn = 0; turn < 5; turn += 1) await settle();
  assert.equal(open.size, 1);
  assert.deepEqual([first, second].map(({ board }) => board.pacing.streamUp), [true, true]);
  [first, second].forEach(({ board }) => board.pacing.asking());
  [...open][0].say(frame("inbox_updated", { cursor_hint: 3 }));
  for (let turn = 0; turn < 5; turn += 1) await settle();
  assert.equal(second.board.pacing.dueAt(), -Infinity, "rung by the other page");
  assert.deepEqual(second.board.seenHead, { cursor: 3, epoch: "ep_1" });
  const third = page();
  for (let turn = 0; turn < 5; turn += 1) await settle();
  assert.equal(third.board.pacing.streamUp, true, "a page that comes later is told");
  third.leave();
  await third.over;
  first.leave();
  await first.over;
  for (let turn = 0; turn < 5; turn += 1) await settle();
  assert.equal(open.size, 1);
  assert.equal(second.board.pacing.streamUp, true);
  second.leave();
  await second.over;
  assert.equal(open.size, 0);
});
