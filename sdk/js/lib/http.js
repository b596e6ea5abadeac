/** One request over fetch: an answer, or Unreachable. */
import { TimedOut, Unreachable } from "./errors.js";

/** Codes of Node for a connection that was never made. */
const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/**
 * {status, headers, content, sentAt, receivedAt, response?, abort?}; the times are the clock's. With `stream`
 * an answer below 400 is handed over unread; `signal` gives the call up. No cookie, no cache, and no redirect that a token would follow.
 */
export async function send({ fetch, clock }, { method, url, headers, content, readSeconds, stream, signal }) {
  const abort = new AbortController();
  const answered = new AbortController();
  clock.sleep(readSeconds, answered.signal).then(() => {
    if (!answered.signal.aborted) abort.abort(new TimedOut(`no answer within ${readSeconds} s`));
  });
  const leave = () => abort.abort(new Unreachable("the call was given up"));
  signal?.addEventListener("abort", leave, { once: true });
  if (signal?.aborted) leave();
  const sentAt = clock.now();
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: content ?? undefined,
      redirect: "manual",
      credentials: "omit",
      cache: "no-store",
      referrerPolicy: "no-referrer",
      signal: abort.signal,
    });
    const kept = stream && response.status < 400;
    const text = kept ? "" : await response.text();
    const answer = { status: response.status, headers: response.headers, content: text, sentAt };
    return { ...answer, receivedAt: clock.now(), ...(kept && { response, abort }) };
  } catch (error) {
    throw lost(error, abort.signal);
  } finally {
    answered.abort();
    signal?.removeEventListener("abort", leave);
  }
}

/** The error for what fetch threw. */
export function lost(error, signal) {
  if (signal.aborted && signal.reason instanceof Unreachable) return signal.reason;
  const code = error?.cause?.code;
  const told = [error?.message, code].filter(Boolean).join(": ");
  return new Unreachable(told || "no answer came", {
    mayHaveHappened: !NEVER_SENT.has(code),
    cause: error,
  });
}
