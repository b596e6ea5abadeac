/** A call: its request, how its answer is read, and which refusal of a retry means "it happened". */
import { ApiError, ConfigurationError, UnexpectedAnswer } from "./errors.js";

/** `already` turns the refusal of a repeated call into the answer that got lost, or null. */
export async function perform(core, { request, read = documentOf, already }) {
  let answer;
  try {
    answer = await core.exchange(request);
  } catch (error) {
    const lost = error instanceof ApiError && error.retried ? (already?.(error) ?? null) : null;
    if (lost === null) throw error;
    return lost;
  }
  return read(answer);
}

/** The JSON object of a successful answer. */
export function documentOf(answer) {
  try {
    const members = JSON.parse(answer.content);
    if (members !== null && typeof members === "object") return members;
  } catch {
    // told below
  }
  const kind = answer.headers.get("content-type") ?? "no content type";
  throw new UnexpectedAnswer(
    `HTTP ${answer.status} with ${kind} instead of JSON; is this URL a Restante server?`,
  );
}

/** The same with `sent_at`, so that sent_at + lease_remaining_ms / 1000 never overstates a lease. */
export const timed = (answer) => ({ ...documentOf(answer), sent_at: answer.sentAt });

/** Whether the call was a repeat. */
export const replayable = (answer) => ({
  ...documentOf(answer),
  replayed: answer.headers.get("idempotency-replayed")?.toLowerCase() === "true",
});

/** One path segment; an empty one would name another resource. */
export function segment(value, name) {
  if (typeof value !== "string" || ["", ".", ".."].includes(value)) {
    throw new ConfigurationError(`${name} must not be ${JSON.stringify(value)}`);
  }
  return encodeURIComponent(value);
}

/** Path and query of a link the server gave; no other origin gets a token. */
export function localPath(core, url) {
  const link = new URL(url, core.baseUrl);
  if (link.origin !== new URL(core.baseUrl).origin) {
    throw new UnexpectedAnswer(`the server points to another place: ${JSON.stringify(url)}`);
  }
  return link.pathname + link.search;
}

/** An object without the members that are undefined or null. */
export const body = (members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));

export const commas = (values) => (Array.isArray(values) ? values.join(",") : values);
