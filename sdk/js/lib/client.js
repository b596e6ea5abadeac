/** The contract's calls, with tokens, retries, signatures and waits taken care of. */
import { perform } from "./call.js";
import { systemClock } from "./clock.js";
import { Core } from "./core.js";
import { DoorbellStream } from "./doorbell_stream.js";
import { ConfigurationError } from "./errors.js";
import * as inbox from "./inbox_calls.js";
import { platform } from "./platform.js";
import * as publishing from "./publish_calls.js";
import { DEFAULT_RETRY } from "./retry.js";
import * as settling from "./settle_calls.js";
import { catchUp } from "./state_sync.js";
import { MemoryState } from "./state_memory.js";
import { ClientCredentials, HandedTokens } from "./token.js";
import { checkedTraceparent } from "./trace.js";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * new Client({url, clientId, clientSecret}), or in a page, which keeps no secret, new Client({url, agentId, token})
 * with token = async ({scope, fresh}) => ({access_token, expires_in}).
 *
 * `sign`: true from the first request, false never, a key of signingKey() by it; otherwise as soon as the server
 * asks. `state` ("memory", or an object as in state_memory.js) and `stateDir` say where record, position and
 * signing key are. `traceparent`: the trace that calls belong to (W3C Trace Context), or a function that is asked for
 * it at each call; else, in Node, that of the event whose handler makes the call. `fetch`, `clock` and `random` are there for tests.
 */
export class Client {
  constructor(options) {
    this.core = coreOf(options);
  }

  /** By RESTANTE_URL, RESTANTE_CLIENT_ID and RESTANTE_CLIENT_SECRET. */
  static fromEnvironment(options = {}) {
    const found = platform.environment();
    const names = ["RESTANTE_URL", "RESTANTE_CLIENT_ID", "RESTANTE_CLIENT_SECRET"];
    const missing = names.filter((name) => !found[name]);
    if (missing.length) throw new ConfigurationError(`set ${missing.join(", ")} in the environment`);
    const [url, clientId, clientSecret] = names.map((name) => found[name]);
    return new Client({ url, clientId, clientSecret, ...options });
  }

  /** A view of this client with other `retry`, `readSeconds` or `traceparent`; tokens and keys are shared. */
  with(options) {
    if (options.traceparent !== undefined) checkedTraceparent(options.traceparent);
    const view = Object.create(Client.prototype);
    view.core = this.core.with(options);
    return view;
  }

  /** The agent whose inbox this client is about. */
  get agentId() {
    return this.core.agentId;
  }

  /** `Restante-Version` of the newest answer; null before the first. */
  get serverVersion() {
    return this.core.shared.serverVersion ?? null;
  }

  /** The doorbell: for await (const frame of stream). It says that something is there: claim, or read. */
  async subscribe({ after_cursor, signal, silenceSeconds = 75 } = {}) {
    const core = this.core.with({ readSeconds: silenceSeconds });
    const answer = await core.exchange(inbox.subscribe(core, { after_cursor, signal }));
    return new DoorbellStream(answer, { clock: core.clock, silenceSeconds });
  }

  /** Keeps a MemoryView equal to the server's memory: the state once, then what has changed. */
  catchUp(view) {
    return catchUp(this, view);
  }

  forgetTokens() {
    this.core.forgetTokens();
  }

  /** Close what was opened on this machine; the client can be used again. */
  async close() {
    await this.core.state.close();
  }
}

const CALLS = { ...inbox, ...settling, ...publishing };
for (const [name, call] of Object.entries(CALLS)) {
  if (name === "subscribe") continue;
  Client.prototype[name] = function (...args) {
    return perform(this.core, call(this.core, ...args));
  };
}

function coreOf({ url, clientId, clientSecret, token, scope = null, agentId = null, sign = null, ...options }) {
  if (Boolean(token) === Boolean(clientSecret)) {
    throw new ConfigurationError("give a client either clientId and clientSecret, or agentId and token");
  }
  const origin = checkedUrl(url);
  const credentials = token
    ? new HandedTokens(token, agentId ?? clientId ?? "")
    : new ClientCredentials(clientId, clientSecret, scope);
  const { principalId } = credentials;
  const inboxOf = agentId ?? (principalId.startsWith("agt_") ? principalId : null);
  return Core.of({
    baseUrl: origin,
    credentials,
    agentId: inboxOf,
    sign,
    traceparent: checkedTraceparent(options.traceparent ?? null),
    retry: options.retry ?? DEFAULT_RETRY,
    readSeconds: options.readSeconds ?? 15,
    random: options.random ?? Math.random,
    clock: options.clock ?? systemClock,
    fetch: options.fetch ?? ((...args) => globalThis.fetch(...args)),
    state: stateOf(options, { origin, agentId: principalId, stateDir: options.stateDir }),
  });
}

/** Opened when it is first needed. */
function stateOf({ state }, place) {
  let opened = null;
  const get = () => {
    opened ??= Promise.resolve(state === "memory" ? new MemoryState() : (state ?? platform.openState(place)));
    return opened;
  };
  get.hasKey = async () => (state ? Boolean(await (await get()).key()) : platform.hasKey(place));
  get.close = async () => {
    const closing = opened;
    opened = null;
    await (await closing)?.close();
  };
  return get;
}

/** The origin without a trailing slash; https, or http on loopback, where secrets stay home. */
export function checkedUrl(url) {
  let parts;
  try {
    parts = new URL(url);
  } catch {
    throw new ConfigurationError(`${JSON.stringify(url)} is no base URL; give one like https://inbox.example`);
  }
  if (parts.username || parts.password) {
    throw new ConfigurationError("the base URL must not carry a user name or a password");
  }
  if (!["http:", "https:"].includes(parts.protocol) || parts.pathname !== "/" || parts.search || parts.hash) {
    throw new ConfigurationError(`${parts.href}: the base URL is an http origin, without a path`);
  }
  if (parts.protocol === "http:" && !LOOPBACK.includes(parts.hostname)) {
    throw new ConfigurationError(`${parts.href}: a secret travels only by https, or http on loopback`);
  }
  return parts.origin;
}
