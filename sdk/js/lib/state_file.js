/**
 * The same in a folder, for Node. `record.jsonl` holds a line for each event that was finished; lines are only
 * appended, so that several processes share it. It is rewritten by a process that is alone.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

import { ConfigurationError } from "./errors.js";
import { guarded, Slots } from "./slots.js";
import { isAhead, RECORD_LIMIT } from "./state_memory.js";

const POSITION_FILE = "position.json";
const KEY_FILE = "signing-key.json";
/** Longer than the calls that make a key. */
const KEY_SECONDS = 120;

/** Where an agent's files are: in `stateDir`, RESTANTE_STATE_DIR, or the user's own place for state. */
export function stateFolder(origin, agentId, stateDir) {
  const state = process.env.XDG_STATE_HOME || join(homedir(), ".local", "state");
  const base = stateDir || process.env.RESTANTE_STATE_DIR || join(state, "restante-agent-js");
  const server = createHash("sha256").update(origin).digest("hex").slice(0, 16);
  return join(base, `${server}-${agentId}`);
}

/** Whether a signing key is kept; makes no folder. */
export async function hasKey({ origin, agentId, stateDir }) {
  return (await readKey(stateFolder(origin, agentId, stateDir))) !== null;
}

/** A key that others may read, or that is broken, is not used. */
async function readKey(folder) {
  const path = join(folder, KEY_FILE);
  try {
    if (process.platform !== "win32" && (await stat(path)).mode & 0o077) return null;
    const key = JSON.parse(await readFile(path, "utf8"));
    return typeof key?.key_id === "string" ? key : null;
  } catch {
    return null;
  }
}

export async function openFiles({ origin, agentId, stateDir, limit = RECORD_LIMIT }) {
  const folder = stateFolder(origin, agentId, stateDir);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const record = await open(join(folder, "record.jsonl"), "a+", 0o600);
    return new FileState(folder, record, limit);
  } catch (error) {
    throw new ConfigurationError(
      `the state folder ${folder} cannot be used (${error.message}); mend it, or choose another stateDir`,
      { cause: error },
    );
  }
}

class FileState {
  lasting = true;
  extractable = true;
  #folder;
  #record;
  #limit;
  #slots;
  #finished = new Map();
  #readTo = 0;
  #lines = 0;
  #turn = Promise.resolve();

  constructor(folder, record, limit) {
    this.#folder = folder;
    this.#record = record;
    this.#limit = limit;
    this.#slots = new Slots(folder);
  }

  find(eventId) {
    return this.#alone(async () => {
      await this.#catchUp();
      return this.#finished.get(eventId) ?? null;
    });
  }

  add(eventId, result) {
    return this.#alone(async () => {
      await this.#catchUp();
      if (this.#finished.has(eventId)) return;
      // begun with a line break: what a process that was killed left half written stays a line of its own
      await this.#record.appendFile(`\n${JSON.stringify({ event_id: eventId, result })}\n`);
      await this.#record.datasync();
      await this.#catchUp();
      if (this.#lines > 2 * this.#limit) await this.#slots.whenAlone(() => this.#rewrite());
    });
  }

  async position() {
    const path = join(this.#folder, POSITION_FILE);
    const text = await readFile(path, "utf8").catch(() => "null");
    try {
      return JSON.parse(text);
    } catch {
      throw new ConfigurationError(`${path} is no JSON; mend it or remove it`);
    }
  }

  move(position) {
    return this.#alone(async () => {
      if (isAhead(await this.position(), position)) await this.#write(POSITION_FILE, position);
    });
  }

  reset(position) {
    return this.#alone(() => this.#write(POSITION_FILE, position));
  }

  key() {
    return readKey(this.#folder);
  }

  keepKey(key) {
    return this.#write(KEY_FILE, key);
  }

  makeKey(work) {
    return guarded(join(this.#folder, "key-guard"), KEY_SECONDS, work);
  }

  consumer(wanted) {
    return this.#slots.take(wanted);
  }

  close() {
    return this.#alone(() => this.#record.close());
  }

  /** One after the other, whatever comes of the one before. */
  #alone(work) {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => {});
    return mine;
  }

  /** Take in what any process has appended since. */
  async #catchUp() {
    const path = join(this.#folder, "record.jsonl");
    const [held, there] = [await this.#record.stat(), await stat(path).catch(() => null)];
    if (there === null || there.ino !== held.ino) await this.#reopen(path);
    const { size } = await this.#record.stat();
    if (size <= this.#readTo) return;
    const { buffer, bytesRead } = await this.#record.read({
      buffer: Buffer.alloc(size - this.#readTo),
      position: this.#readTo,
    });
    const whole = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1;
    this.#readTo += whole;
    for (const line of buffer.subarray(0, whole).toString().split("\n")) this.#take(line);
  }

  #take(line) {
    if (!line) return;
    let entry;
    try {
      entry = JSON.parse(line);
    } catch {
      return; // half a line of a process that was killed: its event was not acked either
    }
    this.#lines += 1;
    this.#finished.set(entry.event_id, { result: entry.result });
    if (this.#finished.size > this.#limit) this.#finished.delete(this.#finished.keys().next().value);
  }

  async #reopen(path) {
    await this.#record.close();
    this.#record = await open(path, "a+", 0o600);
    this.#finished.clear();
    this.#readTo = this.#lines = 0;
  }

  async #rewrite() {
    await this.#catchUp();
    const entries = [...this.#finished].map(([event_id, { result }]) => JSON.stringify({ event_id, result }));
    await this.#replace("record.jsonl", `${entries.join("\n")}\n`);
    await this.#reopen(join(this.#folder, "record.jsonl"));
    await this.#catchUp();
  }

  #write(name, value) {
    return this.#replace(name, JSON.stringify(value));
  }

  /** Renamed into place whole: a reader never sees half of it. */
  async #replace(name, text) {
    const draft = join(this.#folder, `${name}.${randomBytes(6).toString("hex")}`);
    const file = await open(draft, "wx", 0o600);
    try {
      await writeFile(file, text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, join(this.#folder, name));
  }
}
