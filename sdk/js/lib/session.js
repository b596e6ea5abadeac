/** One run: how much is claimed and when, what is held, and how it ends. */
import { ConfigurationError, RestanteError } from "./errors.js";
import { Delivery } from "./delivery.js";
import { work } from "./work.js";

const FAREWELL = { attempts: 3, budgetSeconds: 3, baseSeconds: 0.25, capSeconds: 10 };

export class Session {
  #nothingLeft = false;

  constructor(parts) {
    Object.assign(this, parts);
  }

  async run() {
    const { board, inquiry } = this;
    const loops = [this.renewal, ...(this.doorbell ? [this.doorbell] : [])].map((one) => this.#guarded(() => one.run()));
    try {
      for (let limit = await this.#due(); limit; limit = await this.#due()) {
        const claim = await inquiry.claim(limit);
        if (claim !== null) this.#begin(claim, limit);
      }
    } catch (error) {
      board.fail(error);
    } finally {
      await this.#end();
      await Promise.all(loops);
    }
    if (board.fatal !== null) throw board.fatal;
    return { ...board.counts };
  }

  /** A loop that ends of a defect must not leave a runner that only looks alive. */
  async #guarded(loop) {
    try {
      await loop();
    } catch (error) {
      if (!this.board.closed) this.board.fail(new ConfigurationError(`the runner failed: ${error}`, { cause: error }));
    }
  }

  /** Waits until a claim is due and a place is free; how many are, 0: no more claims. */
  async #due() {
    const { board, plan } = this;
    for (;;) {
      if (board.stopping || (plan.untilEmpty && this.#nothingLeft)) return 0;
      const free = plan.concurrency - board.leases.size;
      const left = board.pacing.dueAt() - board.clock.now();
      if (free > 0 && left <= 0) return free;
      await board.wait(free > 0 ? left : Infinity);
    }
  }

  #begin(claim, asked) {
    const { board, plan } = this;
    // only a claim made while nothing was held proves that nothing is left: the end of a handler may have made the
    // next event of its key claimable
    const alone = asked === plan.concurrency;
    this.#nothingLeft = alone && !(claim.events.length || claim.claimable || claim.spent);
    for (const event of claim.events) {
      const delivery = new Delivery(event, { clock: board.clock });
      board.leases.take(delivery, { since: claim.sent_at, remainingSeconds: event.lease_remaining_ms / 1000 });
      board.counts.claimed += 1;
      board.log.info(`claim event_id=${event.event_id} generation=${event.claim_generation}`);
      this.#guarded(() => this.#work(delivery));
    }
    board.changed();
  }

  async #work(delivery) {
    const { board, client, state, handler } = this;
    const pause = (one, seconds) => this.#pause(one, seconds);
    let end = "unsettled";
    try {
      end = await work(delivery, { client, state, handler, random: board.random, pause, log: board.log });
    } finally {
      board.log.info(`${end} event_id=${delivery.event.event_id}`);
      board.leases.drop(delivery);
      board.counts[end] += 1;
      // the key's next event has just become claimable
      if (delivery.event.ordering_key || this.plan.untilEmpty) board.pacing.ring();
      board.changed();
    }
  }

  async #pause(delivery, seconds) {
    const { board } = this;
    const until = board.clock.now() + seconds;
    while (!board.closed && !delivery.mustStop && board.clock.now() < until) {
      await board.wait(until - board.clock.now());
    }
  }

  /** Finish or give back what is held, then close. Bounded by the drain and the last seconds. */
  async #end() {
    const { board, plan, inquiry } = this;
    if (!board.stopping) board.stop();
    const patience = board.fatal === null ? plan.drainSeconds : 0;
    if (!(await this.#emptyBy(() => board.stopAt + patience))) {
      board.tellAll("shutdown");
      const until = board.clock.now() + plan.lastSeconds;
      await this.#emptyBy(() => until);
    }
    if (board.leases.size || inquiry.uncertain) await this.#giveBack();
    board.closed = true;
    board.changed();
    this.doorbell?.abort();
  }

  async #emptyBy(deadline) {
    const { board } = this;
    while (board.leases.size) {
      const left = deadline() - board.clock.now();
      if (left <= 0) return false;
      await board.wait(left);
    }
    return true;
  }

  async #giveBack() {
    const { board, client, consumer } = this;
    try {
      await client.with({ retry: FAREWELL, readSeconds: 5 }).releaseAll({ consumer });
    } catch (error) {
      if (!(error instanceof RestanteError)) throw error;
      board.log.warn(`give-back failed error=${error.message}; the leases end by themselves`);
    }
  }
}
