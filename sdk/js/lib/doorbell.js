/** Opens the stream again and again, and tells the board what it hears. */
import { RestanteError } from "./errors.js";
import { Listening } from "./listening.js";
import { NO_RETRY } from "./retry.js";

export class Doorbell {
  #stream = null;
  #leaves = new AbortController();

  /** `tell` is handed every frame too, and {kind: "lost"} at a stream's end. */
  constructor(client, board, { tell = () => {} } = {}) {
    this.client = client.with({ retry: NO_RETRY });
    this.board = board;
    this.tell = tell;
    this.listening = new Listening(board, { forgetTokens: () => client.forgetTokens() });
  }

  /** Until the board is closed, or until the server says that this is not allowed. */
  async run() {
    for (let wait = 0; !this.board.closed && wait !== null; ) {
      try {
        wait = await this.#listen();
      } catch (error) {
        if (!(error instanceof RestanteError)) throw error;
        wait = this.listening.failed(error);
      }
      this.listening.lost();
      this.tell({ kind: "lost" });
      if (wait !== null) await this.#rest(wait);
    }
  }

  /** End the stream, be it open or being opened. */
  abort() {
    this.#leaves.abort();
    this.#stream?.abort();
  }

  /** One stream to its end; the seconds to wait before the next. */
  async #listen() {
    const { silenceSeconds } = this.listening;
    const stream = await this.client.subscribe({ silenceSeconds, signal: this.#leaves.signal });
    this.#stream = stream;
    try {
      for await (const frame of stream) {
        const wait = this.listening.heard(frame);
        stream.silenceSeconds = this.listening.silenceSeconds;
        this.tell(frame);
        if (wait !== null || this.board.closed) return wait ?? 0;
      }
      return this.listening.ended(stream.retryMs);
    } finally {
      this.#stream = null;
      stream.abort();
    }
  }

  async #rest(seconds) {
    const { board } = this;
    const until = board.clock.now() + seconds;
    while (!board.closed && board.clock.now() < until) await board.wait(until - board.clock.now());
  }
}
