/** Keeping leases: which to renew now, what a renewal's answer means, which nobody could renew. */
import { Access } from "./board.js";
import * as errors from "./errors.js";
import { NO_RETRY } from "./retry.js";

const BATCH = 100;

/**
 * Its calls are made without retries and with a short read timeout: one that hangs must leave time for the next, and
 * for other leases.
 */
export class Renewal {
  #access;

  constructor({ client, board, leaseSeconds }) {
    const readSeconds = Math.max(1, Math.min(10, leaseSeconds / 10));
    Object.assign(this, { board, leaseSeconds });
    this.client = client.with({ retry: NO_RETRY, readSeconds });
    this.#access = new Access("renewing leases", board.log);
  }

  /** Until the board is closed. */
  async run() {
    const { board } = this;
    while (!board.closed) {
      const left = board.leases.nextAt() - board.clock.now();
      if (left > 0) await board.wait(left);
      else await this.runOnce();
    }
  }

  /** Renew what is due; how many renewals were asked for. */
  async runOnce() {
    const { leases, clock } = this.board;
    const due = leases.due(clock.now());
    if (due.length === 1) await this.#renew(due[0]);
    else for (let at = 0; at < due.length; at += BATCH) await this.#renewMany(due.slice(at, at + BATCH));
    for (const delivery of leases.over(clock.now())) delivery.stop("lease_expired");
    return due.length;
  }

  async #renewMany(batch) {
    const since = this.board.clock.now();
    const lines = batch.map(({ event, progress }) => ({
      event_id: event.event_id,
      claim_generation: event.claim_generation,
      lease_seconds: this.leaseSeconds,
      ...(progress !== null && { progress }),
    }));
    let results;
    try {
      results = await this.client.settle({ renew: lines });
    } catch (error) {
      if (!errors.isRefused(error)) return this.#failed(error, `count=${batch.length}`);
      for (const delivery of batch) await this.#renew(delivery); // one's progress is refused; find out whose
      return;
    }
    const found = new Map(results.map((result) => [result.event_id, result]));
    for (const delivery of batch) {
      const result = found.get(delivery.event.event_id);
      if (result?.error) this.#lost(delivery, result.error);
      else if (result) this.#renewed(delivery, since, result);
    }
  }

  async #renew(delivery) {
    const { event, progress } = delivery;
    try {
      const renewed = await this.client.renew(event.event_id, event.claim_generation, {
        lease_seconds: this.leaseSeconds,
        progress,
      });
      if (delivery.progress === progress) delivery.progress = null;
      this.#renewed(delivery, renewed.sent_at, renewed);
    } catch (error) {
      if (error instanceof errors.StaleClaim || error instanceof errors.NotFound) this.#lost(delivery, error);
      else if (errors.isRefused(error)) delivery.progress = null;
      else this.#failed(error, `event_id=${event.event_id}`);
    }
  }

  #renewed(delivery, since, { lease_remaining_ms: left, cancel_requested: cancel }) {
    this.#access.granted();
    const remainingSeconds = (left ?? this.leaseSeconds * 1000) / 1000;
    this.board.leases.renewed(delivery, { since, remainingSeconds });
    if (cancel) delivery.stop("cancel_requested");
  }

  #lost(delivery, error) {
    this.board.log.warn(`lease-lost event_id=${delivery.event.event_id} reason=${error.reason ?? error.slug}`);
    delivery.stop("lease_lost");
  }

  #failed(error, what) {
    if (!(error instanceof errors.RestanteError)) throw error;
    if (errors.isAccess(error)) this.#access.refused(error);
    else this.board.log.warn(`renew-failed ${what} error=${error.message}`);
  }
}
