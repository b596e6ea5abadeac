/**
 * When to look into the inbox: rung, due, or held back by the server.
 *
 * With a stream the doorbell says when; a look every few minutes makes good a ring that got lost. Without one:
 * after 1 s, doubling to 5 min while nothing comes, 1 s again after an event. The server's `next_poll_ms` and
 * `Retry-After` are never undercut. Pure: told what happened and what time it is; all times in seconds.
 */
import { uniform } from "./clock.js";

export const POLL_FLOOR_SECONDS = 1;
export const POLL_CEILING_SECONDS = 300;
const FAILURE_CEILING_SECONDS = 60;

export class Pacing {
  streamUp = false;
  #random;
  #due;
  #heldBackUntil = -Infinity;
  #rung = false;
  #ladder = POLL_FLOOR_SECONDS;
  #failures = 0;
  #failingSince = 0;

  constructor({ random, now }) {
    this.#random = random;
    this.#due = now;
  }

  /** The instant of the next claim; in the past: now. */
  dueAt() {
    return Math.max(this.#heldBackUntil, this.#rung ? -Infinity : this.#due);
  }

  /** Something may be claimable: a frame said so, or a lease of ours has just ended. */
  ring() {
    this.#rung = true;
  }

  streamOpened() {
    this.streamUp = true;
  }

  /** What was rung while it fell is not known, so look soon. */
  streamLost(now) {
    if (!this.streamUp) return;
    this.streamUp = false;
    this.#ladder = POLL_FLOOR_SECONDS;
    this.#due = Math.min(this.#due, now + this.#spread(POLL_FLOOR_SECONDS));
  }

  /** A claim is about to be sent: rings from here on are not answered by it. */
  asking() {
    this.#rung = false;
  }

  answered(claim, { asked, now }) {
    this.#failures = 0;
    let named = (claim.next_poll_ms ?? 0) / 1000;
    if (claim.events.length) {
      this.#ladder = POLL_FLOOR_SECONDS;
      if (claim.claimable || claim.events.length >= asked) this.#rung = true;
    } else if (claim.spent) {
      this.#rung = true;
    } else if (claim.claimable && !claim.reason) {
      this.#ladder = POLL_FLOOR_SECONDS;
      if (this.streamUp) named = Math.min(named, POLL_FLOOR_SECONDS);
      this.#due = now + this.#spread(Math.max(this.#ladder, named));
      return;
    }
    const pause = this.streamUp && !claim.next_poll_ms ? POLL_CEILING_SECONDS : Math.max(this.#ladder, named);
    this.#due = now + this.#spread(pause);
    if (!claim.events.length) this.#ladder = Math.min(POLL_CEILING_SECONDS, this.#ladder * 2);
  }

  /** No answer, or one that asks to come back: full jitter, or what the server named. */
  failed(error, { now }) {
    const named = error.retryAfterSeconds ?? null;
    const ceiling = Math.min(FAILURE_CEILING_SECONDS, POLL_FLOOR_SECONDS * 2 ** Math.min(this.#failures, 10));
    const wait = named === null ? uniform(this.#random, 0.1, ceiling) : this.#spread(named);
    if (!this.#failures) this.#failingSince = now;
    this.#failures += 1;
    this.#heldBackUntil = now + wait;
    this.#rung = true;
  }

  /** Whether the next try would come later than this after the first that failed since an answer. */
  givesUp(afterSeconds) {
    return this.#failures > 0 && this.dueAt() > this.#failingSince + afterSeconds;
  }

  /** Upwards only: the server's waits are the least it asks for. */
  #spread(seconds) {
    return seconds * uniform(this.#random, 1, 1.2);
  }
}
