/** What the doorbell's frames and failures mean for a run. */
import { Access } from "./board.js";
import * as errors from "./errors.js";
import { Reconnecting } from "./reconnect.js";

/** Told of every frame and every end of a stream; says how long to wait before the next. */
export class Listening {
  #policy;
  #access;
  #epoch = "";

  constructor(board, { forgetTokens }) {
    Object.assign(this, { board, forgetTokens });
    this.#policy = new Reconnecting({ random: board.random });
    this.#access = new Access("listening for rings (polling goes on)", board.log);
  }

  get silenceSeconds() {
    return this.#policy.silenceSeconds;
  }

  /** Take in one frame; seconds to wait if it ends the stream, else null. */
  heard(frame) {
    switch (frame.kind) {
      case "ready":
        return this.#ready(frame);
      case "inbox_updated":
        this.#policy.proven();
        this.#note(frame.cursor_hint);
        this.#ring();
        return null;
      case "heartbeat":
        this.#policy.proven();
        return null;
      case "reconnect":
        return this.#policy.afterGoodbye(frame);
      case "revoked":
        // perhaps only this token: the next connection shows, with a new one
        this.board.log.warn("stream-revoked");
        this.forgetTokens();
        return this.#policy.afterLoss();
      default:
        return null;
    }
  }

  /** The stream ended without a word; seconds to wait. */
  ended(retryMs) {
    return this.#policy.afterLoss({ retryMs });
  }

  /** The stream broke or could not be opened; seconds to wait, null: open it no more. */
  failed(error) {
    const { board } = this;
    if (board.closed) return null;
    // an agent may be granted claim alone, so without read it polls, whenever that shows
    if (error instanceof errors.InsufficientScope || board.waitsOut(error)) {
      this.#access.refused(error);
      return this.#policy.afterRefusal();
    }
    if (errors.isAccess(error) || error instanceof errors.NotFound) {
      board.fail(error);
      return null;
    }
    return this.#policy.afterLoss({ error });
  }

  /** No stream is open from now on. */
  lost() {
    this.board.pacing.streamLost(this.board.clock.now());
    this.board.changed();
  }

  #ready(frame) {
    this.#policy.ready(frame);
    this.#access.granted();
    this.#epoch = frame.epoch ?? "";
    this.#note(frame.head);
    this.board.known = true;
    this.board.pacing.streamOpened();
    if (frame.claimable) this.board.pacing.ring();
    this.board.changed();
    return null;
  }

  #ring() {
    this.board.pacing.ring();
    this.board.changed();
  }

  #note(cursor) {
    if (this.#epoch) this.board.seenHead = { cursor, epoch: this.#epoch };
  }
}
