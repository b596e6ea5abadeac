/** Calls that end or keep a lease, and one atomic turn: contract 5.4, 5.5, 5.7. */
import { newKey } from "./bytes.js";
import { body, documentOf, replayable, segment, timed } from "./call.js";
import { StaleClaim, UnexpectedAnswer } from "./errors.js";
import { errorFromMembers } from "./problem.js";

/** The event is done. Repeating it is safe: the first outcome is answered again. */
export const ack = (core, eventId, generation, { result } = {}) => ({
  request: settling(core, "ack", eventId, { claim_generation: generation, result }),
});

/** Give the event back: with `error` the attempt failed, without it never counted. */
export const release = (core, eventId, generation, { delay_seconds, error } = {}) => ({
  request: settling(core, "release", eventId, { claim_generation: generation, delay_seconds, error }),
  // only the holder can have released this generation, so the lost try did
  already: (refusal) => (isStale(refusal, "released") ? { status: "pending", not_before: null } : null),
});

/** Quarantine the event now; an operator looks at it. */
export const reject = (core, eventId, generation, { reason }) => ({
  request: settling(core, "reject", eventId, { claim_generation: generation, reason }),
  already: (refusal) => (isStale(refusal, "quarantined") ? { status: "quarantined" } : null),
});

/** Keep the lease, and learn whether the event's cancellation was asked for. */
export const renew = (core, eventId, generation, { lease_seconds, progress } = {}) => ({
  request: settling(core, "renew", eventId, { claim_generation: generation, lease_seconds, progress }),
  read: timed,
});

/**
 * Many at once, {ack: [{event_id, claim_generation, …}], release, reject, renew}; each stands or falls alone, so
 * look at every result's `error`.
 */
export const settle = (core, orders) => ({
  request: { method: "POST", path: `${core.agentPath}/inbox/settle`, body: orders },
  read: (answer) => {
    const { results } = documentOf(answer);
    if (!Array.isArray(results)) throw new UnexpectedAnswer("the answer to settle has no list 'results'");
    return results.map(settled);
  },
});

/**
 * Ack, release and reject, write memory and publish: all of it, or nothing (TurnConflict). `projects`: those of
 * the events that are settled, so that the token can be asked for them.
 */
export function turn(core, parts, { projects = [], idempotencyKey } = {}) {
  return {
    request: {
      method: "POST",
      path: `${core.agentPath}/inbox/turn`,
      body: parts,
      headers: { "idempotency-key": idempotencyKey ?? newKey() },
      scope: scopeOf(parts, projects),
    },
    read: replayable,
  };
}

/** One token has to have the scopes of all parts; one that only settles is had unasked. */
function scopeOf({ memory = [], publish = [] }, projects) {
  if (!memory.length && !publish.length) return null;
  const asked = new Set(projects.map((project) => `agent:${project}:claim`));
  for (const { project } of memory) asked.add(`agent:${project}:memory`);
  for (const { project } of publish) asked.add(`agent:${project}:publish`);
  return [...asked].sort().join(" ");
}

const settling = (core, verb, eventId, members) => ({
  method: "POST",
  path: `${core.agentPath}/inbox/${segment(eventId, "event_id")}/${verb}`,
  body: body(members),
});

const isStale = (refusal, reason) => refusal instanceof StaleClaim && refusal.reason === reason;

function settled(result) {
  const { problem } = result;
  if (problem === null || typeof problem !== "object") return { ...result, error: null };
  return { ...result, error: errorFromMembers(problem, { status: problem.status ?? 409 }) };
}
