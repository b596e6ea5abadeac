/**
 * One stream for all pages of an origin: who holds the lock listens at the server, the others listen to it.
 *
 * When that page goes, its lock goes to the next. A page that hears nothing for 2.5 heartbeats polls, as it would
 * without a stream: what is lost is time.
 */
import { Doorbell } from "./doorbell.js";
import { Listening } from "./listening.js";

export class SharedDoorbell {
  #own;
  #listening;
  #channel;
  #leaves = new AbortController();
  #leads = false;
  #ready = null;
  #heardAt = null;

  constructor(client, board, { locks = navigator.locks, Channel = BroadcastChannel } = {}) {
    this.board = board;
    this.name = `restante ${client.core.baseUrl} ${client.agentId}`;
    this.locks = locks;
    this.#channel = new Channel(this.name);
    this.#own = new Doorbell(client, board, { tell: (frame) => this.#tell(frame) });
    this.#listening = new Listening(board, { forgetTokens: () => client.forgetTokens() });
    this.#channel.onmessage = ({ data }) => this.#hear(data);
  }

  /** Until the board is closed. */
  async run() {
    this.#channel.postMessage({ kind: "who" });
    const led = this.locks.request(this.name, { signal: this.#leaves.signal }, () => this.#lead());
    await Promise.all([led.catch((error) => this.#unlessLeaving(error)), this.#watch()]);
  }

  abort() {
    this.#leaves.abort();
    this.#own.abort();
    this.#channel.close();
  }

  async #lead() {
    if (this.board.closed) return;
    this.#leads = true;
    this.#heardAt = null;
    await this.#own.run();
  }

  #tell(frame) {
    if (frame.kind === "ready") this.#ready = frame;
    if (["lost", "reconnect", "revoked"].includes(frame.kind)) this.#ready = null;
    if (!this.board.closed) this.#channel.postMessage(frame);
  }

  /** What the page that listens says, or another one asks. */
  #hear(frame) {
    if (this.board.closed) return;
    if (this.#leads) {
      if (frame.kind === "who" && this.#ready) this.#channel.postMessage(this.#ready);
      return;
    }
    if (frame.kind === "who") return;
    if (frame.kind === "lost") return this.#lost();
    this.#heardAt = this.board.clock.now();
    // its ends are not ours: that page opens the next stream, and says so
    if (!["reconnect", "revoked"].includes(frame.kind)) this.#listening.heard(frame);
    this.board.changed();
  }

  /** Misses a page that was frozen or killed without a word. */
  async #watch() {
    const { board } = this;
    while (!board.closed) {
      const silent = this.#heardAt === null ? Infinity : this.#heardAt + this.#listening.silenceSeconds;
      if (silent <= board.clock.now()) this.#lost();
      else await board.wait(silent - board.clock.now());
    }
  }

  #lost() {
    this.#heardAt = null;
    this.#listening.lost();
  }

  #unlessLeaving(error) {
    if (error?.name !== "AbortError") throw error;
  }
}
