/** What Node has in the place of a page's: files, signals, an environment. */
import { AsyncLocalStorage } from "node:async_hooks";
import { webcrypto } from "node:crypto";
import { setMaxListeners } from "node:events";

import { platform } from "./lib/platform.js";
import { hasKey, openFiles } from "./lib/state_file.js";
import { version } from "./lib/version.js";

const SIGNALS = ["SIGTERM", "SIGINT"];
const handled = new AsyncLocalStorage();

Object.assign(platform, {
  crypto: globalThis.crypto ?? webcrypto, // Node 18 has it in the module alone
  userAgent: `restante-agent/${version} node/${process.versions.node}`,
  openState: openFiles,
  hasKey,
  manyListeners: (signal) => setMaxListeners(0, signal),
  sharesStream: () => false,
  environment: () => process.env,
  handled: { run: (traceparent, work) => handled.run(traceparent, work), current: () => handled.getStore() ?? null },
  onStopSignals(stop) {
    for (const signal of SIGNALS) process.on(signal, stop);
    return () => SIGNALS.forEach((signal) => process.off(signal, stop));
  },
});

export * from "./index.js";
