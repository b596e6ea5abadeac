/**
 * The names under which processes of an agent hold their leases: the same after a restart, never shared, so that
 * a process that was killed finds what its forerunner held. A slot is a file with the pid of who has it.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rmdir, stat, unlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { ConfigurationError } from "./errors.js";

/** Nobody is inside for longer, so a guard that is older was left by a process that was killed. */
const GUARD_SECONDS = 10;
const SLOTS = 256;

export class Slots {
  /** In this process, which a pid cannot tell apart. */
  static #mine = new Set();

  constructor(folder) {
    this.folder = folder;
  }

  /** {name, free()}; a name that is `wanted` must be free. */
  take(wanted) {
    return guarded(join(this.folder, "guard"), GUARD_SECONDS, async () => {
      const slots = wanted === undefined ? Array.from({ length: SLOTS }, (_, slot) => String(slot)) : [wanted];
      for (const slot of slots) {
        const path = join(this.folder, `consumer-${encodeURIComponent(slot)}.pid`);
        if (await isTaken(path, Slots.#mine)) continue;
        await writeFile(path, String(process.pid), { mode: 0o600 });
        Slots.#mine.add(path);
        const name = wanted ?? `${host()}-${await this.#installation()}-${slot}`;
        return { name, free: () => this.#free(path) };
      }
      throw new ConfigurationError(
        wanted === undefined
          ? `${SLOTS} consumers of this agent run here already`
          : `another process here is already the consumer ${wanted}; choose another name`,
      );
    });
  }

  /** Does `work` unless another process is there: nobody else appends meanwhile. */
  whenAlone(work) {
    return guarded(join(this.folder, "guard"), GUARD_SECONDS, async () => {
      for (const name of await readdir(this.folder)) {
        const path = join(this.folder, name);
        const mine = Slots.#mine.has(path);
        if (/^consumer-.*\.pid$/.test(name) && !mine && (await isTaken(path, Slots.#mine))) return;
      }
      await work();
    });
  }

  async #free(path) {
    Slots.#mine.delete(path);
    await unlink(path).catch(() => {});
  }

  /** Six random digits kept in the folder: hosts in containers often share a name. */
  async #installation() {
    const path = join(this.folder, "installation");
    const kept = await readFile(path, "utf8").catch(() => null);
    if (kept !== null) return kept.trim();
    const made = randomBytes(3).toString("hex");
    await writeFile(path, made, { mode: 0o600 });
    return made;
  }
}

/** One process at a time: `path` is a folder that is there while one is inside. */
export async function guarded(path, seconds, work) {
  for (;;) {
    try {
      await mkdir(path);
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      const age = Date.now() - ((await stat(path).catch(() => null))?.mtimeMs ?? Date.now());
      if (age > seconds * 1000) await rmdir(path).catch(() => {});
      else await sleep(20);
    }
  }
  try {
    return await work();
  } finally {
    await rmdir(path).catch(() => {});
  }
}

async function isTaken(path, mine) {
  if (mine.has(path)) return true;
  const pid = Number(await readFile(path, "utf8").catch(() => ""));
  if (!pid || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

const host = () => hostname().replace(/[^A-Za-z0-9._-]/g, "").slice(0, 40) || "host";
