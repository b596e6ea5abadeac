/** Signed requests: as the vectors of RFC 9421 are, when it is asked to, anew at each try, with keys that follow. */
import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, webcrypto as crypto } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { importKey, newPair, signingKey, Unauthenticated } from "restante-agent";

import { inside, problem, stage } from "./fake.mjs";

const { signatureFields } = await inside("signature");
const { platform } = await inside("platform");
const { openFiles } = await inside("state_file");
const VECTORS = JSON.parse(await readFile(process.env.VECTORS, "utf8"));
const ORDERS = ['("@method" "@path" "@authority"', '("@method" "@path" "@query" "@authority"'];
const VERIFY = {
  ed25519: [{ name: "Ed25519" }],
  "ecdsa-p256-sha256": [{ name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }],
  "rsa-pss-sha512": [{ name: "RSA-PSS", hash: "SHA-512", saltLength: 64 }],
  "hmac-sha256": [{ name: "HMAC", hash: "SHA-256" }],
};

/** Whether it is one that this signer makes: its components in this order, a digest of sha-256. */
function valid({ expected, message }) {
  const fields = Object.fromEntries(message.headers.map(([name, value]) => [name, value.trim()]));
  const names = (fields["Signature-Input"] ?? "").replace("sig1=", "").split(")")[0];
  const digest = fields["Content-Digest"] ?? "";
  return (
    expected === "valid" &&
    ORDERS.includes(names.replace(/ "content-digest"$/, "")) &&
    digest.startsWith("sha-256=") &&
    !digest.includes(",")
  );
}

const base64 = (text) => Uint8Array.from(Buffer.from(text, "base64"));
const verifies = async (algorithm, form, key, signature, base) => {
  const [how] = VERIFY[algorithm];
  const imported = await crypto.subtle.importKey(form, key, how, false, ["verify"]);
  return crypto.subtle.verify(how, imported, base64(/^sig1=:(.*):$/.exec(signature)[1]), new TextEncoder().encode(base));
};

test("the valid vectors are signed as they were, by keys of three kinds", async () => {
  const vectors = VECTORS.profile_vectors.filter(valid);
  const used = new Set();
  for (const { id, message, signature_base: base } of vectors) {
    const fields = Object.fromEntries(message.headers.map(([name, value]) => [name.toLowerCase(), value.trim()]));
    const said = fields["signature-input"];
    const of = (name) => new RegExp(`;${name}="?([^";]*)`).exec(said)[1];
    const known = VECTORS.profile_keys.find(({ keyid }) => keyid === of("keyid"));
    const key = await importKey(known.alg, createPrivateKey(known.private_pem).export({ format: "jwk" }));
    const made = await signatureFields(signingKey(known.keyid, known.alg, key), {
      now: Number(of("created")),
      windowSeconds: Number(of("expires")) - Number(of("created")),
      method: message.method,
      target: message.target,
      authority: message.authority.toLowerCase().replace(/:443$/, ""),
      content: message.body_b64 === undefined ? new TextEncoder().encode(message.body ?? "") : base64(message.body_b64),
      nonce: of("nonce"),
    });
    assert.equal(made["signature-input"], said, id);
    assert.equal(made["content-digest"], fields["content-digest"], id);
    if (known.alg === "ed25519") assert.equal(made.signature, fields.signature, id);
    const spki = createPublicKey(known.public_pem).export({ format: "der", type: "spki" });
    assert.ok(await verifies(known.alg, "spki", spki, made.signature, base), id);
    used.add(known.alg);
  }
  assert.ok(vectors.length >= 16 && used.size === 3, `${vectors.length}`);
});

/** A server that wants signatures, and checks them. `offset`: its clock less the client's. */
function gate(there, { offset = 0 } = {}) {
  const seen = { keys: new Map(), minted: 0, refused: [], nonces: [], signers: [], stumbles: 0, offset };
  const { inbox, clock } = there;
  const date = () => ({ date: new Date((clock.wall() + seen.offset) * 1000).toUTCString() });
  inbox.before = async (request) => {
    if (request.path === "/oauth/token") return null;
    if (request.path.endsWith("/signing-keys")) {
      seen.minted += 1;
      const key_id = `key_${seen.minted}`;
      const jwk = request.body.public_jwk;
      const secret = `secret of ${key_id}`;
      seen.keys.set(key_id, jwk ?? secret);
      const expires_at = jwk ? null : new Date((clock.wall() + seen.offset + 86_400) * 1000).toISOString();
      return { status: 201, headers: date(), body: { key_id, expires_at, ...(!jwk && { secret }) } };
    }
    const slug = await refusal(request, seen, clock.wall() + seen.offset);
    if (slug) {
      seen.refused.push(slug);
      return problem(401, slug, {}, date());
    }
    return seen.stumbles-- > 0 ? problem(503, "overloaded") : null;
  };
  const { fetch } = inbox;
  // the fake answers at once; checking a signature does not
  there.client.core.fetch = async (url, options) => {
    const { pathname } = new URL(url);
    const body = options.body && pathname !== "/oauth/token" ? JSON.parse(options.body) : options.body;
    const early = await before({ path: pathname, url, ...options, body, text: options.body ?? "" });
    inbox.before = () => early;
    return fetch(url, options);
  };
  const { before } = inbox;
  return seen;
}

async function refusal({ method, url, headers, text }, seen, now) {
  const said = headers["signature-input"];
  if (!said) return "signature-missing";
  const of = (name) => new RegExp(`;${name}="?([^";]*)`).exec(said)[1];
  if (now > Number(of("expires"))) return "signature-expired";
  if (now < Number(of("created")) - 30) return "signature-not-yet-valid";
  const key = seen.keys.get(of("keyid"));
  if (!key) return "signature-unknown-key";
  const { pathname, search, host } = new URL(url);
  const digest = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toString("base64");
  assert.equal(headers["content-digest"], `sha-256=:${digest}:`);
  const lines = [`"@method": ${method}`, `"@path": ${pathname}`, ...(search ? [`"@query": ${search}`] : [])];
  lines.push(`"@authority": ${host}`, `"content-digest": ${headers["content-digest"]}`);
  const base = [...lines, `"@signature-params": ${said.replace("sig1=", "")}`].join("\n");
  const algorithm = typeof key === "string" ? "hmac-sha256" : key.kty === "OKP" ? "ed25519" : "ecdsa-p256-sha256";
  const [form, material] = typeof key === "string" ? ["raw", new TextEncoder().encode(key)] : ["jwk", key];
  if (!(await verifies(algorithm, form, material, headers.signature, base))) return "signature-invalid";
  seen.nonces.push(of("nonce"));
  seen.signers.push(algorithm);
  return null;
}

const base = await mkdtemp(join(tmpdir(), "restante-js-"));
after(() => rm(base, { recursive: true }));
let made = 0;
const files = (stateDir = join(base, String(++made))) =>
  openFiles({ origin: "http://localhost:8000", agentId: "agt_1", stateDir });

test("it signs once the server asks for it, with an Ed25519 key of its own, each retry anew", async () => {
  const there = stage({ state: await files() });
  const seen = gate(there);
  await there.client.stats();
  seen.stumbles = 2;
  await there.client.receipts({ correlation_id: "a/b c+d%'é", limit: 5 }).catch((error) => assert.equal(error.status, 404));
  await there.client.claim({ limit: 1 });
  assert.deepEqual(seen.refused, ["signature-missing"]);
  assert.equal(seen.minted, 1);
  assert.equal(seen.nonces.length, 5);
  assert.equal(new Set(seen.nonces).size, 5);
  assert.deepEqual(new Set(seen.signers), new Set(["ed25519"]));
  assert.equal(there.inbox.tokens, 2, "a key is made by a token that is fresh");
});

test("where WebCrypto has no Ed25519 it is P-256", async () => {
  const there = stage({ state: await files(), sign: true });
  const seen = gate(there);
  const { subtle } = crypto;
  const generateKey = async (how, ...rest) => {
    if (how.name === "Ed25519") throw new DOMException("Unrecognized name.", "NotSupportedError");
    return subtle.generateKey(how, ...rest);
  };
  const without = new Proxy(subtle, {
    get: (of, name) => (name === "generateKey" ? generateKey : of[name].bind(of)),
  });
  const known = platform.crypto;
  platform.crypto = { subtle: without, getRandomValues: (bytes) => known.getRandomValues(bytes), randomUUID: () => known.randomUUID() };
  try {
    await there.client.stats();
  } finally {
    platform.crypto = known;
  }
  assert.deepEqual(seen.signers, ["ecdsa-p256-sha256"]);
  assert.deepEqual(seen.refused, []);
});

test("processes of an agent share the key, in a file of its own; one that others may read is not used", async () => {
  const folder = join(base, "shared");
  let seen;
  const call = async () => {
    const there = stage({ state: await files(folder) });
    const known = seen;
    seen = gate(there);
    if (known) Object.assign(seen, { keys: known.keys, minted: known.minted });
    await there.client.stats();
    await there.client.close();
  };
  for (let n = 0; n < 3; n += 1) await call();
  assert.equal(seen.minted, 1);
  assert.deepEqual(seen.refused, [], "a key that is kept is used at once");
  const [agent] = await readdir(folder);
  const path = join(folder, agent, "signing-key.json");
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  await chmod(path, 0o644);
  await call();
  assert.equal(seen.minted, 2);
});

test("two processes that begin at once make one key", async () => {
  const folder = join(base, "at-once");
  const keys = new Map();
  let minted = 0;
  const both = await Promise.all([0, 1].map(async () => stage({ state: await files(folder), sign: true })));
  const seen = both.map((there) => Object.assign(gate(there), { keys }));
  await Promise.all(both.map(({ client }) => client.stats()));
  for (const one of seen) minted += one.minted;
  assert.equal(minted, 1);
  await Promise.all(both.map(({ client }) => client.close()));
});

test("a key that was ended is replaced, one of the caller's own never", async () => {
  const there = stage({ state: await files(), sign: true });
  const seen = gate(there);
  await there.client.stats();
  seen.keys.clear();
  await there.client.stats();
  assert.equal(seen.minted, 2);
  const { algorithm, privateKey, publicJwk } = await newPair(false);
  const mine = stage({ sign: signingKey("key_mine", algorithm, privateKey) });
  const strict = gate(mine);
  strict.keys.set("key_mine", publicJwk);
  await mine.client.stats();
  strict.keys.clear();
  await assert.rejects(mine.client.stats(), Unauthenticated);
  assert.equal(strict.minted, 0);
});

for (const offset of [-7200, 7200]) {
  test(`a clock that is off by ${offset} s is made good by the server's`, async () => {
    const there = stage({ state: await files(), sign: true });
    const seen = gate(there, { offset });
    await there.client.stats();
    await there.client.stats();
    assert.equal(seen.refused.length, 1);
    assert.match(seen.refused[0], /expired|not-yet-valid/);
    assert.equal(seen.minted, 1);
  });
}

test("where nothing outlives the process it signs by a secret that ends by itself, and its successor", async () => {
  const there = stage({ sign: true });
  const seen = gate(there);
  for (const hours of [0, 17, 2]) {
    there.clock.seconds += hours * 3600;
    await there.client.stats();
  }
  assert.deepEqual(seen.signers, ["hmac-sha256", "hmac-sha256", "hmac-sha256"]);
  assert.equal(seen.minted, 2);
});

test("told not to it never signs, and a service has no keys", async () => {
  for (const options of [{ sign: false }, { sign: true, clientId: "svc_1" }]) {
    const there = stage(options);
    const seen = gate(there);
    await assert.rejects(there.client.receipts({}), (error) => error.slug === "signature-missing");
    assert.equal(seen.minted, 0);
  }
});
