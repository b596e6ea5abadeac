/** An open doorbell: frames of server-sent events from a fetch that carries Authorization. */
import { TimedOut, UnexpectedAnswer, Unreachable } from "./errors.js";
import { lost } from "./http.js";

/** Frames are small; what is larger than this is not a doorbell. */
const FRAME_LIMIT = 65_536;
const KINDS = ["ready", "inbox_updated", "heartbeat", "reconnect", "revoked"];

/**
 * Iterate it for frames {kind, ...data}; it ends when the server closes. `retryMs`: the server's `retry:`.
 * `silenceSeconds` without a byte: TimedOut.
 */
export class DoorbellStream {
  retryMs = null;

  constructor({ response, abort }, { clock, silenceSeconds }) {
    this.silenceSeconds = silenceSeconds;
    this.#clock = clock;
    this.#response = response;
    this.#abort = abort;
  }

  #clock;
  #response;
  #abort;

  /** End the iteration from elsewhere. */
  abort() {
    this.#abort.abort(new Unreachable("the stream was closed"));
  }

  async *[Symbol.asyncIterator]() {
    const kind = this.#response.headers.get("content-type") ?? "no content type";
    if (!kind.startsWith("text/event-stream")) {
      this.abort();
      throw new UnexpectedAnswer(`this is no doorbell: ${kind}`);
    }
    const reader = this.#response.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await this.#read(reader);
        if (done) return;
        // a CR that ends a chunk may be half of CR LF
        text = (text + decoder.decode(value, { stream: true })).replace(/\r\n|\r(?!$)/g, "\n");
        const blocks = text.split("\n\n");
        text = blocks.pop();
        if (text.length > FRAME_LIMIT) throw new UnexpectedAnswer("this is no doorbell: a frame without an end");
        for (const block of blocks) {
          const frame = this.#frame(block);
          if (frame) yield frame;
        }
      }
    } finally {
      this.abort();
    }
  }

  async #read(reader) {
    const heard = new AbortController();
    this.#clock.sleep(this.silenceSeconds, heard.signal).then(() => {
      if (heard.signal.aborted) return;
      this.#abort.abort(new TimedOut(`the stream was silent for ${this.silenceSeconds} s`));
    });
    try {
      return await reader.read();
    } catch (error) {
      throw lost(error, this.#abort.signal);
    } finally {
      heard.abort();
    }
  }

  #frame(block) {
    let kind = "message";
    const data = [];
    for (const line of block.split("\n")) {
      const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
      if (name === "event") kind = value ?? "";
      if (name === "data") data.push(value ?? "");
      if (name === "retry" && /^\d+$/.test(value ?? "")) this.retryMs = Number(value);
    }
    if (kind === "message" && !data.length) return null;
    if (!KINDS.includes(kind)) return { kind: "unknown", name: kind };
    return { ...membersOf(data.join("\n"), kind), kind };
  }
}

function membersOf(text, kind) {
  try {
    const members = text ? JSON.parse(text) : {};
    if (members !== null && typeof members === "object") return members;
  } catch {
    // told below
  }
  throw new UnexpectedAnswer(`the data of the frame ${kind} is no JSON object`);
}
