/** Deliveries' signatures of RFC 9421, of the one form that the server signs, and the keys they are by. */
import { base64, fromBase64, sha256, utf8 } from "./bytes.js";
import { RestanteError } from "./errors.js";
import { platform } from "./platform.js";

const TAG = "restante-webhook";
export const TOLERANCE_SECONDS = 300;
const SKEW_SECONDS = 30;
/** As long as the server lets its key set be kept: a key that was removed at once is known no longer. */
const KEYS_KEPT_SECONDS = 300;
const KEYS_PAUSE_SECONDS = 10;
const REQUIRED = ["@method", "@authority", "@path", "content-digest", "webhook-id"];
const INPUT = /^([a-z*][a-z0-9_.*-]*)=(\(((?:"[^"\\]*" ?)*)\)((?:;[a-z]+=(?:"[^"\\]*"|-?[0-9]{1,15}))*))$/;
const SIGNATURE = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):$/;

/** This is no delivery of the server's, or it is too old, or it was here before: answer 401. */
export class NotGenuine extends RestanteError {}

/**
 * The server's public keys, as given or as `source` gets them: anew where one is unknown or they are old. What `source`
 * throws is thrown: the delivery is answered by a failure of ours (5xx), and comes again.
 */
export class KeySet {
  #get;
  #keys;
  #gotAt = -Infinity;
  #clock;

  constructor(source, clock) {
    this.#get = typeof source === "function" ? source : null;
    this.#keys = this.#get ? {} : source;
    this.#clock = clock;
  }

  /** The CryptoKey; throws NotGenuine. */
  async find(kid) {
    await this.#renew(KEYS_KEPT_SECONDS);
    let found = this.#find(kid);
    if (!found && (await this.#renew(KEYS_PAUSE_SECONDS))) found = this.#find(kid);
    if (!found) throw new NotGenuine("the key is none of the server's: fetch /oauth/jwks.json again");
    const { kty, crv, x } = found;
    return platform.crypto.subtle.importKey("jwk", { kty, crv, x }, { name: "Ed25519" }, false, ["verify"]);
  }

  async #renew(ageSeconds) {
    const now = this.#clock();
    if (!this.#get || now - this.#gotAt < ageSeconds) return false;
    this.#keys = await this.#get();
    this.#gotAt = now;
    return true;
  }

  #find(kid) {
    return (this.#keys.keys ?? []).find((jwk) => jwk.kid === kid && jwk.kty === "OKP" && jwk.crv === "Ed25519");
  }
}

/** The signature base that was signed, of which no two deliveries have the same; throws NotGenuine. */
export async function checkMessage(keys, { method, url, fields, body, now }) {
  const told = INPUT.exec(fields["signature-input"] ?? "");
  const given = SIGNATURE.exec(fields.signature ?? "");
  if (!told || !given || told[1] !== given[1]) {
    throw new NotGenuine("there is no signature of RFC 9421 that can be read");
  }
  const names = [...told[3].matchAll(/"([^"]*)"/g)].map(([, name]) => name);
  if (!REQUIRED.every((name) => names.includes(name)) || url.includes("?") !== names.includes("@query")) {
    throw new NotGenuine("the signature does not cover the request");
  }
  const parameters = parametersOf(told[4]);
  if (parameters.tag !== TAG || new Set(names).size !== names.length) {
    throw new NotGenuine("the signature is for something else");
  }
  checkTimes(parameters, now);
  if (fields["content-digest"] !== `sha-256=:${base64(await sha256(body))}:`) {
    throw new NotGenuine("the digest is not the body's");
  }
  const base = baseOf(names, told[2], { method, url, fields });
  const key = await keys.find(String(parameters.keyid ?? ""));
  const signature = fromBase64(given[2]);
  if (!signature || !(await platform.crypto.subtle.verify({ name: "Ed25519" }, key, signature, base))) {
    throw new NotGenuine(`the signature is not right for ${method} ${url}: is it called so, by this host?`);
  }
  return base;
}

function parametersOf(text) {
  const found = text.matchAll(/;([a-z]+)=(?:"([^"]*)"|(-?[0-9]+))/g);
  return Object.fromEntries([...found].map(([, name, word, number]) => [name, word ?? Number(number)]));
}

function checkTimes({ created, expires }, now) {
  if (typeof created !== "number" || typeof expires !== "number") {
    throw new NotGenuine("the signature does not say when it was made");
  }
  if (now < created - SKEW_SECONDS || now > Math.min(expires, created + TOLERANCE_SECONDS)) {
    throw new NotGenuine("the signature is too old, or in the future");
  }
}

/** RFC 9421 section 2.5. The address is taken apart as text: a parser of URLs would write it anew. */
function baseOf(names, parameters, { method, url, fields }) {
  const [, authority, path, query = ""] = /^[a-z]+:\/\/([^/?]*)([^?]*)(?:\?(.*))?$/is.exec(url) ?? [];
  const derived = {
    "@method": method,
    "@authority": authority?.toLowerCase().replace(/:443$/, ""),
    "@path": path || "/",
    "@query": `?${query}`,
  };
  const lines = names.map((name) => `"${name}": ${derived[name] ?? fields[name] ?? ""}`);
  return utf8([...lines, `"@signature-params": ${parameters}`].join("\n"));
}
