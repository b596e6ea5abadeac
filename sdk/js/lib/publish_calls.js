/** Calls of a producer (contract 6.1), and of memory (5.8). */
import { newKey } from "./bytes.js";
import { commas, replayable, segment } from "./call.js";

const EVENTS = "/api/v1/events";

/**
 * Publish one publication, or a list of them in the order listed: to all recipients or to none. Give the
 * `idempotencyKey` (at most 128 characters) that stands for your own operation, and even a repeat after a crash
 * publishes once.
 */
export function publish(core, publications, { idempotencyKey } = {}) {
  const many = Array.isArray(publications);
  return publishing(EVENTS, many ? { events: publications } : publications, [publications].flat(), idempotencyKey);
}

/** Publish to one agent, by its own path; the publication has no recipients. */
export const publishTo = (core, agentId, publication, { idempotencyKey } = {}) =>
  publishing(`/api/v1/agents/${segment(agentId, "agent_id")}/events`, publication, [publication], idempotencyKey);

/** What became of an event that this principal published. */
export const receipt = (core, eventId) => ({
  request: { method: "GET", path: `${EVENTS}/${segment(eventId, "event_id")}` },
});

/** Events published by this principal, by correlation or by recipient, a page at a time. */
export const receipts = (core, query) => ({ request: { method: "GET", path: EVENTS, query } });

/** Cancel an event of one's own. `project` lets an agent ask for the scope it needs. */
export const cancel = (core, eventId, { reason, project }) => ({
  request: {
    method: "POST",
    path: `${EVENTS}/${segment(eventId, "event_id")}/cancel`,
    body: { reason },
    scope: project ? `agent:${project}:publish` : null,
  },
});

function publishing(path, members, publications, idempotencyKey) {
  const key = idempotencyKey ?? newKey();
  const scopes = new Set(publications.map(({ project }) => `agent:${project}:publish`));
  return {
    request: {
      method: "POST",
      path,
      body: members,
      headers: { "idempotency-key": key },
      // `publish` is not among the scopes given unasked
      scope: [...scopes].sort().join(" "),
    },
    read: (answer) => ({ ...replayable(answer), idempotency_key: key }),
  };
}

/** One key of the own memory. NotFound: there is none. */
export const memoryGet = (core, project, key) => ({
  request: { method: "GET", path: entry(core, project, key) },
});

/**
 * Set a key to any JSON value; null is null, and not a deletion. `if_version`: only if the key is at it (0: only
 * if it is not there), else VersionConflict. `agent_id`: whose, where it is not the client's own. `notify`: have
 * an event tell the agent, which otherwise tells it of others' writes alone.
 */
export const memoryPut = (core, project, key, value, options) =>
  writing(core, "PUT", project, key, options, { value });

/** Merge a patch into a key (RFC 7396): members set, null takes one away. */
export const memoryPatch = (core, project, key, merge, options) =>
  writing(core, "PATCH", project, key, options, { merge });

/** Take a key away. NotFound: it is not there. */
export const memoryDelete = (core, project, key, options) => writing(core, "DELETE", project, key, options);

/** The keys that changed after a revision, deletions among them; RevisionGone: fetch the state. */
export const memoryList = (core, { projects, ...query } = {}) => ({
  request: {
    method: "GET",
    path: `${core.agentPath}/memory`,
    query: { ...query, projects: commas(projects) },
  },
});

function writing(core, method, project, key, { if_version: version, agent_id: agentId, notify } = {}, members) {
  const condition = version ? { "if-match": `"${version}"` } : { "if-none-match": "*" };
  return {
    request: {
      method,
      path: entry(core, project, key, agentId),
      query: notify ? { notify: "true" } : {},
      body: members,
      headers: version === undefined ? {} : condition,
      scope: `agent:${project}:memory`,
    },
  };
}

function entry(core, project, key, agentId) {
  const owner = agentId ? `/api/v1/agents/${segment(agentId, "agent_id")}` : core.agentPath;
  return `${owner}/memory/${segment(project, "project")}/${segment(key, "key")}`;
}
