/** Calls about an agent's own inbox: contract 5.1 to 5.3, 5.5 (commit), 5.6, 5.9. */
import { newKey } from "./bytes.js";
import { body, commas, documentOf, localPath, segment, timed } from "./call.js";

/**
 * Events after a cursor, ascending, in any state. Changes nothing. `if_none_match` (an etag): null when the page
 * is still that one. Throws CursorGone when the cursor or the epoch is no longer good.
 */
export function read(core, { projects, if_none_match: etag, ...query } = {}) {
  return {
    request: {
      method: "GET",
      path: `${core.agentPath}/inbox`,
      query: { ...query, projects: commas(projects) },
      headers: etag === undefined ? {} : { "if-none-match": etag },
      holdSeconds: query.wait_seconds ?? 0,
    },
    read: (answer) =>
      answer.status === 304 ? null : { ...documentOf(answer), etag: answer.headers.get("etag") },
  };
}

/** Take up to `limit` events under a lease. Every claim has a new `claim_id`, which its retries repeat. */
export function claim(core, { claim_id: claimId, ...members } = {}) {
  return {
    request: {
      method: "POST",
      path: `${core.agentPath}/inbox/claim`,
      body: body({ limit: 10, ...members, claim_id: claimId ?? newKey() }),
      holdSeconds: members.wait_seconds ?? 0,
    },
    // a held claim takes its events near the end of the wait, so the lease counts from the answer
    read: (answer) =>
      members.wait_seconds ? { ...documentOf(answer), sent_at: answer.receivedAt } : timed(answer),
  };
}

/** The live leases, with payloads; of one consumer when it is named. */
export const claims = (core, { consumer } = {}) => ({
  request: { method: "GET", path: `${core.agentPath}/inbox/claims`, query: { consumer } },
  read: timed,
});

/** Give back everything `consumer` holds; the attempts are not counted. */
export const releaseAll = (core, { consumer }) => ({
  request: { method: "POST", path: `${core.agentPath}/inbox/release`, body: { consumer } },
});

/** Complete up to 1,000 pending, never claimed events at or below a cursor. */
export const commit = (core, { through_cursor, epoch }) => ({
  request: { method: "POST", path: `${core.agentPath}/inbox/commit`, body: body({ through_cursor, epoch }) },
});

/** One event of the inbox with its result, last error and timeline. */
export const event = (core, eventId) => ({
  request: { method: "GET", path: `${core.agentPath}/inbox/${segment(eventId, "event_id")}` },
});

/** Counts, head, oldest cursor and epoch of the inbox. */
export const stats = (core) => ({ request: { method: "GET", path: `${core.agentPath}/inbox/stats` } });

/** A page of the baseline to go on from; `url` is the `stateUrl` of a CursorGone. */
export const state = (core, { url, limit, page_token } = {}) => ({
  request: {
    method: "GET",
    path: url ? localPath(core, url) : `${core.agentPath}/state`,
    query: { limit, page_token },
  },
});

/** The doorbell's request. */
export const subscribe = (core, { after_cursor, signal } = {}) => ({
  method: "GET",
  path: `${core.agentPath}/subscribe`,
  query: { after_cursor },
  headers: { accept: "text/event-stream" },
  stream: true,
  signal,
});
