/** The runner: give it a handler, run it, stop it. */
import { Board } from "./board.js";
import { ConfigurationError } from "./errors.js";
import { Doorbell } from "./doorbell.js";
import { Inquiry } from "./inquiry.js";
import { platform } from "./platform.js";
import { Renewal } from "./renewal.js";
import { NO_RETRY } from "./retry.js";
import { Session } from "./session.js";
import { SharedDoorbell } from "./shared_doorbell.js";

/** After handlers were told to stop, what they get before their leases are given back. */
const LAST_SECONDS = 5;
/** For how long a run until the inbox is empty asks a server that does not answer. */
const GIVE_UP_SECONDS = 60;
const QUIET = { info() {}, warn: (text) => console.warn(`restante: ${text}`), error: (text) => console.error(`restante: ${text}`) };

/**
 * Works an agent's inbox: rings, claims, renews, hands events to `handler(delivery)`, settles.
 *
 * The handler returns nothing or a JSON object (done, with that result), or an Ack, Release, Reject or Turn; what it
 * throws is a failed attempt. Up to `concurrency` run at once. An event that was finished before is acked without
 * calling it. `leaseSeconds`: renewed in the background, so it need not cover the work, only outages. `recovery(
 * problem, state)` is called after a 410, before work goes on. `consumer`: the name under which events are held.
 */
export class Agent {
  #board = null;
  #stoppedEarly = false;

  constructor(client, handler, options = {}) {
    this.client = client;
    this.handler = handler;
    this.plan = planOf(options);
    this.log = options.log ?? QUIET;
  }

  /**
   * Work until stopped; with `untilEmpty` until nothing is claimable and all is settled. Resolves to how many
   * deliveries ended how. SIGTERM and SIGINT stop it in Node: handlers finish, the rest is given back; a second
   * one cuts the waiting short. Throws what no retry mends, and a refusal before it was let in or with
   * `untilEmpty`; later ones are waited out: an operator who took a grant away may give it back. With
   * `untilEmpty` it throws, too, what kept the server from answering for `giveUpSeconds` (null: it waits for ever).
   */
  async run({ untilEmpty = false, giveUpSeconds = GIVE_UP_SECONDS, handleSignals = true } = {}) {
    if (giveUpSeconds !== null && !(giveUpSeconds >= 0)) {
      throw new ConfigurationError("giveUpSeconds must not be negative");
    }
    if (this.#board !== null) throw new ConfigurationError("this agent is running already");
    const { clock, random } = this.client.core;
    const board = new Board({ clock, random, patient: !untilEmpty, log: this.log });
    this.#board = board;
    if (this.#stoppedEarly) board.stop();
    const undo = handleSignals ? platform.onStopSignals(() => this.stop()) : () => {};
    try {
      return await this.#run(board, { ...this.plan, untilEmpty, giveUpSeconds: untilEmpty ? giveUpSeconds : null });
    } finally {
      undo();
      this.#board = null;
      this.#stoppedEarly = false;
    }
  }

  /** End the run; a second call does not wait for handlers. */
  stop() {
    if (this.#board === null) this.#stoppedEarly = true;
    else this.#board.stop();
  }

  async #run(board, plan) {
    const { client, handler } = this;
    const state = await client.core.state();
    const { name: consumer, free } = await state.consumer(plan.consumer);
    const asking = client.with({ retry: NO_RETRY });
    try {
      const position = await state.position();
      const inquiry = new Inquiry({ client: asking, board, state, consumer, plan, position });
      const renewal = new Renewal({ client, board, leaseSeconds: plan.leaseSeconds });
      const doorbell = plan.stream ? this.#doorbell(board) : null;
      return await new Session({ client, handler, board, state, inquiry, renewal, doorbell, consumer, plan }).run();
    } finally {
      await free();
    }
  }

  #doorbell(board) {
    return platform.sharesStream() ? new SharedDoorbell(this.client, board) : new Doorbell(this.client, board);
  }
}

function planOf({ concurrency = 1, leaseSeconds = 60, drainSeconds = 20, stream = true, ...rest }) {
  if (!(concurrency >= 1 && concurrency <= 1000)) {
    throw new ConfigurationError("concurrency must be between 1 and 1000");
  }
  if (!(leaseSeconds >= 1 && leaseSeconds <= 43_200)) {
    throw new ConfigurationError("leaseSeconds must be between 1 and 43200");
  }
  if (!(drainSeconds >= 0)) throw new ConfigurationError("drainSeconds must not be negative");
  const { projects, consumer, recovery } = rest;
  return { concurrency, leaseSeconds, drainSeconds, lastSeconds: LAST_SECONDS, stream, projects, consumer, recovery };
}
