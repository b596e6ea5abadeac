/** What a handler is given: the event, its fencing numbers, and the word to stop. */
import { RestanteError } from "./errors.js";
import { traceOf } from "./trace.js";

/** The reason of a delivery's signal; a handler lets it pass. */
export class Stopped extends RestanteError {
  constructor(reason) {
    super(`the work is to stop: ${reason}`);
    this.reason = reason;
  }
}

/**
 * One claimed event in the hands of a handler. Hand `signal` to what can be aborted; in long work of your own look at
 * `stopped`, or call throwIfStopped(). A handler that saw `stopped` and returns nothing is taken to have given
 * up; one that finished nevertheless returns new Ack().
 *
 * `traceparent`: the trace of whoever published the event, null where none is known; in Node the handler's own calls
 * name it, in a page those of client.with({ traceparent }). `links`: what a span of this work is to link to instead of
 * going on with it, as the event comes again.
 *
 * `stopReason`: lease_lost (somebody else may hold the event), lease_expired (no renewal got through in time),
 * cancel_requested (the producer took it back; an ack still wins), shutdown; null while the work may go on.
 */
export class Delivery {
  progress = null;
  stopReason = null;
  stopSeen = false;
  #abort = new AbortController();
  #clock;
  #deadline = 0;

  constructor(event, { clock }) {
    this.event = event;
    Object.assign(this, traceOf(event));
    this.#clock = clock;
  }

  /** Aborted, with a Stopped as its reason, when the work is to stop. */
  get signal() {
    return this.#abort.signal;
  }

  /** The event's fencing number: grows with every claim of this event. */
  get generation() {
    return this.event.claim_generation;
  }

  /** For the resource behind the ordering key: grows with every claim in that key. */
  get fence() {
    return this.event.fence ?? null;
  }

  /** What is left of the lease by this machine's clock; renewals have moved it on. */
  get leaseRemainingMs() {
    return Math.max(0, Math.round((this.#deadline - this.#clock.now()) * 1000));
  }

  get stopped() {
    this.stopSeen ||= this.stopReason !== null;
    return this.stopReason !== null;
  }

  /** For the runner: not even a settle is to be tried again (after a cancel, an ack is). */
  get mustStop() {
    return this.stopReason !== null && this.stopReason !== "cancel_requested";
  }

  throwIfStopped() {
    if (this.stopped) throw new Stopped(this.stopReason);
  }

  /** Progress (a JSON object, at most 4 KiB) to be sent with the next renewal. */
  report(progress) {
    this.progress = progress;
  }

  /** For the runner. A lost lease is said even after a milder reason. */
  stop(reason) {
    if (this.stopReason !== null && !["lease_lost", "lease_expired"].includes(reason)) return;
    this.stopReason = reason;
    this.#abort.abort(new Stopped(reason));
  }

  /** For the runner: the lease now lasts until `deadline`. */
  extend(deadline) {
    this.#deadline = deadline;
  }
}
