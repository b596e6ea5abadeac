/** The same in IndexedDB, shared by the pages of an origin; a signing key in it cannot be read out. */
import { ConfigurationError } from "./errors.js";
import { platform } from "./platform.js";
import { isAhead, RECORD_LIMIT } from "./state_memory.js";

const FINISHED = "finished";
const ONE = "one";
const SLOTS = 256;

/** A state for an agent of one server. */
export async function openIndexedDb({ origin, agentId, limit = RECORD_LIMIT }) {
  const name = `restante ${origin} ${agentId}`;
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => {
    const made = opening.result.createObjectStore(FINISHED, { keyPath: "number", autoIncrement: true });
    made.createIndex("event_id", "event_id", { unique: true });
    opening.result.createObjectStore(ONE);
  };
  return new IndexedDbState(await done(opening), name, limit);
}

class IndexedDbState {
  lasting = true;
  extractable = false;
  #db;
  #name;
  #limit;

  constructor(db, name, limit) {
    this.#db = db;
    this.#name = name;
    this.#limit = limit;
  }

  async find(eventId) {
    const store = this.#db.transaction(FINISHED).objectStore(FINISHED);
    return (await done(store.index("event_id").get(eventId))) ?? null;
  }

  async add(eventId, result) {
    await this.#change(FINISHED, (store) => {
      const look = store.index("event_id").getKey(eventId);
      look.onsuccess = () => {
        if (look.result !== undefined) return;
        const put = store.add({ event_id: eventId, result });
        put.onsuccess = () => {
          const last = put.result - this.#limit;
          if (last > 0) store.delete(IDBKeyRange.upperBound(last));
        };
      };
    });
  }

  async position() {
    return (await done(this.#db.transaction(ONE).objectStore(ONE).get("position"))) ?? null;
  }

  async move(position) {
    await this.#change(ONE, (store) => {
      const look = store.get("position");
      look.onsuccess = () => {
        if (isAhead(look.result ?? null, position)) store.put(position, "position");
      };
    });
  }

  async reset(position) {
    await this.#change(ONE, (store) => store.put(position, "position"));
  }

  async key() {
    return (await done(this.#db.transaction(ONE).objectStore(ONE).get("key"))) ?? null;
  }

  async keepKey(key) {
    await this.#change(ONE, (store) => (key === null ? store.delete("key") : store.put(key, "key")));
  }

  makeKey(work) {
    return globalThis.navigator?.locks ? navigator.locks.request(`${this.#name} key`, work) : work();
  }

  /** The first free slot of the origin, held by a lock: the same name after a reload, never two at once. */
  async consumer(wanted) {
    const names = wanted === undefined ? Array.from({ length: SLOTS }, (_, slot) => slot) : [wanted];
    if (!globalThis.navigator?.locks) {
      return { name: wanted ?? `page-${platform.crypto.randomUUID()}`, free: () => {} };
    }
    const installation = await this.#installation();
    for (const one of names) {
      const free = await hold(`${this.#name} consumer ${one}`);
      if (free) return { name: wanted ?? `page-${installation}-${one}`, free };
    }
    throw new ConfigurationError(
      wanted === undefined
        ? `${SLOTS} consumers of this agent run in this browser already`
        : `another page is already the consumer ${wanted}; choose another name`,
    );
  }

  async close() {
    this.#db.close();
  }

  async #installation() {
    const fresh = platform.crypto.randomUUID().slice(0, 8);
    let found = fresh;
    await this.#change(ONE, (store) => {
      const look = store.get("installation");
      look.onsuccess = () => {
        found = look.result ?? fresh;
        if (look.result === undefined) store.put(fresh, "installation");
      };
    });
    return found;
  }

  #change(name, work) {
    return new Promise((resolve, reject) => {
      const transaction = this.#db.transaction(name, "readwrite", { durability: "strict" });
      transaction.oncomplete = () => resolve();
      transaction.onabort = transaction.onerror = () => reject(transaction.error);
      work(transaction.objectStore(name));
    });
  }
}

/** What ends holding the lock; null: somebody has it. */
function hold(name) {
  return new Promise((resolve, reject) => {
    navigator.locks
      .request(name, { ifAvailable: true }, (lock) =>
        lock === null ? resolve(null) : new Promise((free) => resolve(() => free())),
      )
      .catch(reject);
  });
}

const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
