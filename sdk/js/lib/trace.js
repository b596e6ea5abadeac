/** The trace that work belongs to (W3C Trace Context): what a call says of it, and what a handler is given. */
import { ConfigurationError } from "./errors.js";
import { platform } from "./platform.js";

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

const isTraceparent = (text) => typeof text === "string" && TRACEPARENT.test(text);

/** A traceparent, or a function that is asked for one at each call; null: none. */
export function checkedTraceparent(given) {
  if (given === null || typeof given === "function" || isTraceparent(given)) return given;
  throw new ConfigurationError(`${JSON.stringify(given)} is no traceparent; give one like 00-<32 hex digits>-<16>-01`);
}

/** The traceparent of a call that is made now: what the client was told, else that of the handler around it. */
export function outgoing(given) {
  const named = typeof given === "function" ? given() : given;
  return [named, platform.handled.current()].find(isTraceparent) ?? null;
}

/**
 * What an event says of its trace: {traceparent, links}. The first attempt goes on with its publisher's trace; what
 * comes again, hours later perhaps, is best a trace of its own with these links: no trace lasts as long as an event.
 */
export function traceOf(event) {
  const traceparent = isTraceparent(event.traceparent) ? event.traceparent : null;
  const again = event.attempts > 1 || Boolean(event.redriven);
  return { traceparent, links: again && traceparent !== null ? [traceparent] : [] };
}
