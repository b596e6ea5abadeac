/** What an agent remembers, as this process has seen it: of each key the highest version. */
export class MemoryView {
  #entries = new Map();
  #epoch = "";
  #revision = null;

  /** Everything up to it is in here; null: nothing was fetched yet. */
  get revision() {
    return this.#revision;
  }

  /** The entry as it was seen last; null: it is not there. */
  get(project, key) {
    const entry = this.#entries.get(nameOf({ project, key }));
    return entry && !entry.deleted ? entry : null;
  }

  /** All values of a project, by key. */
  values(project) {
    return Object.fromEntries(
      this.entries().filter((entry) => entry.project === project).map(({ key, value }) => [key, value]),
    );
  }

  /** All that is there. */
  entries() {
    return [...this.#entries.values()].filter(({ deleted }) => !deleted);
  }

  /** Take entries in, in any order: of each key the higher version stays. */
  take(entries) {
    for (const entry of entries) {
      const known = this.#entries.get(nameOf(entry));
      if (!known || known.version < entry.version) this.#entries.set(nameOf(entry), entry);
    }
  }

  /** Take in a page of changes, read after `revision`. */
  goOn(changes) {
    this.take(changes.entries);
    this.#revision = Math.max(this.#revision ?? 0, changes.memory_revision);
  }

  /**
   * Take in a whole state, its `memory` that of all pages. What it has not is gone, unless it was written after it;
   * of another epoch nothing is kept.
   */
  replace(state) {
    const at = state.memory_revision ?? 0;
    const kept = ["", state.epoch].includes(this.#epoch) ? [...this.#entries] : [];
    this.#entries = new Map(kept.filter(([, entry]) => entry.version > at));
    this.take(state.memory ?? []);
    this.#epoch = state.epoch;
    this.#revision = at;
  }
}

const nameOf = ({ project, key }) => JSON.stringify([project, key]);
