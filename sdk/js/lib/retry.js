/** When the same call is sent again, and after how long. */
import { uniform } from "./clock.js";

/**
 * Bounds of the retries of one call; every retry carries the same keys. `attempts` counts all tries;
 * `budgetSeconds` bounds the waiting in all. A wait that the server names (`Retry-After`) is kept, never
 * shortened, and spread by up to a quarter; otherwise full jitter below baseSeconds * 2^n.
 */
export const DEFAULT_RETRY = { attempts: 6, budgetSeconds: 60, baseSeconds: 0.25, capSeconds: 10 };
export const NO_RETRY = { ...DEFAULT_RETRY, attempts: 1 };

/** Seconds to wait before try number `attempt` + 1; null: give up and throw `error`. */
export function waitBefore(policy, attempt, error, { waitedSeconds, random }) {
  if (!error.retryable || attempt >= policy.attempts) return null;
  const named = error.retryAfterSeconds ?? null;
  const ceiling = Math.min(policy.capSeconds, policy.baseSeconds * 2 ** Math.min(attempt, 30));
  const wait = named === null ? uniform(random, 0, ceiling) : named * uniform(random, 1, 1.25);
  return waitedSeconds + wait <= policy.budgetSeconds ? wait : null;
}
