/** The client: tokens, retries that carry the same keys, refusals as types. */
import assert from "node:assert/strict";
import { test } from "node:test";

import * as restante from "restante-agent";

import { AGENT, broken, problem, stage } from "./fake.mjs";

const paths = (inbox) => inbox.requests.map(({ path }) => path);

test("a token is asked for once, by the secret in a header, and renewed when it is refused or old", async () => {
  const { clock, inbox, client } = stage();
  await Promise.all([client.stats(), client.stats()]);
  assert.equal(inbox.tokens, 1);
  const [asked] = inbox.requests;
  assert.equal(asked.headers.authorization, `Basic ${btoa(`${AGENT}:s3cret-of-tests`)}`);
  assert.equal(asked.body, "grant_type=client_credentials");
  clock.seconds += 539;
  await client.stats();
  assert.equal(inbox.tokens, 1);
  clock.seconds += 2;
  await client.stats();
  assert.equal(inbox.tokens, 2);
  inbox.before = ({ headers }) => (headers.authorization === "Bearer token-2" ? problem(401, "unauthenticated") : null);
  await client.stats();
  assert.equal(inbox.tokens, 3);
});

test("a token that is refused twice is an error and not a circle", async () => {
  const { inbox, client } = stage();
  inbox.before = ({ path }) => (path === "/oauth/token" ? null : problem(401, "unauthenticated"));
  await assert.rejects(client.stats(), restante.Unauthenticated);
  assert.equal(inbox.tokens, 2);
});

test("a page's tokens are handed to it, a fresh one where the old is refused", async () => {
  const asked = [];
  const token = async (want) => {
    asked.push(want);
    return { access_token: `token-of-page-${asked.length}`, expires_in: 600 };
  };
  const { inbox, client } = stage({ clientId: undefined, clientSecret: undefined, agentId: AGENT, token });
  inbox.before = ({ headers }) => (headers.authorization.endsWith("-1") ? problem(401, "unauthenticated") : null);
  await client.stats();
  await client.publish({ recipients: [AGENT], project: "demo", payload: {} });
  assert.deepEqual(asked, [
    { scope: null, fresh: false },
    { scope: null, fresh: true },
    { scope: "agent:demo:publish", fresh: false },
  ]);
});

test("a wrong secret is told as the token endpoint told it, without the secret", async () => {
  const { inbox, client } = stage();
  inbox.before = () => ({ status: 401, body: { error: "invalid_client", error_description: "unknown client" } });
  await assert.rejects(client.stats(), (error) => {
    assert.ok(error instanceof restante.InvalidClient);
    return !JSON.stringify(error).includes("s3cret") && error.message === "invalid_client: unknown client";
  });
});

test("a publication is repeated with the key of its first try, after what the server asks", async () => {
  const { clock, inbox, client } = stage();
  const refusals = [() => problem(503, "outcome-unknown"), () => problem(429, "rate-limited", {}, { "retry-after": "7" }), broken];
  inbox.before = ({ path }) => (path === "/api/v1/events" ? (refusals.shift()?.() ?? null) : null);
  const made = await client.publish({ recipients: [AGENT], project: "demo", payload: { n: 1 } });
  const keys = inbox.requests.filter(({ path }) => path === "/api/v1/events").map(({ headers }) => headers["idempotency-key"]);
  assert.equal(keys.length, 4);
  assert.deepEqual(new Set(keys), new Set([made.idempotency_key]));
  assert.equal(inbox.rows.size, 1);
  assert.equal(clock.slept.length, 3);
  assert.ok(clock.slept[1] >= 7 && clock.slept[1] <= 7 * 1.25);
  assert.equal(inbox.requests[0].body, "grant_type=client_credentials&scope=agent%3Ademo%3Apublish");
});

test("a claim is repeated with its claim_id, and claims nothing new", async () => {
  const { inbox, client } = stage();
  inbox.publish();
  inbox.publish();
  let lost = false;
  inbox.after = ({ path }, reply) => (path.endsWith("/claim") && !lost ? ((lost = true), broken()) : reply);
  const claim = await client.claim({ limit: 1, lease_seconds: 60 });
  assert.equal(claim.events.length, 1);
  assert.equal([...inbox.rows.values()].filter(({ status }) => status === "claimed").length, 1);
});

test("a release whose answer was lost has happened; a stale one that was never sent has not", async () => {
  const { inbox, client } = stage();
  const eventId = inbox.publish();
  await client.claim({ limit: 1, lease_seconds: 60 });
  let lost = false;
  inbox.after = ({ path }, reply) => (path.endsWith("/release") && !lost ? ((lost = true), broken()) : reply);
  assert.equal((await client.release(eventId, 1)).status, "pending");
  await assert.rejects(client.release(eventId, 1), (error) => {
    assert.ok(error instanceof restante.StaleClaim);
    return error.reason === "released" && error.currentGeneration === 1;
  });
});

test("what is wrong is not sent twice, and names what", async () => {
  const { inbox, client } = stage();
  inbox.before = ({ path }) =>
    path.endsWith("/stats") ? problem(422, "validation-error", { errors: [{ pointer: "/limit", detail: "too large" }] }) : null;
  await assert.rejects(client.stats(), (error) => error.errors[0].pointer === "/limit");
  assert.equal(inbox.count("/stats"), 1);
});

test("every slug has its type, and a new one goes by its status", async () => {
  const { inbox, client } = stage({ retry: restante.NO_RETRY });
  const kinds = {
    "cursor-gone": [410, restante.CursorGone],
    "turn-conflict": [409, restante.TurnConflict],
    "version-conflict": [412, restante.VersionConflict],
    "inbox-full": [429, restante.InboxFull],
    overloaded: [503, restante.Overloaded],
    "not-heard-of": [409, restante.Conflict],
  };
  for (const [slug, [status, kind]] of Object.entries(kinds)) {
    inbox.before = ({ path }) => (path.endsWith("/stats") ? problem(status, slug, { head: 1 }) : null);
    await assert.rejects(client.stats(), (error) => error.constructor === kind && error.slug === slug);
  }
});

test("a proxy's page is no answer of Restante's, and no token follows a link elsewhere", async () => {
  const { inbox, client } = stage({ retry: restante.NO_RETRY });
  inbox.before = ({ path }) =>
    path.endsWith("/stats") ? { status: 404, headers: { "content-type": "text/html" }, body: "<p>no" } : null;
  await assert.rejects(client.stats(), restante.UnexpectedAnswer);
  await assert.rejects(async () => client.state({ url: "https://elsewhere.example/state" }), restante.UnexpectedAnswer);
  assert.ok(!paths(inbox).includes("/state"));
});

test("an answer that never comes is given up in time", async () => {
  const { inbox, client } = stage({ retry: restante.NO_RETRY });
  const { fetch } = inbox;
  client.core.fetch = async (url, options) => {
    if (!url.endsWith("/stats")) return fetch(url, options);
    return new Promise((_, reject) => options.signal.addEventListener("abort", () => reject(options.signal.reason)));
  };
  await assert.rejects(client.stats(), restante.TimedOut);
});

test("settings that contradict each other are refused with the remedy", () => {
  const made = (options) => () => new restante.Client({ clientId: AGENT, clientSecret: "s", ...options });
  for (const url of ["http://inbox.example", "ftp://inbox.example", "https://inbox.example/api", "https://u:p@inbox.example", "x"]) {
    assert.throws(made({ url }), restante.ConfigurationError, url);
  }
  assert.throws(made({ url: "https://inbox.example", token: async () => ({}) }), /either clientId/);
  assert.equal(made({ url: "https://inbox.example/" })().core.baseUrl, "https://inbox.example");
});

test("memory's conditions are headers, and 0 means that nothing may be there", async () => {
  const { inbox, client } = stage();
  inbox.before = ({ path }) => (path.includes("/memory/") ? { status: 200, body: { version: 4 } } : null);
  await client.memoryPut("demo", "a/b", { n: 1 }, { if_version: 3 });
  await client.memoryPut("demo", "a/b", null, { if_version: 0, notify: true });
  const [, first, second] = inbox.requests;
  assert.equal(first.path, `/api/v1/agents/${AGENT}/memory/demo/a%2Fb`);
  assert.equal(first.headers["if-match"], '"3"');
  assert.equal(second.headers["if-none-match"], "*");
  assert.equal(second.query.get("notify"), "true");
  assert.deepEqual(second.body, { value: null });
});
