/** When the doorbell is opened again, and how long it may be silent. Pure. */
import { uniform } from "./clock.js";

const BASE_SECONDS = 1;
const CEILING_SECONDS = 60;
const SILENT_HEARTBEATS = 2.5;

/**
 * Full jitter (0 to twice as much each time), started anew once a stream proved good: by its first frame after
 * `ready`. One that a proxy cuts right after the first bytes must not start the doubling over.
 */
export class Reconnecting {
  #losses = 0;
  #heartbeatSeconds = 30;
  #random;

  constructor({ random }) {
    this.#random = random;
  }

  /** A stream silent for so long is dead. */
  get silenceSeconds() {
    return this.#heartbeatSeconds * SILENT_HEARTBEATS;
  }

  ready(frame) {
    if (frame.heartbeat_seconds > 0) this.#heartbeatSeconds = frame.heartbeat_seconds;
  }

  proven() {
    this.#losses = 0;
  }

  /** Seconds to wait after a stream broke, ended without a word, or could not be opened. */
  afterLoss({ error = null, retryMs = null } = {}) {
    const named = error?.retryAfterSeconds ?? null;
    if (named !== null) return named * uniform(this.#random, 1, 1.25);
    const base = Math.max(BASE_SECONDS, (retryMs ?? 0) / 1000);
    const ceiling = Math.max(base, Math.min(CEILING_SECONDS, base * 2 ** Math.min(this.#losses, 10)));
    this.#losses += 1;
    return uniform(this.#random, 0, ceiling);
  }

  /** Seconds to wait where the server does not allow it: never at once. */
  afterRefusal() {
    const ceiling = Math.min(CEILING_SECONDS, BASE_SECONDS * 2 ** Math.min(this.#losses, 10));
    this.#losses += 1;
    return uniform(this.#random, ceiling / 2, ceiling);
  }

  /** Seconds after a `reconnect` frame. `replaced`: nine would push one another out for ever, so poll a while. */
  afterGoodbye(frame) {
    const wait = ((frame.retry_after_ms ?? 0) / 1000) * uniform(this.#random, 1, 1.25);
    if (frame.reason !== "replaced") return wait;
    return Math.max(wait, uniform(this.#random, CEILING_SECONDS, 2 * CEILING_SECONDS));
  }
}
