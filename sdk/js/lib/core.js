/** One exchange: authorise, sign, send, interpret, wait, send again. */
import { utf8 } from "./bytes.js";
import * as errors from "./errors.js";
import { send } from "./http.js";
import { platform } from "./platform.js";
import { errorOf } from "./problem.js";
import { waitBefore } from "./retry.js";
import { signatureFields } from "./signature.js";
import { keyRequest, Signing } from "./signing.js";
import { HandedTokens, tokenOf } from "./token.js";
import { outgoing } from "./trace.js";

const MENDS = 3;

/** Settings of a client, and the exchanges made with them. `shared`: of all its views. */
export class Core {
  constructor(settings) {
    Object.assign(this, settings);
  }

  static of({ sign = null, ...settings }) {
    return new Core({ ...settings, shared: { tokens: new Map(), asking: new Map(), signing: new Signing(sign) } });
  }

  /** The same with other `retry`, `readSeconds` or `traceparent`; tokens and keys are shared. */
  with(options) {
    return new Core({ ...this, ...options });
  }

  get isAgent() {
    return this.credentials.principalId.startsWith("agt_");
  }

  get agentPath() {
    if (!this.agentId) {
      throw new errors.ConfigurationError(
        `${this.credentials.principalId} has no inbox, and this call is about one: ` +
          "use an agent's credentials, or give the client an agentId",
      );
    }
    return `/api/v1/agents/${this.agentId}`;
  }

  /**
   * The answer to a request (below 400); else the typed error of the last try is thrown. `request`: {method,
   * path, query?, body?, headers?, scope?, holdSeconds?, stream?, signal?}; every try carries the same keys.
   */
  async exchange(request) {
    const sent = this.#prepare(request);
    const tried = { attempt: 0, waited: 0, rejected: null, retried: false, mended: 0, badKey: null };
    for (;;) {
      const error = await this.#try(request, sent, tried);
      if (!(error instanceof Error)) return error;
      if (error.again) continue;
      await this.#pause(error, tried);
    }
  }

  /** An answer below 400, the error to wait for, or one with `again` that is mended already. */
  async #try(request, sent, tried) {
    const scope = this.#tokenScope(request);
    const token = await this.token(scope, { rejected: tried.rejected });
    const pen = await this.#pen(tried.badKey);
    const headers = { ...sent.headers, authorization: `Bearer ${token}` };
    let answer;
    try {
      answer = await send(this, { ...sent, headers: await this.#signed(sent, headers, pen) });
    } catch (error) {
      if (error instanceof errors.Unreachable) return error;
      throw error;
    }
    this.shared.serverVersion = answer.headers.get("restante-version") ?? this.shared.serverVersion;
    if (answer.status >= 200 && answer.status < 400) return answer;
    const error = errorOf(answer);
    if (tried.rejected === null && tokenRefused(error)) {
      tried.rejected = token;
      error.again = true;
    } else if (tried.mended < MENDS && this.#mends(error, answer, pen)) {
      tried.mended += 1;
      if (error.slug === "signature-unknown-key") tried.badKey = pen.key.keyId;
      error.again = true;
    }
    return error;
  }

  async #pause(error, tried) {
    tried.attempt += 1;
    const wait = waitBefore(this.retry, tried.attempt, error, {
      waitedSeconds: tried.waited,
      random: this.random,
    });
    if (wait === null) {
      if (error instanceof errors.ApiError) error.retried = Boolean(tried.retried);
      throw error;
    }
    tried.retried ||= mayHaveHappened(error);
    tried.waited += wait;
    await this.clock.sleep(wait);
  }

  /** A token that is not `rejected`; one at a time is asked for. `fresh`: made just now. */
  async token(scope = null, { rejected = null, fresh = false } = {}) {
    const { tokens, asking } = this.shared;
    const kept = tokens.get(scope);
    const good = kept && kept.value !== rejected && this.clock.now() < kept.refreshAt;
    if (good && !fresh) return kept.value;
    const anew = fresh || rejected !== null;
    const name = `${anew} ${scope}`;
    if (!asking.has(name)) {
      asking.set(name, this.#obtain(scope, anew).finally(() => asking.delete(name)));
    }
    return (await asking.get(name)).value;
  }

  forgetTokens() {
    this.shared.tokens.clear();
  }

  async #obtain(scope, fresh) {
    const known = this.credentials;
    const sentAt = this.clock.now();
    const token =
      known instanceof HandedTokens
        ? tokenOf(await known.provide({ scope, fresh }), sentAt)
        : known.read(await this.#repeated(known.request(this.baseUrl, scope)));
    this.shared.tokens.set(scope, token);
    return token;
  }

  /** An answer that is not to be waited for, where tokens and keys are asked for. */
  async #repeated(request) {
    const tried = { attempt: 0, waited: 0 };
    for (;;) {
      let error;
      try {
        const answer = await send(this, { readSeconds: this.readSeconds, ...request });
        if (answer.status !== 429 && answer.status < 500) return answer;
        error = errorOf(answer);
      } catch (thrown) {
        if (!(thrown instanceof errors.Unreachable)) throw thrown;
        error = thrown;
      }
      await this.#pause(error, tried);
    }
  }

  async #pen(badKey) {
    const { signing } = this.shared;
    if (!this.isAgent) return null;
    if (signing.wanted === null) signing.wanted = (await (this.shared.looked ??= this.state.hasKey())) || null;
    if (!signing.wanted) return null;
    const state = await this.state();
    return signing.pen({ state, wall: this.clock.wall, rejected: badKey, make: () => this.#newKey(state) });
  }

  /** Made by a token that is fresh: an older one may be too old. */
  async #newKey(state) {
    const { body, take } = await keyRequest(state);
    const token = await this.token(null, { fresh: true });
    const answer = await this.#repeated({
      method: "POST",
      url: `${this.baseUrl}${this.agentPath}/signing-keys`,
      headers: { accept: "application/json", "content-type": "application/json", authorization: `Bearer ${token}` },
      content: JSON.stringify(body),
    });
    if (answer.status >= 400) throw errorOf(answer);
    return take(answer, this.clock.wall());
  }

  async #signed({ method, url, content }, headers, pen) {
    if (pen === null) return headers;
    const { host, pathname, search } = new URL(url);
    const bytes = content === null ? new Uint8Array() : utf8(content);
    const message = { now: pen.now, method, target: pathname + search, authority: host, content: bytes };
    return { ...headers, ...(await signatureFields(pen.key, message)) };
  }

  #mends(error, answer, pen) {
    if (!(error instanceof errors.Unauthenticated) || !this.isAgent) return false;
    return this.shared.signing.mends(error.slug, answer.headers, pen);
  }

  #tokenScope(request) {
    // a service's token has all it may do; a client told its scopes keeps to them
    return this.isAgent && this.credentials.scope === null ? (request.scope ?? null) : null;
  }

  #prepare({ method, path, query = {}, body, headers = {}, holdSeconds = 0, stream, signal }) {
    const found = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) found.append(name, String(value));
    }
    const text = found.toString();
    const url = this.baseUrl + path + (text && `${path.includes("?") ? "&" : "?"}${text}`);
    const content = body === undefined ? null : JSON.stringify(body);
    const all = { accept: "application/json", ...headers };
    if (platform.userAgent) all["user-agent"] = platform.userAgent;
    if (content !== null) all["content-type"] = "application/json";
    const trace = outgoing(this.traceparent);
    if (trace !== null) all.traceparent = trace;
    return { method, url, headers: all, content, readSeconds: this.readSeconds + holdSeconds, stream, signal };
  }
}

/** A signature that does not hold is a 401 too; a new token does not mend it. */
const tokenRefused = (error) =>
  error instanceof errors.Unauthenticated && !error.slug.startsWith("signature-");

/** Whether the try behind this error can have had its effect. */
function mayHaveHappened(error) {
  if (error instanceof errors.Unreachable) return error.mayHaveHappened;
  return !(error instanceof errors.Overloaded || error instanceof errors.RateLimited);
}
