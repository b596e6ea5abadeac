/** Whether a client signs, with which key, and when it needs another. */
import { UnexpectedAnswer } from "./errors.js";
import { platform } from "./platform.js";
import { importKey, newPair, signingKey } from "./signature.js";

/** A shared secret is followed by its successor so long before its end. */
const OVERLAP_SECONDS = 6 * 3600;
const DAY_SECONDS = 86_400;
const CLOCK = ["signature-expired", "signature-not-yet-valid"];

/**
 * `wanted` null: as soon as the server asks for it. `own`: a key of the caller's own, which is never replaced.
 * `offset`: the server's clock less ours, seconds.
 */
export class Signing {
  offset = 0;
  #found = null;
  #finding = null;

  constructor(sign) {
    this.own = sign !== null && typeof sign === "object" ? sign : null;
    this.wanted = this.own ? true : sign;
  }

  /** {key, now} to sign with, not by the key `rejected`; `make` is asked for a new one, once at a time. */
  async pen({ state, wall, rejected, make }) {
    const now = wall();
    const key = this.own ?? this.#good(now, rejected) ?? (await this.#find(state, now, rejected, make));
    return { key, now: Math.floor(now + this.offset) };
  }

  /** Whether a request that was refused with this problem may be repeated, signed otherwise. */
  mends(slug, headers, pen) {
    if (pen === null) {
      if (slug === "signature-missing" && this.wanted === null) this.wanted = true;
      return slug === "signature-missing" && this.wanted === true;
    }
    if (CLOCK.includes(slug)) return this.#setClock(headers, pen);
    return slug === "signature-unknown-key" && this.own === null;
  }

  #good(now, rejected) {
    const kept = this.#found;
    return kept && kept.key.keyId !== rejected && now < kept.renewAt ? kept.key : null;
  }

  async #find(state, now, rejected, make) {
    const search = () => this.#search(state, now, rejected, make);
    this.#finding ??= state.makeKey(search).finally(() => (this.#finding = null));
    return this.#finding;
  }

  async #search(state, now, rejected, make) {
    const kept = await state.key();
    if (!kept || kept.key_id === rejected || now >= (kept.renew_at ?? Infinity)) {
      this.#found = await make();
    } else {
      const key = state.extractable ? await importKey(kept.algorithm, kept.key) : kept.key;
      this.#found = { key: signingKey(kept.key_id, kept.algorithm, key), renewAt: kept.renew_at ?? Infinity };
    }
    return this.#found.key;
  }

  /** Go by the server's clock from now on (its Date field); whether it tells one. A page is not shown it. */
  #setClock(headers, pen) {
    const told = Date.parse(headers.get("date") ?? "") / 1000;
    if (!Number.isFinite(told)) return false;
    this.offset += told - pen.now;
    return true;
  }
}

/**
 * What a request for a key is made with, and what its answer comes to. A pair of our own is registered until it is
 * deleted; where nothing outlives this process, a shared secret of the server's, which ends within a day.
 */
export async function keyRequest(state) {
  if (!state.lasting) return { body: {}, take: takeSecret };
  const pair = await newPair(state.extractable);
  return { body: { public_jwk: pair.publicJwk }, take: (answer) => takePair(answer, pair, state) };
}

async function takePair(answer, { algorithm, privateKey }, state) {
  const { key_id: keyId } = JSON.parse(answer.content);
  if (typeof keyId !== "string") throw new UnexpectedAnswer("a key was registered and got no id");
  const key = state.extractable
    ? await platform.crypto.subtle.exportKey("jwk", privateKey)
    : privateKey;
  await state.keepKey({ key_id: keyId, algorithm, key });
  return { key: signingKey(keyId, algorithm, privateKey), renewAt: Infinity };
}

async function takeSecret(answer, now) {
  const { key_id: keyId, secret, expires_at: expiresAt } = JSON.parse(answer.content);
  if (typeof secret !== "string") throw new UnexpectedAnswer("a signing key was asked for and none came");
  const key = signingKey(keyId, "hmac-sha256", await importKey("hmac-sha256", secret));
  const life = (Date.parse(expiresAt) - Date.parse(answer.headers.get("date") ?? "")) / 1000;
  const left = Number.isFinite(life) ? life : DAY_SECONDS;
  return { key, renewAt: now + Math.max(left - OVERLAP_SECONDS, left / 2) };
}
