/**
 * What an agent has finished, how far it has read, and its signing key: for as long as this process lives.
 *
 * The one interface of all three kinds. Positions are {cursor, epoch}: everything up to `cursor` was seen, in
 * the history that `epoch` names. `lasting`: whether it outlives the process. `extractable`: whether a
 * signing key is kept as a JWK, where a CryptoKey cannot be.
 */
import { platform } from "./platform.js";

export const RECORD_LIMIT = 10_000;

export class MemoryState {
  lasting = false;
  extractable = false;
  #finished = new Map();
  #position = null;
  #key = null;
  #limit;

  constructor({ limit = RECORD_LIMIT } = {}) {
    this.#limit = limit;
  }

  /** {result} of an event worked before, else null. */
  async find(eventId) {
    return this.#finished.get(eventId) ?? null;
  }

  /** Durable when it resolves, where the kind is; the oldest beyond the limit go. */
  async add(eventId, result) {
    if (this.#finished.has(eventId)) return;
    this.#finished.set(eventId, { result });
    if (this.#finished.size > this.#limit) this.#finished.delete(this.#finished.keys().next().value);
  }

  async position() {
    return this.#position;
  }

  /** Within an epoch a position only moves forward, whoever writes last. */
  async move(position) {
    if (isAhead(this.#position, position)) this.#position = position;
  }

  /** Where to go on after a 410, also backwards. */
  async reset(position) {
    this.#position = position;
  }

  /** {key_id, algorithm, key, renew_at}; `key` is a CryptoKey, or a private JWK where `extractable`. */
  async key() {
    return this.#key;
  }

  async keepKey(key) {
    this.#key = key;
  }

  /** Does `work`, which looks for a key and may make one, one at a time of all that share this. */
  makeKey(work) {
    return work();
  }

  /** A name of one run of an agent, held by it alone: {name, free()}. */
  async consumer(wanted) {
    return { name: wanted ?? `js-${platform.crypto.randomUUID()}`, free: () => {} };
  }

  async close() {}
}

/** Whether `next` may follow `present`. */
export const isAhead = (present, next) =>
  present === null || present.epoch !== next.epoch || present.cursor < next.cursor;
