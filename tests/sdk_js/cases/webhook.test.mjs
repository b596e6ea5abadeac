/** The receiving side: what the server signs is taken once, and nothing else is. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { NotGenuine, Receiver } from "restante-agent/webhook";

// signed by the server's own code: {now, secrets, jwks, deliveries: [{url, headers, body}], challenge}
const SIGNED = JSON.parse(await readFile(process.env.SIGNED, "utf8"));
const { hmac_sha256_challenge_vectors: CHALLENGES } = JSON.parse(await readFile(process.env.VECTORS, "utf8"));
const bytes = (text) => new TextEncoder().encode(text);
const receiver = (options = {}, secrets = SIGNED.secrets) =>
  new Receiver(secrets, { jwks: SIGNED.jwks, clock: () => SIGNED.now, ...options });
const take = (there, { url, headers, body }, changed = {}) =>
  there.receive(changed.method ?? "POST", changed.url ?? url, { ...headers, ...changed.headers }, bytes(changed.body ?? body));
const [DELIVERY] = SIGNED.deliveries;

test("a delivery is taken by either secret, under every form of address", async () => {
  for (const delivery of SIGNED.deliveries) {
    for (const secret of SIGNED.secrets) {
      const taken = await take(receiver({}, [secret]), delivery);
      assert.deepEqual(taken, { kind: "delivery", id: "evt_1", body: JSON.parse(delivery.body) });
    }
  }
});

test("it is taken once, however its signature is written; signed anew it is the same event", async () => {
  const there = receiver({ jwks: null });
  await take(there, DELIVERY);
  const written = DELIVERY.headers["webhook-signature"];
  for (const signature of [written, `${written} v1,AAAA`, written.split(" ").reverse().join(" ")]) {
    await assert.rejects(take(there, DELIVERY, { headers: { "webhook-signature": signature } }), /before/);
  }
});

test("nothing else is taken", async () => {
  const { headers, body, url } = DELIVERY;
  const changes = [
    { body: `${body} ` },
    { method: "PUT" },
    { url: url.replace("hook", "hock") },
    { url: `${url}&x=1` },
    { url: url.split("?")[0] },
    { headers: { "webhook-id": "evt_2" } },
    { headers: { "webhook-timestamp": String(SIGNED.now - 1) } },
    { headers: { "webhook-signature": "v1,AAAA" } },
    { headers: { "signature-input": headers["signature-input"].replace("restante-webhook", "another") } },
    { headers: { signature: "sig1=:AAAA:" } },
    { headers: { "content-digest": "sha-256=:AAAA:" } },
  ];
  for (const change of changes) await assert.rejects(take(receiver(), DELIVERY, change), NotGenuine, JSON.stringify(change));
  const plain = SIGNED.deliveries[1];
  await assert.rejects(take(receiver(), plain, { url: `${plain.url}?x=1` }), /does not cover/);
  // who knows the secret, and not the server's key
  const other = '{"event_id":"evt_1","payload":{"type":"u"}}';
  const mac = createHmac("sha256", SIGNED.secrets[1]).update(`evt_1.${SIGNED.now}.${other}`).digest("base64");
  const forged = { body: other, headers: { "webhook-signature": `v1,${mac}` } };
  await assert.rejects(take(receiver(), DELIVERY, forged), /digest/);
  for (const seconds of [-31, 301]) {
    await assert.rejects(take(receiver({ clock: () => SIGNED.now + seconds }), DELIVERY), /too old/);
  }
  await assert.rejects(take(receiver({}, ["another secret of thirty-two bytes"]), DELIVERY), /none of the secret's/);
});

test("a challenge is answered with the newest secret, and no other text with a MAC", async () => {
  const { body, response } = SIGNED.challenge;
  const { kind, answer } = await receiver().receive("POST", DELIVERY.url, {}, bytes(body));
  assert.equal(kind, "challenge");
  assert.deepEqual(JSON.parse(answer), { challenge_response: response });
  for (const { id, secret_b64: secret, token_text: challenge, hmac_sha256_hex: wanted } of CHALLENGES) {
    if (!/^[\w-]+$/.test(challenge)) continue;
    const said = bytes(JSON.stringify({ type: "callback_challenge", challenge }));
    const told = await new Receiver([`whsec_${secret}`]).receive("POST", DELIVERY.url, {}, said);
    assert.equal(JSON.parse(told.answer).challenge_response, wanted, id);
  }
  for (const challenge of ["evt_1.1700000000.{}", "", "a b", "x".repeat(300), null]) {
    const said = bytes(JSON.stringify({ type: "callback_challenge", challenge }));
    await assert.rejects(receiver().receive("POST", DELIVERY.url, {}, said), /challenge/);
  }
});

test("the keys are got anew when they are old or one is unknown, not at every delivery", async () => {
  let now = SIGNED.now - 25;
  const sets = [{ keys: [] }, SIGNED.jwks, { keys: [] }];
  const there = new Receiver(SIGNED.secrets, { jwks: async () => sets.shift(), clock: () => now });
  await assert.rejects(take(there, DELIVERY), /none of the server's/);
  await assert.rejects(take(there, DELIVERY), /none of the server's/);
  assert.equal(sets.length, 2);
  now += 11;
  assert.equal((await take(there, DELIVERY)).id, "evt_1");
  now += 300;
  await assert.rejects(take(there, DELIVERY), NotGenuine);
});
