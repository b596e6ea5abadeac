/** The agent's side of Restante: a client and a durable inbox runner. Of this file a page imports; Node, node.js. */
export { Agent } from "./lib/agent.js";
export { Client } from "./lib/client.js";
export { Stopped } from "./lib/delivery.js";
export * from "./lib/errors.js";
export { MemoryView } from "./lib/memory_view.js";
export { Ack, AttemptFailed, Reject, Release, Turn } from "./lib/outcome.js";
export { pages } from "./lib/reader.js";
export { DEFAULT_RETRY, NO_RETRY } from "./lib/retry.js";
export { importKey, newPair, signingKey } from "./lib/signature.js";
export { MemoryState } from "./lib/state_memory.js";
export { renderUntrusted } from "./lib/untrusted.js";
export { version } from "./lib/version.js";
