/** The leases held: when each is to be renewed, when each is over. Bookkeeping; instants are seconds. */
import { uniform } from "./clock.js";

/** A renewal starts at a third of the lease, so that two more tries fit in before half is gone. */
const RENEW_FROM = 0.28;
const RENEW_TO = 0.36;
const RETRY_SHARE = 0.08;
const GONE = ["lease_lost", "lease_expired"];

export class Leases {
  #held = new Map();
  #random;

  constructor({ random }) {
    this.#random = random;
  }

  get size() {
    return this.#held.size;
  }

  deliveries() {
    return [...this.#held.values()].map(({ delivery }) => delivery);
  }

  take(delivery, { since, remainingSeconds }) {
    const deadline = since + remainingSeconds;
    const renewAt = since + remainingSeconds * uniform(this.#random, RENEW_FROM, RENEW_TO);
    this.#held.set(delivery, { delivery, length: remainingSeconds, deadline, renewAt });
    delivery.extend(deadline);
  }

  drop(delivery) {
    this.#held.delete(delivery);
  }

  /** Leases to renew now; each is put off, so that a failed renewal is tried again soon. */
  due(now) {
    const found = this.#live().filter((lease) => lease.renewAt <= now);
    for (const lease of found) lease.renewAt = now + Math.max(0.2, lease.length * RETRY_SHARE);
    return found.map(({ delivery }) => delivery);
  }

  renewed(delivery, times) {
    if (this.#held.has(delivery)) this.take(delivery, times);
  }

  /** Deliveries whose lease nobody could renew in time and that were not told yet. */
  over(now) {
    return this.#live().filter(({ deadline }) => deadline <= now).map(({ delivery }) => delivery);
  }

  /** The next instant at which `due` or `over` has something. */
  nextAt() {
    return Math.min(...this.#live().map(({ renewAt, deadline }) => Math.min(renewAt, deadline)), Infinity);
  }

  #live() {
    return [...this.#held.values()].filter(({ delivery }) => !GONE.includes(delivery.stopReason));
  }
}
