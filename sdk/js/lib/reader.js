/** Reading an inbox by cursor, without claiming: for agents that keep their own books. */
import { uniform } from "./clock.js";
import { CursorGone, isPassing } from "./errors.js";
import { convergedState } from "./state_sync.js";

const WAIT_SECONDS = 30;
const FAILURE_CEILING_SECONDS = 60;

/**
 * Pages with events after `position` ({cursor, epoch}; null: from the oldest kept). A page counts as safe when the next
 * one is asked for; then `keep(position)` is called, and awaited. With `follow` it waits for more, for ever, through
 * outages. `recovery(problem, state)` is called after a 410, before reading goes on from where the server says.
 */
export async function* pages(client, { position = null, keep, follow = true, recovery, ...query } = {}) {
  const { clock, random } = client.core;
  for (let failures = 0; ; ) {
    let page;
    try {
      page = await client.read({
        ...query,
        after_cursor: position?.cursor,
        epoch: position?.epoch,
        wait_seconds: follow ? WAIT_SECONDS : undefined,
      });
      failures = 0;
    } catch (error) {
      if (error instanceof CursorGone) {
        position = await recover(client, error, recovery);
        await keep?.(position);
        continue;
      }
      if (!follow || !isPassing(error)) throw error;
      failures += 1;
      const named = error.retryAfterSeconds ?? null;
      const ceiling = Math.min(FAILURE_CEILING_SECONDS, 2 ** Math.min(failures, 10));
      await clock.sleep(named === null ? uniform(random, 0.1, ceiling) : named * uniform(random, 1, 1.25));
      continue;
    }
    if (page.events.length) yield page;
    position = { cursor: page.next_cursor, epoch: page.epoch };
    await keep?.(position);
    if (page.events.length || page.has_more) continue;
    if (!follow) return;
    // what others may claim ends the server's wait at once; its pace is kept to
    if (page.claimable) await clock.sleep(((page.next_poll_ms ?? 1000) / 1000) * uniform(random, 1, 1.2));
  }
}

async function recover(client, gone, recovery) {
  const state = gone.stateUrl ? await convergedState(client, gone.stateUrl) : null;
  await recovery?.(gone, state);
  const { cursor, epoch } = state ?? { cursor: gone.head, epoch: gone.epoch };
  return { cursor, epoch };
}
