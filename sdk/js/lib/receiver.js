/**
 * The receiving side of webhooks: deliveries are verified, challenges are answered. A function of what came in, so
 * that any framework will do. Both signatures that a delivery carries are checked where their keys are given:
 * Standard Webhooks by the secret, RFC 9421 by the server's key set.
 */
import { fromBase64, hex, sha256, utf8 } from "./bytes.js";
import { ConfigurationError } from "./errors.js";
import { platform } from "./platform.js";
import { checkMessage, KeySet, NotGenuine, TOLERANCE_SECONDS } from "./webhook_message.js";

export { NotGenuine };

/**
 * A challenge is answered with the MAC that a signature of Standard Webhooks is too, of a text that has dots. Who
 * could have any text answered could sign deliveries.
 */
const CHALLENGE = /^[A-Za-z0-9_~+/=-]{1,256}$/;
const HMAC = { name: "HMAC", hash: "SHA-256" };

export class Receiver {
  #secrets;
  #server;
  #clock;
  #keys = null;
  #seen = new Map();

  /**
   * `secrets`: of the callback, the newest first; both of them while they rotate. `jwks`: the server's key set, or what
   * gets it (its /oauth/jwks.json); without it only the secrets are checked. A delivery is taken once, as long as
   * its signature holds; one that is sent again is signed anew, and its `id` says that it is the same event.
   */
  constructor(secrets, { jwks = null, clock = () => Date.now() / 1000 } = {}) {
    if (!Array.isArray(secrets) || !secrets.length) {
      throw new ConfigurationError("a receiver needs a list of the callback's secrets, the newest first");
    }
    this.#secrets = secrets.map(keyBytes);
    this.#server = jwks === null ? null : new KeySet(jwks, clock);
    this.#clock = clock;
  }

  /**
   * What came: {kind: "delivery", id, body}, or {kind: "challenge", answer}: answer 200 with that, as application/json.
   * `url`: as it was called, with its query; `headers`: a Headers or an object; `body`: bytes. Throws NotGenuine.
   */
  async receive(method, url, headers, body) {
    const fields = fieldsOf(headers);
    const said = objectOf(body);
    if (said.type === "callback_challenge" && !fields["webhook-id"]) {
      return { kind: "challenge", answer: await this.#answer(said) };
    }
    let signed = await this.#checkSecret(fields, body);
    if (this.#server) signed = await checkMessage(this.#server, { method, url, fields, body, now: this.#clock() });
    await this.#takeOnce(signed);
    return { kind: "delivery", id: fields["webhook-id"], body: said };
  }

  async #answer({ challenge }) {
    if (typeof challenge !== "string" || !CHALLENGE.test(challenge)) throw new NotGenuine("the challenge is none");
    const [key] = await this.#imported();
    const mac = await platform.crypto.subtle.sign("HMAC", key, utf8(challenge));
    return JSON.stringify({ challenge_response: hex(mac) });
  }

  /** What was signed, by Standard Webhooks. */
  async #checkSecret(fields, body) {
    const [id, at] = [fields["webhook-id"] ?? "", fields["webhook-timestamp"] ?? ""];
    if (!id || !/^[0-9]{1,12}$/.test(at)) throw new NotGenuine("webhook-id or webhook-timestamp is missing");
    if (Math.abs(this.#clock() - Number(at)) > TOLERANCE_SECONDS) {
      throw new NotGenuine("webhook-timestamp is too old, or in the future");
    }
    const text = joined(utf8(`${id}.${at}.`), body);
    for (const part of (fields["webhook-signature"] ?? "").split(" ")) {
      const given = part.startsWith("v1,") ? fromBase64(part.slice(3)) : null;
      for (const key of given ? await this.#imported() : []) {
        // WebCrypto compares in constant time
        if (await platform.crypto.subtle.verify("HMAC", key, given, text)) return text;
      }
    }
    throw new NotGenuine("webhook-signature is none of the secret's");
  }

  /** By what was signed, and not by the signature: that may be written in another way. */
  async #takeOnce(signed) {
    const digest = hex(await sha256(signed));
    const now = this.#clock();
    for (const [seen, until] of this.#seen) {
      if (until >= now) break;
      this.#seen.delete(seen);
    }
    if (this.#seen.has(digest)) throw new NotGenuine("it was here before");
    this.#seen.set(digest, now + 2 * TOLERANCE_SECONDS);
  }

  #imported() {
    this.#keys ??= Promise.all(
      this.#secrets.map((raw) => platform.crypto.subtle.importKey("raw", raw, HMAC, false, ["sign", "verify"])),
    );
    return this.#keys;
  }
}

function keyBytes(secret) {
  if (!secret.startsWith("whsec_")) return utf8(secret);
  const raw = fromBase64(secret.slice("whsec_".length));
  if (raw === null) throw new ConfigurationError("a secret begins with whsec_, and what follows is no base64");
  return raw;
}

/** By lower-case name. */
function fieldsOf(headers) {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value).trim()]));
}

function objectOf(body) {
  try {
    const said = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    if (said !== null && typeof said === "object" && !Array.isArray(said)) return said;
  } catch {
    // told below
  }
  throw new NotGenuine("the body is no JSON object");
}

function joined(first, second) {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
