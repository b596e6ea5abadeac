/** From what a handler did to the verb that says so to the server. */
import { RestanteError } from "./errors.js";
import { Stopped } from "./delivery.js";

const RESULT_LIMIT_BYTES = 8 * 1024;
const CODE_LIMIT = 100;
const MESSAGE_LIMIT = 1_000;

/** Done. `result`: a JSON object of at most 8 KiB, kept with the event. */
export class Ack {
  constructor(result = null) {
    this.result = result;
  }
}

/** Given back; without `error` {code, message, outcome} the attempt is not counted. */
export class Release {
  constructor({ delay_seconds = null, error = null } = {}) {
    Object.assign(this, { delay_seconds, error });
  }
}

/** The event can never succeed: into quarantine now. */
export class Reject {
  constructor(reason) {
    this.reason = reason;
  }
}

/**
 * An answer, its follow-ups and what was learnt, all or nothing. `ack`: the result; or give a `release` or a
 * `reject` instead. `publish`: publications. `memory`: values by key in the event's project (null deletes), or
 * a list of {project, key, value, if_version?}.
 */
export class Turn {
  constructor({ ack = null, release = null, reject = null, publish = [], memory = [] } = {}) {
    Object.assign(this, { ack, release, reject, publish, memory });
  }

  /** How a turn of `verbOfResult` ends the lease. */
  get end() {
    return this.release ?? this.reject ?? this.ack ?? new Ack();
  }
}

/** Thrown by a handler to name the failure; any other error is named after its class. */
export class AttemptFailed extends RestanteError {
  constructor(code, message = "", { outcome = "failed", delay_seconds = null } = {}) {
    super(message ? `${code}: ${message}` : code);
    this.failure = failed(code, message, outcome);
    this.delay_seconds = delay_seconds;
  }
}

/** What to settle after a handler returned; null: nothing, the lease is not ours any more. */
export function verbOfResult(delivery, result) {
  const nothing = result === undefined || result === null;
  if (nothing && delivery.stopSeen) return verbOfStop(delivery);
  if (result instanceof Turn) return turnOf(delivery, result);
  if (result instanceof Ack) return new Ack(fitting(result.result));
  if (result instanceof Reject) {
    return new Reject(wellFormed(result.reason ?? "").slice(0, MESSAGE_LIMIT) || "rejected by its handler");
  }
  if (result instanceof Release) {
    const { delay_seconds, error } = result;
    return new Release({ delay_seconds, error: error && failed(error.code, error.message, error.outcome) });
  }
  if (nothing || isObject(result)) return new Ack(fitting(result ?? null));
  const told = `the handler returned ${Array.isArray(result) ? "a list" : `a ${typeof result}`}`;
  return new Release({ error: failed("handler_result", `${told}: not nothing, an object or a verb`) });
}

/** What to settle after a handler threw. */
export function verbOfError(delivery, error) {
  // what fetch and its like throw of an aborted signal is its reason, or an AbortError
  const gaveUp = error instanceof Stopped || error?.name === "AbortError";
  if (gaveUp && delivery.stopReason !== null) return verbOfStop(delivery);
  if (error instanceof AttemptFailed) {
    return new Release({ delay_seconds: error.delay_seconds, error: error.failure });
  }
  return new Release({ error: failed(error?.name ?? "error", error?.message ?? String(error)) });
}

/** A handler that stopped when told: give back what is still ours. */
export function verbOfStop(delivery) {
  return ["cancel_requested", "shutdown"].includes(delivery.stopReason) ? new Release() : null;
}

/** A turn that was refused for what it says: nothing of it was done, and the attempt failed. */
export function refusedTurn(error) {
  return new Release({
    error: failed(error.slug.replaceAll("-", "_"), `the turn was refused: ${error.message}`, "none"),
  });
}

/** A failure within the lengths that every server takes; the end of a message says most. */
export function failed(code, message, outcome = "failed") {
  return {
    code: wellFormed(code ?? "").slice(0, CODE_LIMIT) || "error",
    message: wellFormed(message ?? "").slice(-MESSAGE_LIMIT),
    outcome,
  };
}

/** A text without lone surrogates, which no server takes. */
const wellFormed = (text) => String(text).replaceAll(/\p{Surrogate}/gu, "\uFFFD");

/** The same end without its words; null: it had none. */
export function bareOf(verb) {
  if (verb instanceof Ack && verb.result !== null) return new Ack();
  const worded = verb instanceof Release && (verb.error !== null || verb.delay_seconds !== null);
  return worded ? new Release() : null;
}

/** The turn with one end of the lease, and its memory as writes. */
function turnOf(delivery, turn) {
  const ends = ["ack", "release", "reject"].filter((name) => turn[name] !== null && turn[name] !== undefined);
  if (ends.length > 1) {
    return new Release({ error: failed("handler_result", "a turn has one of ack, release and reject") });
  }
  const end = verbOfResult(delivery, turn[ends[0]] ?? new Ack());
  const { project } = delivery.event;
  const memory = Array.isArray(turn.memory)
    ? turn.memory
    : Object.entries(turn.memory).map(([key, value]) => ({ project, key, value: value ?? null }));
  try {
    JSON.stringify([memory, turn.publish]);
  } catch (error) {
    return new Release({ error: failed("handler_result", `the turn is no JSON: ${error.message}`) });
  }
  return new Turn({
    ack: end instanceof Ack ? end : null,
    release: end instanceof Release ? end : null,
    reject: end instanceof Reject ? end : null,
    publish: turn.publish,
    memory,
  });
}

/** The work is done. A result that cannot be kept must not make it be done again. */
function fitting(result) {
  if (result === null || result === undefined) return null;
  try {
    const text = isObject(result) ? JSON.stringify(result) : undefined;
    if (text !== undefined && new TextEncoder().encode(text).length <= RESULT_LIMIT_BYTES) return JSON.parse(text);
  } catch {
    // a circle, or a BigInt
  }
  return null;
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
