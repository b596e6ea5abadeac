/** What the loops of one run share. */
import * as errors from "./errors.js";
import { Leases } from "./leases.js";
import { Pacing } from "./pacing.js";
import { platform } from "./platform.js";

const ENDS = ["claimed", "acked", "known", "released", "failed", "rejected", "stale", "stopped", "unsettled"];

export class Board {
  /** How far the inbox is, as a frame or a look at its stats said: {cursor, epoch}. */
  seenHead = null;
  stopping = false;
  stopAt = 0;
  closed = false;
  fatal = null;
  /** Whether the server took this run's credentials before; whether it allowed a claim before. */
  known = false;
  admitted = false;
  #bell = bell();

  constructor({ clock, random, patient, log }) {
    Object.assign(this, { clock, random, patient, log });
    this.pacing = new Pacing({ random, now: clock.now() });
    this.leases = new Leases({ random });
    this.counts = Object.fromEntries(ENDS.map((end) => [end, 0]));
  }

  /** Wakes all that wait. */
  changed() {
    this.#bell.abort();
    this.#bell = bell();
  }

  /** Until something has changed, or the seconds are over. */
  wait(seconds) {
    return this.clock.sleep(Math.max(0, seconds), this.#bell.signal);
  }

  /** No new claims; a second call stops the waiting for handlers too. */
  stop() {
    this.stopAt = this.stopping ? -Infinity : this.clock.now();
    this.stopping = true;
    this.changed();
  }

  /** Something that no retry mends: end the run, and throw it there. */
  fail(error) {
    if (this.fatal === null) this.log.error(`stop error=${error.message}`);
    this.fatal ??= error;
    this.stop();
  }

  /** Whether to go on in spite of a refusal: what was allowed before may be so again. */
  waitsOut(error) {
    const before = error instanceof errors.InsufficientScope ? this.admitted : this.known;
    return this.patient && before && errors.isAccess(error);
  }

  tellAll(reason) {
    for (const delivery of this.leases.deliveries()) delivery.stop(reason);
  }
}

/** Every delivery may wait for it. */
function bell() {
  const made = new AbortController();
  platform.manyListeners(made.signal);
  return made;
}

/** What the server lets one loop of a run do, said when that changes and not at every try. */
export class Access {
  #refusal = null;

  constructor(what, log) {
    Object.assign(this, { what, log });
  }

  refused(error) {
    const reason = reasonOf(error);
    if (reason === this.#refusal) return;
    this.#refusal = reason;
    this.log.warn(
      `access-lost: ${this.what} is not allowed at the moment (${reason}); asking again, with growing pauses ` +
        "of up to a minute, until it is allowed or this is stopped",
    );
  }

  granted() {
    if (this.#refusal === null) return;
    this.#refusal = null;
    this.log.warn(`access-back: ${this.what} is allowed again`);
  }
}

/** Without the request's id, which is another one at every try. */
function reasonOf(error) {
  if (error instanceof errors.InsufficientScope && error.requiredScope) return `no grant for ${error.requiredScope}`;
  if (error instanceof errors.OAuthError) return `no token: ${error.message}`;
  return error instanceof errors.ApiError ? error.problem.detail || error.slug : error.message;
}
