/**
 * What differs between a page and a process. What stands here is a page's; `node.js` puts Node's in.
 */
import { openIndexedDb } from "./state_indexeddb.js";
import { MemoryState } from "./state_memory.js";

export const platform = {
  crypto: globalThis.crypto,
  /** Sent as User-Agent; a page cannot choose its own. */
  userAgent: null,
  /** Where an agent's record, position and signing key are kept: {origin, agentId, stateDir}. */
  openState: async (place) => (globalThis.indexedDB ? openIndexedDb(place) : new MemoryState()),
  /** Whether a signing key is kept there; opens nothing that is not there. */
  hasKey: async (place) => Boolean(globalThis.indexedDB && (await (await openIndexedDb(place)).key())),
  /** Node warns of a signal with more than ten listeners. */
  manyListeners: () => {},
  /** Pages of one origin share a stream. */
  sharesStream: () => Boolean(globalThis.navigator?.locks && globalThis.BroadcastChannel),
  /** Have `stop` called when the process is told to end; what it returns undoes that. */
  onStopSignals: () => () => {},
  environment: () => ({}),
  /** What is carried through the handler's own calls, its traceparent. A page has nothing that follows them. */
  handled: { run: (_traceparent, work) => work(), current: () => null },
};
